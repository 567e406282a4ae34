// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "chaos/journal.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace redlock::chaos {

/// Checks what programs were told of the leader (docs/protocol.md, rule EL4). The rules of every fenced lock check that one
/// leads at a time, and that terms grow.
// rule EL4
class election_rules {
public:
    explicit election_rules(std::vector<std::string>& flaws) : flaws_(flaws) {}

    /// \param one in the order of their instants
    void take(entry const& one)
    {
        switch (one.what) {
        case event::holds: check_author(one.value, one.owner()); break;
        case event::announced: announced(one); break;
        case event::valid: offices_[one.owner()].until = one.instant(); break;
        case event::told:
        case event::lets_go: end_office(one); break;
        case event::asks_leader: questions_[one.owner()] = office_at(one.at); break;
        case event::hears:
        case event::hears_surely:
        case event::hears_vacant: hears(one); break;
        case event::author: check_author(heard_[one.owner()], one.value); break;
        default: break;
        }
    }

private:
    /// A leadership: the version that a majority had, and how long it lasts.
    struct office {
        std::uint64_t version = 0;
        nanoseconds until{};
    };
    struct question {
        std::uint64_t leader = 0; ///< in office when it was asked; zero: nobody was
        std::uint64_t version = 0;
    };

    void flaw(entry const& one, std::string const& what)
    {
        flaws_.push_back("election: program " + std::to_string(one.program) + " hears of term " +
                         std::to_string(term_of(one.value)) + what);
    }

    void announced(entry const& one)
    {
        auto& version = offices_[one.owner()].version;
        version = std::max(version, one.value);
    }

    void end_office(entry const& one)
    {
        auto& until = offices_[one.owner()].until;
        until = std::min(until, one.at);
    }

    [[nodiscard]] question office_at(nanoseconds at) const
    {
        auto const found = std::ranges::find_if(
            offices_, [at](auto const& one) { return one.second.version != 0 && one.second.until > at; });
        return found == offices_.end() ? question{} : question{found->first, found->second.version};
    }

    void hears(entry const& one)
    {
        auto& term = latest_term_[one.program];
        if (term_of(one.value) < term)
            flaw(one, " after " + std::to_string(term));
        term = std::max(term, term_of(one.value));
        auto& confirmed = confirmed_[one.program];
        if (one.what != event::hears_vacant && one.value < confirmed)
            flaw(one, " and an earlier value than a confirmed one");
        if (one.what == event::hears_surely)
            confirmed = std::max(confirmed, one.value);
        if (one.what != event::hears_vacant)
            heard_[one.owner()] = term_of(one.value);
        if (auto const asked = questions_.extract(one.owner()))
            check_answer(one, asked.mapped());
        else
            check_order(one);
    }

    /// A leader that was in office when the question began, and still is, is known.
    void check_answer(entry const& one, question const& asked)
    {
        if (asked.leader == 0 || offices_[asked.leader].until <= one.at)
            return;
        if (one.what == event::hears_vacant || one.value < asked.version)
            flaw(one, (one.what == event::hears_vacant ? ", vacant," : "") +
                          std::string(" while the leader of ") + std::to_string(term_of(asked.version)) +
                          " is in office");
    }

    /// A watcher is told of no earlier value after a later one.
    void check_order(entry const& one)
    {
        auto& seen = seen_[{one.program, one.actor}];
        if (one.value < seen)
            flaw(one, " and an earlier value than before");
        seen = std::max(seen, one.value);
    }

    /// The value of a term is that of one leader alone.
    void check_author(std::uint64_t term, std::uint64_t owner)
    {
        if (auto const known = authors_.emplace(term, owner).first; known->second != owner)
            flaws_.push_back("election: two are the leader of term " + std::to_string(term));
    }

    std::vector<std::string>& flaws_;
    std::map<std::uint64_t, office> offices_{};        ///< by owner
    std::map<std::uint64_t, question> questions_{};    ///< not answered yet
    std::map<std::uint64_t, std::uint64_t> authors_{}; ///< by term
    std::map<std::uint64_t, std::uint64_t> heard_{};   ///< the term whose author is named next
    std::map<unsigned, std::uint64_t> latest_term_{};  ///< that a program was told
    std::map<unsigned, std::uint64_t> confirmed_{}; ///< the latest version that a program was told for sure
    std::map<std::pair<unsigned, unsigned>, std::uint64_t>
        seen_{}; ///< the latest version that a watcher was told
};

} // namespace redlock::chaos

// SPDX-License-Identifier: BSL-1.0
#include "chaos/judge.hpp"

#include "chaos/election_rules.hpp"
#include "chaos/node_change_rules.hpp"
#include "chaos/register_history.hpp"
#include "kit/text.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace redlock::chaos {

namespace {

using test::in_seconds;

struct tenure {
    nanoseconds begin{}; ///< it is valid from here
    nanoseconds end{};   ///< to there
    std::uint64_t owner = 0;
    std::uint64_t token = 0;
    bool reads = false;
};

std::string name_of(std::uint64_t owner)
{
    return std::to_string(owner >> 40U) + static_cast<char>('a' + (owner >> 32U & 0xffU)) + " (" +
           std::to_string(owner & 0xffffffffU) + ')';
}

void count(entry const& one, verdict& seen)
{
    switch (one.what) {
    case event::refused: ++seen.refused; break;
    case event::holds:
        ++seen.leases;
        seen.terms += one.lock == election_lock ? 1 : 0;
        break;
    case event::hears:
    case event::hears_surely:
    case event::hears_vacant: ++seen.heard; break;
    case event::has_changed: seen.changes += one.value == 0 ? 1 : 0; break;
    case event::told:
        ++seen.lost;
        seen.latest_told = std::max(seen.latest_told, one.value);
        break;
    case event::not_told:
    case event::overdue:
        seen.flaws.push_back(name_of_thing(thing_of(one.lock)) + ": " + in_seconds(one.at) + ' ' +
                             describe(one));
        break;
    case event::has_written: ++seen.writes; break;
    case event::writes_late: ++seen.writes_late; break;
    default: break;
    }
}

/// All that concerns one thing.
class court {
public:
    court(std::string name, verdict& seen) : name_(std::move(name)), seen_(seen) {}

    void take(entry const& one)
    {
        switch (one.what) {
        case event::adopts: adopted_from_[one.owner()] = one.value; break;
        case event::holds:
            tokens_[one.owner()] = one.value;
            continue_adopted(one);
            break;
        case event::renumbered: tokens_[one.owner()] = one.value; break;
        case event::valid:
        case event::valid_too:
            readers_ = readers_ || one.what == event::valid_too;
            tenures_[one.owner()].push_back(
                {one.at, one.instant(), one.owner(), tokens_[one.owner()], one.what == event::valid_too});
            break;
        case event::leaves_behind: leave_behind(one); break;
        case event::downgrades:
        case event::lets_go: cut(tenures_[one.owner()], one.at); break;
        case event::reads: reads_[one.owner()].begin = one.at; break;
        case event::has_read:
            reads_[one.owner()].value = one.value;
            reads_[one.owner()].end = one.at;
            break;
        case event::writes:
            writes_[one.owner()] = {.is_write = true, .value = one.value, .begin = one.at};
            break;
        case event::has_written: writes_[one.owner()].end = one.at; break;
        case event::writes_late: writes_.erase(one.owner()); break;
        default: break;
        }
    }

    void decide()
    {
        check_exclusion();
        check_tokens();
        check_register();
    }

private:
    void flaw(std::string const& what) { seen_.flaws.push_back(name_ + ": " + what); }

    static void cut(std::vector<tenure>& some, nanoseconds at)
    {
        for (tenure& one : some)
            one.end = std::min(one.end, at);
    }

    void leave_behind(entry const& one)
    {
        auto& some = tenures_[one.owner()];
        tenure left{.begin = one.at, .owner = one.owner(), .token = tokens_[one.owner()]};
        for (tenure const& its : some)
            left.end = std::max(left.end, its.end);
        left_[one.owner()] = left;
        cut(some, one.at);
    }

    /// H9: an adopted lease is the old one. Nobody else had the lock in between if the adoption was confirmed before the
    /// old deadline. Otherwise the tokens tell.
    void continue_adopted(entry const& one)
    {
        auto const from = adopted_from_.find(one.owner());
        if (from == adopted_from_.end())
            return;
        tenure const left = left_[from->second];
        if (one.value != left.token)
            flaw(name_of(one.owner()) + " has another token than the lease that it adopted");
        if (one.at < left.end)
            tenures_[one.owner()].push_back({left.begin, one.at, one.owner(), left.token});
    }

    /// The one that was granted the lease, which others may have adopted.
    [[nodiscard]] std::uint64_t first_owner(std::uint64_t owner) const
    {
        auto const from = adopted_from_.find(owner);
        return from == adopted_from_.end() ? owner : first_owner(from->second);
    }

    /// T1: no two leases are valid at once, unless both are readers'.
    void check_exclusion()
    {
        std::vector<tenure> all;
        for (auto const& [owner, some] : tenures_)
            all.insert(all.end(), some.begin(), some.end());
        std::ranges::sort(all, {}, &tenure::begin);
        std::vector<tenure> at_once;
        for (tenure const& one : all) {
            std::erase_if(at_once, [&one](tenure const& other) { return other.end <= one.begin; });
            auto const other = std::ranges::find_if(at_once, [&one](tenure const& it) {
                return it.owner != one.owner && !(it.reads && one.reads);
            });
            if (other != at_once.end())
                flaw(in_seconds(one.begin) + ' ' + name_of(one.owner) + " holds it, and " +
                     name_of(other->owner) + " does until " + in_seconds(other->end));
            at_once.push_back(one);
        }
    }

    /// T2: of leases that were valid when their holders heard of them the later has the larger token; a reader's is larger
    /// than those of the writers before it (rule S16).
    void check_tokens()
    {
        std::vector<tenure> firsts; // with a token
        for (auto const& [owner, some] : tenures_)
            for (std::size_t i = 0; i != some.size(); ++i)
                if (some[i].token != 0 &&
                    (i == 0 || some[i].token != some[i - 1].token || some[i].reads != some[i - 1].reads))
                    firsts.push_back(some[i]);
        std::ranges::sort(firsts, {}, &tenure::begin);
        tenure const* highest = nullptr;
        tenure const* highest_writer = nullptr;
        for (tenure const& one : firsts) {
            auto const* const before = one.reads ? highest_writer : highest;
            bool const by_place =
                before && (one.reads || before->reads); // otherwise equal ones are found below
            if (before && (one.token < before->token || (by_place && one.token == before->token)))
                flaw(in_seconds(one.begin) + ' ' + name_of(one.owner) + "'s token is not above that of " +
                     name_of(before->owner));
            if (!highest || one.token > highest->token)
                highest = &one;
            if (!one.reads && (!highest_writer || one.token > highest_writer->token))
                highest_writer = &one;
        }
        check_that_tokens_differ();
    }

    /// Also those of leases that were over when their holders heard of them; but readers may have the same.
    void check_that_tokens_differ()
    {
        std::map<std::uint64_t, std::uint64_t> owners;
        for (auto const& [owner, token] : tokens_) {
            bool const may_be_readers = readers_ && token % 1024 == 1023; // rule S16
            if (token == 0 || may_be_readers)
                continue;
            if (auto const [other, is_first] = owners.emplace(token, first_owner(owner));
                !is_first && other->second != first_owner(owner))
                flaw(name_of(owner) + " and " + name_of(other->second) + " have the same token");
        }
    }

    /// It was a register, and no write missed another: each counts one more than what was read.
    void check_register()
    {
        std::vector<register_use> history;
        std::map<std::uint64_t, std::uint64_t> counted;
        for (auto const& [owner, one] : reads_)
            if (one.end)
                history.push_back(one);
        for (auto const& [owner, one] : writes_) {
            history.push_back(one);
            if (auto const count = one.value >> 32U; one.end && !counted.emplace(count, owner).second)
                flaw(name_of(owner) + " and " + name_of(counted[count]) + " wrote over each other");
        }
        if (auto const value = not_explained(history))
            flaw("no order of reads and writes explains " + std::to_string(*value));
    }

    std::string name_;
    verdict& seen_;
    std::map<std::uint64_t, std::vector<tenure>> tenures_;  ///< each with the one before, or after it
    std::map<std::uint64_t, std::uint64_t> tokens_;         ///< the last of each
    std::map<std::uint64_t, tenure> left_{};                ///< behind: from then to the deadline
    std::map<std::uint64_t, std::uint64_t> adopted_from_{}; ///< the owner before
    bool readers_ = false;                                  ///< are there any?
    std::map<std::uint64_t, register_use> reads_, writes_;  ///< each owner reads once, and writes once
};

std::vector<unsigned> things_of(entry const& one)
{
    if (one.things == 0)
        return {thing_of(one.lock)};
    std::vector<unsigned> all;
    for (unsigned thing = 0; thing != 32; ++thing)
        if ((one.things & bit_of(thing)) != 0)
            all.push_back(thing);
    return all;
}

} // namespace

verdict judge(std::vector<entry> const& entries)
{
    verdict seen;
    std::map<unsigned, court> courts;
    election_rules election(seen.flaws);
    node_change_rules node_changes(seen.flaws);
    std::set<std::uint64_t> adopters;
    for (entry const& one : entries) {
        count(one, seen);
        if (one.what == event::adopts)
            adopters.insert(one.owner());
        seen.adopted += one.what == event::holds && adopters.contains(one.owner()) ? 1 : 0;
        for (unsigned const thing : things_of(one))
            courts.try_emplace(thing, name_of_thing(thing), seen).first->second.take(one);
        if (one.lock == election_lock)
            election.take(one);
        node_changes.take(one);
    }
    for (auto& [thing, its] : courts)
        its.decide();
    return seen;
}

std::string describe(entry const& one)
{
    std::string value = std::to_string(one.value);
    if (one.what == event::valid || one.what == event::valid_too)
        value = in_seconds(one.instant());
    if (one.what == event::overdue)
        value = event_names.at(one.value);
    if (one.what == event::adopts || one.what == event::author)
        value = name_of(one.value);
    if (one.what == event::announced || one.what == event::hears || one.what == event::hears_surely ||
        one.what == event::hears_vacant)
        value = std::to_string(term_of(one.value)) + '.' + std::to_string(one.value % version_of(1, 0));
    return name_of(one.owner()) + ' ' + std::string(event_names.at(static_cast<std::size_t>(one.what))) +
           ' ' + value;
}

} // namespace redlock::chaos

// SPDX-License-Identifier: BSL-1.0
#include "chaos/judge.hpp"

#include "chaos/register_history.hpp"
#include "kit/text.hpp"

#include <algorithm>
#include <map>
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

nanoseconds instant_of(entry const& one)
{
    return nanoseconds{static_cast<std::int64_t>(one.value)};
}

std::string name_of(std::uint64_t owner)
{
    return std::to_string(owner >> 40U) + static_cast<char>('a' + (owner >> 32U & 0xffU)) + " (" +
           std::to_string(owner & 0xffffffffU) + ')';
}

void count(entry const& one, verdict& seen)
{
    switch (one.what) {
    case event::refused: ++seen.refused; break;
    case event::holds: ++seen.leases; break;
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
        case event::holds:
        case event::renumbered: tokens_[one.owner()] = one.value; break;
        case event::valid:
        case event::valid_too:
            readers_ = readers_ || one.what == event::valid_too;
            tenures_[one.owner()].push_back(
                {one.at, instant_of(one), one.owner(), tokens_[one.owner()], one.what == event::valid_too});
            break;
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
            if (auto const [other, is_first] = owners.emplace(token, owner); !is_first)
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
    std::map<std::uint64_t, std::vector<tenure>> tenures_; ///< each with the one before, or after it
    std::map<std::uint64_t, std::uint64_t> tokens_;        ///< the last of each
    bool readers_ = false;                                 ///< are there any?
    std::map<std::uint64_t, register_use> reads_, writes_; ///< each owner reads once, and writes once
};

} // namespace

verdict judge(std::vector<entry> const& entries)
{
    verdict seen;
    std::map<unsigned, court> courts;
    for (entry const& one : entries) {
        count(one, seen);
        auto things = one.things != 0 ? one.things : 1U << thing_of(one.lock);
        for (unsigned thing = 0; things != 0; ++thing, things >>= 1U)
            if (things % 2 != 0)
                courts.try_emplace(thing, name_of_thing(thing), seen).first->second.take(one);
    }
    for (auto& [thing, its] : courts)
        its.decide();
    return seen;
}

std::string describe(entry const& one)
{
    std::string value = std::to_string(one.value);
    if (one.what == event::valid || one.what == event::valid_too)
        value = in_seconds(instant_of(one));
    if (one.what == event::overdue)
        value = event_names.at(one.value);
    return name_of(one.owner()) + ' ' + std::string(event_names.at(static_cast<std::size_t>(one.what))) +
           ' ' + value;
}

} // namespace redlock::chaos

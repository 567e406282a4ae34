#include "chaos/judge.hpp"

#include "chaos/register_history.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace redlock::chaos {

namespace {

struct interval {
    nanoseconds begin{};
    nanoseconds end{};
};

/// What is known of one lease.
struct tenure {
    std::uint64_t owner = 0;
    std::uint64_t token = 0;
    std::vector<interval> valid{}; ///< in the order of their beginnings; they may overlap
    bool over = false;
};

struct lock_history {
    std::map<std::uint64_t, tenure> tenures{};     ///< by owner
    std::map<std::uint64_t, register_use> reads{}; ///< likewise: each reads once and writes once
    std::map<std::uint64_t, register_use> writes{};
};

std::string name_of(std::uint64_t owner)
{
    return std::to_string(owner >> 40U) + static_cast<char>('a' + (owner >> 32U & 0xffU)) + " (" +
           std::to_string(owner & 0xffffffffU) + ')';
}

class court {
public:
    verdict judge(std::vector<entry> const& entries)
    {
        for (entry const& one : entries)
            take(one);
        for (auto const& [number, lock] : locks_) {
            check_exclusion(number, lock);
            check_tokens(number, lock);
            check_register(number, lock);
        }
        std::ranges::sort(seen_.flaws);
        return std::move(seen_);
    }

private:
    void flaw(nanoseconds at, unsigned lock, std::string const& what)
    {
        seen_.flaws.push_back(describe(at) + " lock-" + std::to_string(lock + 1) + ": " + what);
    }

    void take(entry const& one)
    {
        lock_history& lock = locks_[one.lock];
        tenure& its = lock.tenures[one.owner()];
        switch (one.what) {
        case event::refused: ++seen_.refused; break;
        case event::holds:
            ++seen_.leases;
            its.token = one.value;
            its.owner = one.owner();
            break;
        case event::valid:
            if (!its.over)
                its.valid.push_back({one.at, nanoseconds{static_cast<std::int64_t>(one.value)}});
            break;
        case event::lets_go:
            its.over = true;
            for (interval& part : its.valid)
                part.end = std::min(part.end, one.at);
            break;
        case event::told:
            ++seen_.lost;
            seen_.latest_told = std::max(seen_.latest_told, milliseconds{one.value} * 10);
            break;
        case event::not_told:
        case event::overdue: flaw(one.at, one.lock, describe(one)); break;
        case event::reads: lock.reads[one.owner()] = {.begin = one.at}; break;
        case event::has_read:
            lock.reads[one.owner()].value = one.value;
            lock.reads[one.owner()].end = one.at;
            break;
        case event::writes:
            lock.writes[one.owner()] = {.is_write = true, .value = one.value, .begin = one.at};
            break;
        case event::has_written:
            ++seen_.writes;
            lock.writes[one.owner()].end = one.at;
            break;
        case event::writes_late:
            ++seen_.writes_late;
            lock.writes.erase(one.owner());
            break;
        default: break;
        }
    }

    /// T1: no two leases are valid at once.
    void check_exclusion(unsigned number, lock_history const& lock)
    {
        std::vector<std::pair<interval, std::uint64_t>> all;
        for (auto const& [owner, its] : lock.tenures)
            for (interval const& part : its.valid)
                all.emplace_back(part, owner);
        std::ranges::sort(all, {}, [](auto const& one) { return one.first.begin; });
        std::pair<interval, std::uint64_t> longest{};
        for (auto const& one : all) {
            if (one.first.begin < longest.first.end && one.second != longest.second)
                flaw(one.first.begin, number,
                     name_of(one.second) + " holds it, and " + name_of(longest.second) + " does until " +
                         describe(longest.first.end));
            if (one.first.end > longest.first.end)
                longest = one;
        }
    }

    /// T2: whose lease was valid at once when it heard of it is in order; and nobody has another's token.
    void check_tokens(unsigned number, lock_history const& lock)
    {
        std::vector<tenure const*> all;
        std::map<std::uint64_t, std::uint64_t> owners;
        for (auto const& [owner, its] : lock.tenures) {
            if (its.token == 0)
                continue;
            auto const [other, first] = owners.emplace(its.token, owner);
            if (!first)
                flaw({}, number, name_of(owner) + " and " + name_of(other->second) + " have the same token");
            if (!its.valid.empty())
                all.push_back(&its);
        }
        std::ranges::sort(all, {}, [](tenure const* one) { return one->valid.front().begin; });
        for (std::size_t i = 1; i < all.size(); ++i)
            if (all[i]->token <= all[i - 1]->token)
                flaw(all[i]->valid.front().begin, number,
                     name_of(all[i]->owner) + "'s token " + std::to_string(all[i]->token) + " is not above " +
                         name_of(all[i - 1]->owner) + "'s " + std::to_string(all[i - 1]->token));
    }

    /// The register was one, and no write missed another: each counts one more.
    void check_register(unsigned number, lock_history const& lock)
    {
        std::vector<register_use> history;
        std::map<std::uint64_t, std::uint64_t> counted;
        for (auto const& [owner, one] : lock.reads)
            if (one.end)
                history.push_back(one);
        for (auto const& [owner, one] : lock.writes) {
            history.push_back(one);
            auto const [other, first] = counted.emplace(one.value >> 32U, owner);
            if (one.end && !first && lock.writes.at(other->second).end)
                flaw(one.begin, number,
                     name_of(owner) + " and " + name_of(other->second) + " wrote over each other");
            if (one.end)
                other->second = owner;
        }
        if (auto const value = not_explained(history))
            flaw({}, number, "no order of reads and writes explains " + std::to_string(*value));
    }

    std::map<unsigned, lock_history> locks_;
    verdict seen_;
};

} // namespace

verdict judge(std::vector<entry> const& entries)
{
    return court().judge(entries);
}

std::string describe(nanoseconds at)
{
    std::string const us = std::to_string(at / std::chrono::microseconds{1});
    std::size_t const whole = us.size() > 6 ? us.size() - 6 : 0;
    return us.substr(0, whole) + '.' + us.substr(whole);
}

std::string describe(entry const& one)
{
    std::string text = name_of(one.owner()) + ' ' + std::string(to_string(one.what));
    switch (one.what) {
    case event::valid: return text + " until " + describe(nanoseconds{static_cast<std::int64_t>(one.value)});
    case event::overdue: return text + ": " + std::string(to_string(static_cast<event>(one.value)));
    case event::ready:
    case event::lets_go:
    case event::leaves:
    case event::reads:
    case event::reads_late:
    case event::not_told: return text;
    default: return text + ' ' + std::to_string(one.value);
    }
}

} // namespace redlock::chaos

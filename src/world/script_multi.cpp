// SPDX-License-Identifier: BSL-1.0
// The scripts of several locks at once: the twins of src/kind/scripts/multi_vote.lua, multi_extend.lua, multi_raise.lua and
// multi_release.lua.
#include "redis/command.hpp"
#include "world/lua_number.hpp"
#include "world/reply.hpp"
#include "world/script.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace redlock::world {

namespace {

auto position(std::size_t i)
{
    return static_cast<std::ptrdiff_t>(i);
}

} // namespace

std::vector<std::string> script_run::locks() const
{
    return {keys_.begin(), keys_.begin() + position(static_cast<std::size_t>(number_of(arguments_[0])))};
}

/// Those behind the locks.
script_run::fences_sight script_run::see_fences()
{
    std::size_t const first = locks().size();
    if (first == keys_.size())
        return {};
    auto const seen = mget({keys_.begin() + position(first), keys_.end()});
    if (strange(seen.back(), arguments_[6]))
        return {.refused = reply::status("STRANGER"), .fences = {}};
    fences_sight found;
    for (std::size_t i = 0; first + i + 1 != keys_.size(); ++i) {
        auto const fence = fence_of(seen[i], keys_[first + i]);
        if (!fence)
            return {.refused = no_fence(keys_[first + i]), .fences = {}};
        found.fences.push_back(*fence);
        found.highest = std::max(found.highest, *fence);
    }
    return found;
}

std::string script_run::multi_vote()
{
    auto const all = locks();
    auto const seen = see_fences();
    if (seen.refused)
        return *seen.refused;
    double counted = 1;
    if (!seen.fences.empty()) {
        double const latest = static_cast<double>(time()) + std::floor(number_of(arguments_[2]) / 2);
        counted = std::max(seen.highest + 1, std::min(number_of(arguments_[5]), latest));
        if (counted >= end_of_fences)
            return no_fence(keys_[all.size()]);
    }
    if (auto const held = in_the_way(all, seen.highest))
        return *held;
    for (std::size_t i = 0; i != all.size(); ++i) {
        set(all[i], arguments_[1], &arguments_[2]);
        if (!seen.fences.empty())
            set(keys_[all.size() + i], whole(counted), &arguments_[4]);
    }
    return reply::number(static_cast<std::int64_t>(counted));
}

std::optional<std::string> script_run::in_the_way(std::vector<std::string> const& all, double fence)
{
    if (!exists(all))
        return {};
    for (std::size_t i = 0; i != all.size(); ++i) {
        millis const left = pttl(all[i]);
        if (left == -2)
            continue;
        auto const owner = mget({all[i]})[0];
        std::string const& givers = arguments_[3];
        if (!owner || givers.empty() ||
            (owner != arguments_[1] && owner != givers.substr(redis::nonce_length * i, redis::nonce_length)))
            return reply::status("HELD " + std::to_string(left) + ' ' + whole(fence) + ' ' +
                                 std::to_string(i) + ' ' + owner.value_or("").substr(0, 8));
    }
    return {};
}

std::string script_run::multi_extend()
{
    auto const all = locks();
    auto const seen = see_fences();
    if (seen.refused)
        return *seen.refused;
    auto const owners = mget(all);
    bool const fenced = !seen.fences.empty();
    bool const adopts = arguments_[3] == "1";
    double const token = fenced ? number_of(arguments_[5]) : 0;
    for (std::size_t i = 0; i != all.size(); ++i) {
        bool const behind = fenced && (seen.fences[i] > token || (adopts && seen.fences[i] != token));
        auto const may_be_set = [&] { return fenced && !adopts && !owners[i] && pttl(all[i]) == -2; };
        if (behind || (owners[i] != arguments_[1] && !may_be_set()))
            return reply::number(-static_cast<std::int64_t>(i) - 1);
    }
    bool gone = false;
    for (std::size_t i = 0; i != all.size(); ++i) {
        gone = gone || !owners[i] || (fenced && seen.fences[i] == 0);
        if (owners[i])
            pexpire(all[i], arguments_[2]);
        else
            set(all[i], arguments_[1], &arguments_[2]);
        std::size_t const fence = all.size() + i;
        if (fenced && seen.fences[i] == token)
            pexpire(keys_[fence], arguments_[4]);
        else if (fenced)
            set(keys_[fence], arguments_[5], &arguments_[4]);
    }
    (void)mget(all);
    return reply::number(gone ? 2 : 1);
}

std::string script_run::multi_raise()
{
    auto const all = locks();
    auto const seen = see_fences();
    if (seen.refused)
        return *seen.refused;
    auto const owners = mget(all);
    bool const ours = std::ranges::all_of(owners, [&](auto const& owner) { return owner == arguments_[1]; });
    if (!ours || seen.highest > number_of(arguments_[5]))
        return reply::number(0);
    for (std::size_t i = all.size(); i != 2 * all.size(); ++i)
        set(keys_[i], arguments_[5], &arguments_[4]);
    return reply::number(1);
}

std::string script_run::multi_release()
{
    auto const count = static_cast<std::size_t>(number_of(arguments_[1]));
    auto const owners = mget({keys_.begin(), keys_.begin() + position(count)});
    bool const lines = keys_.size() > count && exists({keys_.begin() + position(count), keys_.end()});
    std::size_t ours = 0;
    std::vector<std::string> free;
    for (std::size_t i = 0; i != count; ++i) {
        if (owners[i] != arguments_[0])
            continue;
        ++ours;
        if (!lines || !is_handed_on(keys_[i], keys_[count + i]))
            free.push_back(keys_[i]);
    }
    if (!free.empty())
        where_.before("del");
    for (std::string const& key : free)
        (void)where_.keys.erase(key, now());
    return reply::number(ours == count ? 1 : 0);
}

/// Without the rights to that the lock is free.
bool script_run::is_handed_on(std::string const& lock, std::string const& line)
{
    try {
        auto const [first, second] = call_first(line, "take", "0 " + arguments_[0]);
        if (first)
            (void)give(lock, line, *first, second);
        return first.has_value();
    } catch (script_error const&) {
        return false;
    } catch (wrong_type const&) {
        return false;
    }
}

/// Is any of them there?
bool script_run::exists(std::vector<std::string> const& keys)
{
    where_.before("exists");
    bool any = false;
    for (std::string const& key : keys)
        any = where_.keys.find(key, now()) != nullptr || any;
    for (std::string const& key : keys)
        where_.read(key);
    return any;
}

} // namespace redlock::world

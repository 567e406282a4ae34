// SPDX-License-Identifier: BSL-1.0
// The scripts of the line: the twins of src/kind/scripts/claim.lua, line_enter.lua and line_release.lua.
#include "redis/command.hpp"
#include "world/lua_number.hpp"
#include "world/reply.hpp"
#include "world/script.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

namespace redlock::world {

namespace {

/// Of a place in line: whose it is.
std::string nonce_of(std::string const& place)
{
    return place.substr(0, redis::nonce_length);
}

constexpr std::size_t window_digits = 7;

std::string part_of(std::string const& place, std::size_t from, std::size_t length = std::string::npos)
{
    return place.size() > from ? place.substr(from, length) : std::string();
}

/// The milliseconds that the lock is kept for it.
std::string window_of(std::string const& place)
{
    return part_of(place, redis::nonce_length, window_digits);
}

} // namespace

std::string script_run::claim()
{
    auto const owner = mget({keys_[0]})[0];
    if (owner && (owner == arguments_[0] || owner == arguments_[2])) {
        set(keys_[0], arguments_[0], &arguments_[1]);
        return reply::number(1);
    }
    if (set_new(keys_[0], arguments_[0], &arguments_[1]))
        return reply::number(1);
    return reply::status("HELD " + std::to_string(pttl(keys_[0])) + " 0 " + owner.value_or("").substr(0, 8));
}

std::string script_run::line_enter()
{
    std::string const me = arguments_[0] + arguments_[1];
    auto owner = mget({keys_[0]})[0];
    if (owner == arguments_[0])
        return reply::number(1);
    need_memory(keys_[1]);
    millis left = pttl(keys_[0]);
    while (left == -2) {
        auto const [first, second] = front(keys_[1]);
        std::string const heir = first.value_or(me);
        if (heir != me && call("take", heir, "0 ") == 0) {
            (void)zrem(keys_[1], {heir});
            continue;
        }
        left = give(keys_[0], keys_[1], heir, second);
        if (heir == me)
            return reply::number(1);
        owner = mget({keys_[0]})[0];
    }
    auto const before = stand_in_line(keys_[1], me);
    return before ? in_line(static_cast<double>(left), *before, owner.value_or("")) : reply::status("FULL");
}

/// How many stand there before it; nothing: it is not let in.
std::optional<std::size_t> script_run::stand_in_line(std::string const& line, std::string const& me)
{
    auto before = members("zrank", line).rank(me);
    if (!before) {
        before = members("zcard", line).size();
        if (static_cast<double>(*before) >= number_of(arguments_[3]))
            return std::nullopt;
        auto const last = members("zrange", line).range(-1, -1);
        zadd(line, {std::nearbyint((last.empty() ? 0 : last[0].score) + 1), me});
    }
    pexpire(line, arguments_[2]);
    return before;
}

std::string script_run::in_line(double left, std::size_t before, std::string const& owner)
{
    return reply::status("LINE " + whole(left) + ' ' + std::to_string(before) + ' ' + owner.substr(0, 8));
}

std::string script_run::line_release()
{
    bool const ours = mget({keys_[0]})[0] == arguments_[0];
    if (!arguments_[1].empty()) {
        std::string const me = arguments_[0] + arguments_[1];
        auto const [first, second] = front(keys_[1]);
        (void)zrem(keys_[1], {me});
        if (first == me && second && !ours)
            tell_first(keys_[1], second, std::to_string(std::max<millis>(pttl(keys_[0]), 0)));
    }
    auto const [first, second] =
        ours ? call_first(keys_[1], arguments_[2], arguments_[3] + ' ' + arguments_[0])
             : decltype(front(keys_[1]))();
    if (keys_.size() > 2)
        retract(keys_[2], arguments_[4]);
    if (!ours)
        return reply::number(0);
    if (!first || arguments_[2] == "free") {
        del(keys_[0]);
        return reply::number(1);
    }
    (void)give(keys_[0], keys_[1], *first, second);
    return reply::number(2);
}

script_run::two_places script_run::front(std::string const& line)
{
    auto const places = members("zrange", line).range(0, 1);
    two_places found;
    if (!places.empty())
        found.first = places[0].name;
    if (places.size() > 1)
        found.second = places[1].name;
    return found;
}

script_run::two_places script_run::call_first(std::string const& line, std::string const& word,
                                              std::string const& rest)
{
    auto [first, second] = front(line);
    while (first && call(word, *first, rest) == 0) {
        (void)zrem(line, {*first});
        std::tie(first, second) = front(line);
    }
    return {first, second};
}

/// To who stands there, or would.
millis script_run::give(std::string const& lock, std::string const& line, std::string const& heir,
                        std::optional<std::string> const& next)
{
    (void)zrem(line, {heir});
    double const window = number_of(window_of(heir));
    std::string const milliseconds = whole(window);
    set(lock, nonce_of(heir), &milliseconds);
    tell_first(line, next, window_of(heir));
    return static_cast<millis>(window);
}

void script_run::tell_first(std::string const& line, std::optional<std::string> place,
                            std::string const& left)
{
    while (place && !hears_that_it_is_first(*place, left)) {
        (void)zrem(line, {*place});
        place = front(line).first;
    }
}

/// Without the right to say it nobody knows.
bool script_run::hears_that_it_is_first(std::string const& place, std::string const& left)
{
    try {
        return call("first", place, left) != 0;
    } catch (script_error const&) {
        return true;
    }
}

std::size_t script_run::call(std::string_view word, std::string const& place, std::string const& rest)
{
    where_.before("publish");
    return where_.publish(part_of(place, channel_at_),
                          std::string(word) + ' ' + nonce_of(place) + ' ' + rest);
}

sorted_set const& script_run::members(std::string_view command, std::string const& key)
{
    return keyspace::members_of(look_at(command, key));
}

void script_run::zadd(std::string const& key, sorted_set::member one)
{
    where_.before("zadd");
    auto members = keyspace::members_of(where_.keys.find(key, now()));
    if (members.add(std::move(one)) != sorted_set::outcome::unchanged)
        where_.keys.set_members(key, std::move(members));
}

/// Changes nothing, and is refused by a server that is out of memory.
void script_run::need_memory(std::string const& key)
{
    where_.before("zadd");
    (void)keyspace::members_of(where_.keys.find(key, now()));
}

/// True: some stood there.
bool script_run::zrem(std::string const& key, std::vector<std::string> const& names)
{
    where_.before("zrem");
    auto members = keyspace::members_of(where_.keys.find(key, now()));
    bool found = false;
    for (std::string const& name : names)
        found = members.remove(name) || found;
    if (found)
        where_.keys.set_members(key, std::move(members));
    return found;
}

} // namespace redlock::world

// SPDX-License-Identifier: BSL-1.0
// A server's commands about keys.
#include "world/command.hpp"
#include "world/reply.hpp"
#include "world/server.hpp"
#include "world/sorted_set.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

namespace redlock::world {

namespace {

std::string score_text(double score)
{
    std::array<char, 40> text{};
    int const size = std::snprintf(text.data(), text.size(), "%.17g", score);
    return {text.data(), static_cast<std::size_t>(size)};
}

/// "(5" excludes 5 itself.
std::optional<sorted_set::bounds> bounds_of(std::string const& least, std::string const& most)
{
    bool const above = least.starts_with('(');
    bool const below = most.starts_with('(');
    auto const from = to_number(least.substr(above ? 1 : 0));
    auto const to = to_number(most.substr(below ? 1 : 0));
    if (!from || !to || std::isnan(*from) || std::isnan(*to))
        return std::nullopt;
    return sorted_set::bounds{*from, *to, above, below};
}

/// RESP3 has pairs.
std::string with_score(sorted_set::member const& one, bool resp3)
{
    std::string const score = score_text(one.score);
    return resp3 ? "*2\r\n" + reply::bulk(one.name) + ',' + score + "\r\n"
                 : reply::bulk(one.name) + reply::bulk(score);
}

} // namespace

keyspace::value const* server::look_at(std::string const& key)
{
    shown_.push_back(key);
    return keys_.find(key, now());
}

std::string server::set(connection& c, words const& command)
{
    keyspace::value v{.text = command[2]};
    bool only_new = false;
    bool only_there = false;
    std::string const* expected = nullptr;
    for (std::size_t i = 3; i < command.size(); ++i) {
        std::string const option = lower(command[i]);
        if (option == "nx") {
            only_new = true;
        } else if (option == "xx") {
            only_there = true;
        } else if (option == "px" && i + 1 != command.size()) {
            millis const time = whole_number(command[++i]).value_or(0);
            if (time <= 0 || time > std::numeric_limits<millis>::max() - now())
                return reply::error("ERR invalid expire time in 'set' command");
            v.expires = now() + time;
        } else if (option == "ifeq" && compares() && i + 1 != command.size()) {
            expected = &command[++i];
        } else {
            return reply::error("ERR syntax error");
        }
    }
    if ((only_new || only_there) && (keys_.find(command[1], now()) != nullptr) == only_new)
        return nil(c);
    if (expected && keyspace::text_of(keys_.find(command[1], now())) != *expected)
        return nil(c);
    keys_.set(command[1], std::move(v));
    return reply::status("OK");
}

std::string server::get(connection& c, words const& command)
{
    auto const text = keyspace::text_of(look_at(command[1]));
    return text ? reply::bulk(*text) : nil(c);
}

std::string server::exists(connection&, words const& command)
{
    std::int64_t found = 0;
    for (std::size_t i = 1; i != command.size(); ++i)
        found += look_at(command[i]) ? 1 : 0;
    return reply::number(found);
}

std::string server::mget(connection& c, words const& command)
{
    std::string said = '*' + std::to_string(command.size() - 1) + "\r\n";
    for (std::size_t i = 1; i != command.size(); ++i) {
        shown_.push_back(command[i]);
        auto const text = keys_.text(command[i], now());
        said += text ? reply::bulk(*text) : nil(c);
    }
    return said;
}

std::string server::pttl(connection&, words const& command)
{
    (void)look_at(command[1]);
    return reply::number(keys_.time_left(command[1], now() + (in_script_ ? is.script_time : 0)));
}

std::string server::pexpire(connection&, words const& command)
{
    auto const time = whole_number(command[2]);
    if (!time)
        return reply::error("ERR value is not an integer or out of range");
    if (*time <= 0)
        return reply::number(keys_.erase(command[1], now()) ? 1 : 0);
    return reply::number(keys_.expire(command[1], now() + *time, now()) ? 1 : 0);
}

std::string server::pexpireat(connection&, words const& command)
{
    auto const at = whole_number(command[2]);
    if (!at)
        return reply::error("ERR value is not an integer or out of range");
    if (*at <= now())
        return reply::number(keys_.erase(command[1], now()) ? 1 : 0);
    return reply::number(keys_.expire(command[1], *at, now()) ? 1 : 0);
}

std::string server::type(connection&, words const& command)
{
    auto const* const found = look_at(command[1]);
    if (!found)
        return reply::status("none");
    switch (found->is) {
    case keyspace::type::string: return reply::status("string");
    case keyspace::type::list: return reply::status("list");
    case keyspace::type::hash: return reply::status("hash");
    default: return reply::status("zset");
    }
}

std::string server::del(connection&, words const& command)
{
    std::int64_t gone = 0;
    for (std::size_t i = 1; i != command.size(); ++i)
        gone += keys_.erase(command[i], now()) ? 1 : 0;
    return reply::number(gone);
}

/// Without a condition it deletes any key.
std::string server::delex(connection&, words const& command)
{
    if (command.size() == 2)
        return reply::number(keys_.erase(command[1], now()) ? 1 : 0);
    if (command.size() != 4 || lower(command[2]) != "ifeq")
        return reply::error("ERR this server knows the library's use of it only");
    auto const* const found = keys_.find(command[1], now());
    if (found && found->is != keyspace::type::string)
        return reply::error("ERR Key should be of string type if conditions are specified");
    bool const gone = found && found->text == command[3] && keys_.erase(command[1], now());
    return reply::number(gone ? 1 : 0);
}

std::string server::delifeq(connection&, words const& command)
{
    bool const gone =
        keyspace::text_of(keys_.find(command[1], now())) == command[2] && keys_.erase(command[1], now());
    return reply::number(gone ? 1 : 0);
}

/// A list whose content is not kept.
std::string server::rpush(connection&, words const& command)
{
    auto const* const found = keys_.find(command[1], now());
    if (found && found->is != keyspace::type::list)
        throw wrong_type();
    keyspace::value v{.text = found ? found->text : std::string(),
                      .expires = found ? found->expires : std::nullopt,
                      .is = keyspace::type::list};
    v.text.append(command.size() - 2, '.');
    auto const length = v.text.size();
    keys_.set(command[1], std::move(v));
    return reply::number(static_cast<std::int64_t>(length));
}

std::string server::flushall(connection&, words const&)
{
    keys_.clear();
    flushed();
    return reply::status("OK");
}

std::string server::zadd(connection&, words const& command)
{
    std::string const option = lower(command[2]);
    bool const only_new = option == "nx";
    bool const only_there = option == "xx";
    bool const only_greater = option == "gt";
    std::size_t const first = only_new || only_there || only_greater ? 3 : 2;
    if ((command.size() - first) % 2 != 0 || command.size() == first)
        return reply::error("ERR syntax error");
    std::vector<sorted_set::member> given;
    for (std::size_t i = first; i != command.size(); i += 2) {
        auto const score = to_number(command[i]);
        if (!score || std::isnan(*score))
            return reply::error("ERR value is not a valid float");
        given.push_back({*score, command[i + 1]});
    }
    auto members = keyspace::members_of(keys_.find(command[1], now()));
    std::int64_t added = 0;
    bool changed = false;
    for (auto& one : given) {
        auto const before = members.score(one.name);
        if ((before && only_new) || (!before && only_there) ||
            (before && only_greater && *before >= one.score))
            continue;
        auto const how = members.add(std::move(one));
        added += how == sorted_set::outcome::added ? 1 : 0;
        changed |= how != sorted_set::outcome::unchanged;
    }
    if (changed)
        keys_.set_members(command[1], std::move(members));
    return reply::number(added);
}

std::string server::zrem(connection&, words const& command)
{
    auto members = keyspace::members_of(keys_.find(command[1], now()));
    auto const before = members.size();
    for (std::size_t i = 2; i != command.size(); ++i)
        members.remove(command[i]);
    auto const gone = before - members.size();
    if (gone != 0)
        keys_.set_members(command[1], std::move(members));
    return reply::number(static_cast<std::int64_t>(gone));
}

/// Arguments that cannot be read are refused before the key is looked at.
std::string server::zrange(connection& c, words const& command)
{
    auto const refuse = [&](std::string_view why) {
        shown_.push_back(command[1]);
        return reply::error(why);
    };
    bool const scores = command.size() == 5 && lower(command[4]) == "withscores";
    if (command.size() > 4 && !scores)
        return refuse("ERR syntax error");
    auto const first = whole_number(command[2]);
    auto const last = whole_number(command[3]);
    if (!first || !last)
        return refuse("ERR value is not an integer or out of range");
    auto const some = keyspace::members_of(look_at(command[1])).range(*first, *last);
    std::string said = '*' + std::to_string(some.size() * (scores && !c.resp3 ? 2 : 1)) + "\r\n";
    for (auto const& one : some)
        said += scores ? with_score(one, c.resp3) : reply::bulk(one.name);
    return said;
}

std::string server::zrank(connection& c, words const& command)
{
    auto const rank = keyspace::members_of(look_at(command[1])).rank(command[2]);
    return rank ? reply::number(static_cast<std::int64_t>(*rank)) : nil(c);
}

std::string server::zcard(connection&, words const& command)
{
    return reply::number(static_cast<std::int64_t>(keyspace::members_of(look_at(command[1])).size()));
}

std::string server::zcount(connection&, words const& command)
{
    auto const where = bounds_of(command[2], command[3]);
    if (!where) {
        shown_.push_back(command[1]);
        return reply::error("ERR min or max is not a float");
    }
    auto const& members = keyspace::members_of(look_at(command[1]));
    return reply::number(static_cast<std::int64_t>(members.count(*where)));
}

std::string server::zrangebyscore(connection&, words const& command)
{
    auto const where = bounds_of(command[2], command[3]);
    if (!where) {
        shown_.push_back(command[1]);
        return reply::error("ERR min or max is not a float");
    }
    auto const some = keyspace::members_of(look_at(command[1])).within(*where);
    std::string said = '*' + std::to_string(some.size()) + "\r\n";
    for (auto const& one : some)
        said += reply::bulk(one.name);
    return said;
}

std::string server::zremrangebyscore(connection&, words const& command)
{
    auto const where = bounds_of(command[2], command[3]);
    if (!where)
        return reply::error("ERR min or max is not a float");
    auto members = keyspace::members_of(keys_.find(command[1], now()));
    auto const gone = members.remove(*where);
    if (gone != 0)
        keys_.set_members(command[1], std::move(members));
    return reply::number(static_cast<std::int64_t>(gone));
}

std::string server::zscore(connection& c, words const& command)
{
    auto const score = keyspace::members_of(look_at(command[1])).score(command[2]);
    if (!score)
        return nil(c);
    return c.resp3 ? ',' + score_text(*score) + "\r\n" : reply::bulk(score_text(*score));
}

} // namespace redlock::world

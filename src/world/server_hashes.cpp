// SPDX-License-Identifier: BSL-1.0
// A server's commands about hashes.
#include "world/reply.hpp"
#include "world/server.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace redlock::world {

namespace {

std::optional<std::string> field_of(keyspace::value const* found, std::string const& name)
{
    auto const& all = keyspace::fields_of(found);
    auto const at = std::ranges::find(all, name, &keyspace::fields::value_type::first);
    return at == all.end() ? std::nullopt : std::optional(at->second);
}

} // namespace

std::string server::hset(connection&, words const& command)
{
    if (command.size() % 2 != 0)
        return reply::error("ERR wrong number of arguments for 'hset' command");
    std::int64_t added = 0;
    for (std::size_t i = 2; i != command.size(); i += 2)
        added += keys_.set_field(command[1], command[i], command[i + 1], now()) ? 1 : 0;
    return reply::number(added);
}

std::string server::hdel(connection&, words const& command)
{
    auto const gone = keys_.erase_fields(command[1], {command.begin() + 2, command.end()}, now());
    return reply::number(static_cast<std::int64_t>(gone));
}

std::string server::hget(connection& c, words const& command)
{
    auto const text = field_of(look_at(command[1]), command[2]);
    return text ? reply::bulk(*text) : nil(c);
}

std::string server::hmget(connection& c, words const& command)
{
    auto const* const found = look_at(command[1]);
    std::string said = '*' + std::to_string(command.size() - 2) + "\r\n";
    for (std::size_t i = 2; i != command.size(); ++i) {
        auto const text = field_of(found, command[i]);
        said += text ? reply::bulk(*text) : nil(c);
    }
    return said;
}

std::string server::hexists(connection&, words const& command)
{
    return reply::number(field_of(look_at(command[1]), command[2]) ? 1 : 0);
}

std::string server::hlen(connection&, words const& command)
{
    return reply::number(static_cast<std::int64_t>(keyspace::fields_of(look_at(command[1])).size()));
}

std::string server::hkeys(connection&, words const& command)
{
    auto const& all = keyspace::fields_of(look_at(command[1]));
    std::string said = '*' + std::to_string(all.size()) + "\r\n";
    for (auto const& [name, text] : all)
        said += reply::bulk(name);
    return said;
}

std::string server::hgetall(connection& c, words const& command)
{
    auto const& all = keyspace::fields_of(look_at(command[1]));
    std::string said =
        (c.resp3 ? '%' + std::to_string(all.size()) : '*' + std::to_string(2 * all.size())) + "\r\n";
    for (auto const& [name, text] : all)
        said += reply::bulk(name) + reply::bulk(text);
    return said;
}

} // namespace redlock::world

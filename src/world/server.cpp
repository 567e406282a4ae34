// SPDX-License-Identifier: BSL-1.0
#include "world/server.hpp"

#include "world/command.hpp"
#include "world/reply.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace redlock::world {

namespace {

/// The connection of commands from `execute`.
constexpr server::connection_id somebody_else = ~0U;

std::string no_permission(std::string const& command, server::release version)
{
    std::string const who = version == server::release::redis_7_0 ? "this user" : "User default";
    return reply::error("NOPERM " + who + " has no permissions to run the '" + command + "' command");
}

std::string unknown(std::vector<std::string> const& command)
{
    constexpr std::size_t enough = 128;
    std::string said;
    for (std::size_t i = 1; i != command.size() && said.size() < enough; ++i)
        said += '\'' + command[i].substr(0, enough - said.size()) + "' ";
    return reply::error("ERR unknown command '" + command[0] + "', with args beginning with: " + said);
}

std::string append_pair(std::string const& name, std::string const& told)
{
    return reply::bulk(name) + reply::bulk(told);
}

/// Valkey gives the version of Redis with which it is compatible.
std::string redis_version(server::release version)
{
    switch (version) {
    case server::release::redis_8_6: return "8.6.3";
    case server::release::valkey_9_1: return "7.2.4";
    default: return "7.0.15";
    }
}

} // namespace

void server::connect(connection_id id)
{
    connections_[id] = {};
    connections_[id].authenticated = is.password.empty();
}

void server::disconnect(connection_id id)
{
    connections_.erase(id);
    forget(id);
}

void server::forget(connection_id id)
{
    for (auto& [key, who] : tracked_)
        who.erase(id);
}

void server::die()
{
    connections_.clear();
    tracked_.clear();
    scripts_.clear();
}

void server::receive(connection_id id, std::string_view bytes, std::int64_t now_us)
{
    now_us_ = now_us;
    keys_.keep_expired(is.replica);
    connection& c = connections_.at(id);
    c.in.append(bytes);
    while (auto const command = take_command(c.in)) {
        current_ = id;
        ++received_;
        c.out += answer(c, *command);
        c.out += std::exchange(own_messages_, {});
        c.out += std::exchange(own_invalidations_, {});
        current_ = 0;
    }
    if (!c.out.empty())
        spoke_(id);
}

std::string server::take_output(connection_id id)
{
    auto const at = connections_.find(id);
    return at == connections_.end() ? std::string() : std::exchange(at->second.out, {});
}

std::string server::execute(std::vector<std::string> const& command, std::int64_t now_us)
{
    now_us_ = now_us;
    keys_.keep_expired(is.replica);
    connection own{.in = {}, .out = {}, .resp3 = true, .authenticated = true};
    auto const before = std::exchange(current_, somebody_else);
    std::string said = answer(own, command);
    current_ = before;
    return said;
}

/// Tells the connections to which the key was shown; once.
void server::changed(std::string const& key)
{
    auto const at = tracked_.find(key);
    if (at == tracked_.end())
        return;
    auto const told = std::move(at->second);
    tracked_.erase(at);
    for (connection_id const id : told)
        if (id != current_ || !connections_.at(id).no_loop)
            invalidate(id, "*1\r\n" + reply::bulk(key));
}

void server::flushed()
{
    tracked_.clear();
    for (auto const& [id, c] : connections_)
        if (c.tracking)
            invalidate(id, "_\r\n");
}

void server::forget_whom_to_tell()
{
    while (!tracked_.empty())
        changed(std::string(tracked_.begin()->first));
}

void server::invalidate(connection_id id, std::string const& keys)
{
    if (!connections_.at(id).resp3) // RESP2 has no pushes
        return;
    std::string const said = ">2\r\n" + reply::bulk("invalidate") + keys;
    if (id == current_) {
        own_invalidations_ += said;
        return;
    }
    connections_.at(id).out += said;
    spoke_(id);
}

server::command_form const* server::form_of(std::string_view name)
{
    using s = server;
    static constexpr std::array all{
        command_form{"auth", 2, &s::auth, while_loading | not_in_scripts},
        command_form{"client", 2, &s::client, while_loading | not_in_scripts},
        command_form{"config", 2, &s::config, while_loading | not_in_scripts},
        command_form{"del", 2, &s::del, writes},
        command_form{"delex", 2, &s::delex, writes},
        command_form{"delifeq", 3, &s::delifeq, writes},
        command_form{"eval", 3, &s::eval, not_in_scripts},
        command_form{"evalsha", 3, &s::evalsha, not_in_scripts},
        command_form{"exists", 2, &s::exists},
        command_form{"flushall", 1, &s::flushall, writes},
        command_form{"get", 2, &s::get},
        command_form{"hdel", 3, &s::hdel, writes},
        command_form{"hello", 1, &s::hello, while_loading | not_in_scripts},
        command_form{"hexists", 3, &s::hexists},
        command_form{"hget", 3, &s::hget},
        command_form{"hgetall", 2, &s::hgetall},
        command_form{"hkeys", 2, &s::hkeys},
        command_form{"hlen", 2, &s::hlen},
        command_form{"hmget", 3, &s::hmget},
        command_form{"hset", 4, &s::hset, writes | takes_memory},
        command_form{"info", 1, &s::info, while_loading},
        command_form{"mget", 2, &s::mget},
        command_form{"pexpire", 3, &s::pexpire, writes},
        command_form{"pexpireat", 3, &s::pexpireat, writes},
        command_form{"ping", 1, &s::ping, while_listening},
        command_form{"pttl", 2, &s::pttl},
        command_form{"publish", 3, &s::publish, while_loading},
        command_form{"reset", 1, &s::reset, while_loading | while_listening | not_in_scripts},
        command_form{"rpush", 3, &s::rpush, writes | takes_memory},
        command_form{"script", 2, &s::script, not_in_scripts},
        command_form{"select", 2, &s::select, while_loading},
        command_form{"set", 3, &s::set, writes | takes_memory},
        command_form{"subscribe", 2, &s::subscribe, while_loading | while_listening | not_in_scripts},
        command_form{"time", 1, &s::time, while_loading},
        command_form{"type", 2, &s::type},
        command_form{"unsubscribe", 1, &s::unsubscribe, while_loading | while_listening | not_in_scripts},
        command_form{"zadd", 4, &s::zadd, writes | takes_memory},
        command_form{"zcard", 2, &s::zcard},
        command_form{"zcount", 4, &s::zcount},
        command_form{"zrange", 4, &s::zrange},
        command_form{"zrangebyscore", 4, &s::zrangebyscore},
        command_form{"zrank", 3, &s::zrank},
        command_form{"zrem", 3, &s::zrem, writes},
        command_form{"zremrangebyscore", 4, &s::zremrangebyscore, writes},
        command_form{"zscore", 3, &s::zscore},
    };
    static_assert(std::ranges::is_sorted(all, {}, &command_form::name));
    auto const at = std::ranges::lower_bound(all, name, {}, &command_form::name);
    return at == all.end() || at->name != name ? nullptr : &*at;
}

bool server::knows(command_form const& command) const
{
    return (command.name != "delex" || is.version == release::redis_8_6) &&
           (command.name != "delifeq" || is.version == release::valkey_9_1);
}

/// Checks in the order in which a real server does.
std::string server::refusal(connection const& c, command_form const& command) const
{
    std::string const name(command.name);
    bool const introduces = name == "hello" || name == "auth" || name == "reset";
    if (!c.authenticated && !introduces)
        return reply::error("NOAUTH Authentication required.");
    if (is.forbidden.contains(name))
        return no_permission(name == "config" ? "config|get" : name, is.version);
    if (is.forbidden_channels && (name == "subscribe" || name == "publish"))
        return reply::error(
            "NOPERM this user has no permissions to access one of the channels used as arguments");
    if (std::string const no = write_refusal(command); !no.empty())
        return reply::error(no);
    if (!c.resp3 && !c.channels.empty() && (command.flags & while_listening) == 0)
        return reply::error(
            "ERR Can't execute '" + name +
            "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this "
            "context");
    if (is.loading && (command.flags & while_loading) == 0)
        return reply::error("LOADING Redis is loading the dataset in memory");
    return {};
}

std::string server::write_refusal(command_form const& command) const
{
    if (is.replica)
        return (command.flags & writes) != 0 ? "READONLY You can't write against a read only replica." : "";
    // Redis 8 needs memory for channels.
    bool const subscribes = is.version == release::redis_8_6 && command.name == "subscribe";
    if (is.out_of_memory && (subscribes || (command.flags & takes_memory) != 0))
        return "OOM command not allowed when used memory > 'maxmemory'.";
    return {};
}

std::string server::answer(connection& c, words const& command)
{
    if (command.empty())
        return {};
    auto const* const form = form_of(lower(command[0]));
    if (!form || !knows(*form))
        return unknown(command);
    if (command.size() < form->length)
        return reply::error("ERR wrong number of arguments for '" + std::string(form->name) + "' command");
    if (std::string no = refusal(c, *form); !no.empty())
        return no;
    return execute(c, *form, command);
}

std::string server::execute(connection& c, command_form const& form, words const& command)
{
    ++executed_;
    std::string said;
    try {
        said = (this->*form.answer)(c, command);
    } catch (wrong_type const&) {
        said = reply::error(reply::wrong_type);
    }
    remember_what_was_shown();
    return said;
}

std::string server::hello(connection& c, words const& command)
{
    if (!is.resp3)
        return reply::error("ERR unknown command 'HELLO', with args beginning with: '3' ");
    for (std::size_t i = 2; i + 2 < command.size(); ++i)
        if (lower(command[i]) == "auth") {
            if (std::string said = auth(c, {"AUTH", command[i + 1], command[i + 2]}); said.front() == '-')
                return said;
        }
    if (!c.authenticated)
        return reply::error(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
            "<proto> AUTH <user> <pass> option can be used to authenticate the client and select the "
            "RESP protocol version at the same time");
    c.resp3 = true;
    bool const valkey = is.version == release::valkey_9_1;
    return "%7\r\n" + append_pair("server", valkey ? "valkey" : "redis") +
           append_pair("version", valkey ? "9.1.2" : redis_version(is.version)) + reply::bulk("proto") +
           reply::number(3) + reply::bulk("id") + reply::number(current_) +
           append_pair("mode", is.cluster ? "cluster" : "standalone") +
           append_pair("role", is.replica ? "replica" : "master") + reply::bulk("modules") + "*0\r\n";
}

std::string server::auth(connection& c, words const& command)
{
    bool const named = command.size() == 3;
    bool const known = !named || command[1] == "default";
    if (!known || (!is.password.empty() && command.back() != is.password))
        return reply::error("WRONGPASS invalid username-password pair or user is disabled.");
    c.authenticated = true;
    return reply::status("OK");
}

std::string server::client(connection& c, words const& command)
{
    if (command.size() > 2 && lower(command[1]) == "tracking") {
        if (is.forbidden.contains("client|tracking"))
            return no_permission("client|tracking", is.version);
        c.tracking = lower(command[2]) == "on";
        c.no_loop = command.size() > 3 && lower(command[3]) == "noloop";
    }
    return reply::status("OK");
}

std::string server::reset(connection& c, words const&)
{
    forget(current_);
    c.resp3 = c.tracking = c.no_loop = false;
    c.channels.clear();
    c.authenticated = is.password.empty();
    return reply::status("RESET");
}

std::string server::select(connection&, words const&)
{
    return reply::status("OK");
}

std::string server::ping(connection& c, words const& command)
{
    std::string const text = command.size() > 1 ? command[1] : std::string();
    if (!c.resp3 && !c.channels.empty())
        return "*2\r\n" + reply::bulk("pong") + reply::bulk(text);
    return command.size() > 1 ? reply::bulk(text) : reply::status("PONG");
}

std::string server::info(connection&, words const&)
{
    // A difference of two clocks in whole seconds: it may be one too large.
    auto const uptime = now_us_ / 1'000'000 - is.started_us / 1'000'000;
    bool const promoted = is.replid2.find_first_not_of('0') != std::string::npos;
    std::string text = "# Server\r\nredis_version:" + redis_version(is.version) + "\r\n" +
                       (is.version == release::valkey_9_1 ? "valkey_version:9.1.2\r\n" : "") +
                       "run_id:" + is.run_id + "\r\nuptime_in_seconds:" + std::to_string(uptime) + "\r\n";
    text += "# Memory\r\nmaxmemory:" + std::to_string(is.maxmemory) +
            "\r\nmaxmemory_policy:" + is.maxmemory_policy +
            "\r\n# Persistence\r\nloading:" + (is.loading ? "1" : "0") +
            "\r\naof_enabled:" + (is.append_only ? "1" : "0");
    text += "\r\n# Replication\r\nrole:" + std::string(is.replica ? "slave" : "master") +
            "\r\nconnected_slaves:" + std::to_string(is.replicas) + "\r\nmaster_replid:" + is.replid +
            "\r\nmaster_replid2:" + is.replid2 + "\r\nsecond_repl_offset:" + (promoted ? "1" : "-1");
    return reply::bulk(text + "\r\n# Cluster\r\ncluster_enabled:" + (is.cluster ? "1" : "0") + "\r\n");
}

std::string server::config(connection& c, words const&)
{
    std::string const pairs = append_pair("appendonly", is.append_only ? "yes" : "no") +
                              append_pair("appendfsync", is.append_fsync) +
                              append_pair("no-appendfsync-on-rewrite", "no");
    return (c.resp3 ? "%3\r\n" : "*6\r\n") + pairs;
}

std::string server::time(connection&, words const&)
{
    return "*2\r\n" + reply::bulk(std::to_string(now_us_ / 1'000'000)) +
           reply::bulk(std::to_string(now_us_ % 1'000'000));
}

/// Called after the command: a key that the command finds expired does not count as shown before.
void server::remember_what_was_shown()
{
    words const shown = std::exchange(shown_, {});
    auto const who = connections_.find(current_);
    if (shown.empty() || who == connections_.end() || !who->second.tracking)
        return;
    bool const all_declared = in_script_ && is.shows_declared_keys;
    for (std::string const& key : all_declared ? declared_ : std::span(shown))
        tracked_[key].insert(current_);
}

} // namespace redlock::world

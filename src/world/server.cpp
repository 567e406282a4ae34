#include "world/server.hpp"

#include "redis/scripts.hpp"
#include "world/command.hpp"
#include "world/reply.hpp"
#include "world/script.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

namespace redlock::world {

namespace {

/// The connection of who asks with `execute`.
constexpr server::connection_id somebody_else = ~0U;

std::string lower(std::string text)
{
    std::ranges::transform(text, text.begin(),
                           [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
    return text;
}

std::optional<std::string_view> hash_of(std::string_view text)
{
    namespace known = redis::scripts;
    for (auto const& one : {known::release, known::extend, known::fenced_vote, known::fenced_raise,
                            known::fenced_extend, known::fenced_adopt, known::mark})
        if (one.text == text)
            return one.sha1;
    return {};
}

millis whole_number(std::string const& text)
{
    millis value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::string no_permission(std::string const& command)
{
    return reply::error("NOPERM this user has no permissions to run the '" + command + "' command");
}

std::string append_pair(std::string const& name, std::string const& told)
{
    return reply::bulk(name) + reply::bulk(told);
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
    connection& c = connections_.at(id);
    c.in.append(bytes);
    while (auto const command = take_command(c.in)) {
        current_ = id;
        c.out += answer(c, *command);
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
    connection own{.in = {}, .out = {}, .resp3 = true, .authenticated = true};
    auto const before = std::exchange(current_, somebody_else);
    std::string said = answer(own, command);
    current_ = before;
    return said;
}

/// To whom the key was shown; once.
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
    if (!connections_.at(id).resp3) // it has nothing to say it with
        return;
    connections_.at(id).out += ">2\r\n" + reply::bulk("invalidate") + keys;
    if (id != current_)
        spoke_(id);
}

std::string server::refusal(connection const& c, std::string const& command) const
{
    if (!c.authenticated && command != "hello" && command != "auth")
        return reply::error("NOAUTH Authentication required.");
    if (is.forbidden.contains(command))
        return no_permission(command == "config" ? "config|get" : command);
    bool const about_itself = command == "hello" || command == "auth" || command == "client" ||
                              command == "info" || command == "config" || command == "time" ||
                              command == "select";
    if (is.loading && !about_itself)
        return reply::error("LOADING Redis is loading the dataset in memory");
    bool const writes = command == "set" || command == "del" || command == "rpush" || command == "flushall";
    std::string const no = writes ? write_refusal(command) : std::string();
    return no.empty() ? no : reply::error(no);
}

std::string server::answer(connection& c, words const& command)
{
    if (command.empty())
        return {};
    std::string const name = lower(command[0]);
    if (std::string no = refusal(c, name); !no.empty())
        return no;
    if (name == "set")
        return set(c, command);
    if (name == "eval" || name == "evalsha")
        return eval(command, name == "evalsha");
    if (name == "get")
        return get(c, command.at(1));
    if (name == "pttl") {
        remember(current_, command.at(1));
        return reply::number(keys_.time_left(command.at(1), now_us_ / 1000));
    }
    if (name == "hello")
        return hello(c, command);
    if (name == "auth")
        return auth(c, command);
    if (name == "client")
        return client(c, command);
    if (name == "select")
        return reply::status("OK");
    if (name == "ping")
        return reply::status("PONG");
    if (name == "info")
        return reply::bulk(info());
    if (name == "config")
        return config(c);
    if (name == "time")
        return "*2\r\n" + reply::bulk(std::to_string(now_us_ / 1'000'000)) +
               reply::bulk(std::to_string(now_us_ % 1'000'000));
    if (name == "del")
        return reply::number(keys_.erase(command.at(1), now_us_ / 1000) ? 1 : 0);
    if (name == "rpush") {
        keys_.set(command.at(1), {.text = {}, .expires = {}, .is_string = false});
        return reply::number(1);
    }
    if (name == "flushall") {
        keys_.clear();
        flushed();
        return reply::status("OK");
    }
    return reply::error("ERR unknown command '" + command[0] + "', with args beginning with: ");
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
    return "%7\r\n" + append_pair("server", "redis") + append_pair("version", "7.0.15") +
           reply::bulk("proto") + reply::number(3) + reply::bulk("id") + reply::number(current_) +
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
            return no_permission("client|tracking");
        c.tracking = lower(command[2]) == "on";
        c.no_loop = command.size() > 3 && lower(command[3]) == "noloop";
    }
    return reply::status("OK");
}

std::string server::info() const
{
    // Of two clocks in whole seconds: it may be one too much.
    auto const uptime = now_us_ / 1'000'000 - is.started_us / 1'000'000;
    bool const promoted = is.replid2.find_first_not_of('0') != std::string::npos;
    std::string text = "# Server\r\nredis_version:7.0.15\r\nrun_id:" + is.run_id +
                       "\r\nuptime_in_seconds:" + std::to_string(uptime) + "\r\n";
    text += "# Memory\r\nmaxmemory:" + std::to_string(is.maxmemory) +
            "\r\nmaxmemory_policy:" + is.maxmemory_policy +
            "\r\n# Persistence\r\nloading:" + (is.loading ? "1" : "0") +
            "\r\naof_enabled:" + (is.append_only ? "1" : "0");
    text += "\r\n# Replication\r\nrole:" + std::string(is.replica ? "slave" : "master") +
            "\r\nconnected_slaves:" + std::to_string(is.replicas) + "\r\nmaster_replid:" + is.replid +
            "\r\nmaster_replid2:" + is.replid2 + "\r\nsecond_repl_offset:" + (promoted ? "1" : "-1");
    return text + "\r\n# Cluster\r\ncluster_enabled:" + (is.cluster ? "1" : "0") + "\r\n";
}

std::string server::config(connection const& c) const
{
    std::string const pairs = append_pair("appendonly", is.append_only ? "yes" : "no") +
                              append_pair("appendfsync", is.append_fsync) +
                              append_pair("no-appendfsync-on-rewrite", "no");
    return (c.resp3 ? "%3\r\n" : "*6\r\n") + pairs;
}

std::string server::write_refusal(std::string_view command) const
{
    if (is.replica)
        return "READONLY You can't write against a read only replica.";
    if (is.out_of_memory && (command == "set" || command == "rpush"))
        return "OOM command not allowed when used memory > 'maxmemory'.";
    return {};
}

std::string server::set(connection const& c, words const& command)
{
    keyspace::value v{.text = command.at(2), .expires = {}, .is_string = true};
    millis const now = now_us_ / 1000;
    bool only_new = false;
    for (std::size_t i = 3; i < command.size(); ++i) {
        std::string const option = lower(command[i]);
        only_new |= option == "nx";
        if (option == "px") {
            millis const time = whole_number(command.at(++i));
            if (time <= 0 || time > std::numeric_limits<millis>::max() - now)
                return reply::error("ERR invalid expire time in 'set' command");
            v.expires = now + time;
        }
    }
    if (only_new && keys_.find(command[1], now))
        return nil(c);
    keys_.set(command[1], std::move(v));
    return reply::status("OK");
}

std::string server::get(connection const& c, std::string const& key)
{
    remember(current_, key);
    auto const* const found = keys_.find(key, now_us_ / 1000);
    if (found && !found->is_string)
        return reply::error("WRONGTYPE Operation against a key holding the wrong kind of value");
    return found ? reply::bulk(found->text) : nil(c);
}

std::string server::eval(words const& command, bool by_hash)
{
    std::string const hash =
        by_hash ? lower(command.at(1)) : std::string(hash_of(command.at(1)).value_or(""));
    if (by_hash && !scripts_.contains(hash))
        return reply::error("NOSCRIPT No matching script. Please use EVAL.");
    if (hash.empty())
        return reply::error("ERR this server knows the library's scripts only");
    scripts_.insert(hash);
    auto const keys = static_cast<std::ptrdiff_t>(whole_number(command.at(2)));
    auto const first = command.begin() + 3;
    script_run run({.keys = keys_,
                    .now_us = now_us_,
                    .read =
                        [this, first, keys](std::string const& key) {
                            if (!is.shows_declared_keys)
                                return remember(current_, key);
                            for (auto declared = first; declared != first + keys; ++declared)
                                remember(current_, *declared);
                        },
                    .before_write =
                        [this](std::string_view name) {
                            if (auto no = write_refusal(name); !no.empty())
                                throw script_error{std::move(no)};
                        }},
                   {first, first + keys}, {first + keys, command.end()});
    return run.run(hash);
}

void server::remember(connection_id id, std::string const& key)
{
    auto const who = connections_.find(id);
    if (who != connections_.end() && who->second.tracking)
        tracked_[key].insert(id);
}

} // namespace redlock::world

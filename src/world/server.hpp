// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "world/keyspace.hpp"
#include "world/lua.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::world {

/// One Redis server as a value: it answers the library's commands as a real one does (a test compares them byte for
/// byte). It has no socket, no clock and no thread.
class server {
public:
    using connection_id = unsigned;

    /// Redis from 8.4 and Valkey from 9.0 on have commands that compare, each its own.
    enum class release : std::uint8_t { redis_7_0, redis_8_6, valkey_9_1 };

    /// The contents of INFO and CONFIG, and the treatment of clients. May change at any time.
    struct traits {
        release version = release::redis_7_0;
        std::string run_id{};
        std::string replid{};
        std::string replid2 = std::string(40, '0');
        std::int64_t started_us = 0;
        unsigned replicas = 0;
        bool replica = false; ///< and read-only
        bool cluster = false;
        bool loading = false;
        bool out_of_memory = false;
        bool resp3 = true;
        /// Redis 7.0: a script that reads any key is told of all keys that it declares; later ones: of those that it
        /// reads.
        bool shows_declared_keys = true;
        /// Redis 7.0: how much later PTTL reads the clock within a script, in milliseconds.
        millis script_time = 0;
        /// Redis 7.0: a client that publishes to itself receives the message before the answer; since 7.2: after it.
        bool own_messages_first = true;
        bool append_only = false;
        std::string append_fsync = "everysec";
        std::uint64_t maxmemory = 0;
        std::string maxmemory_policy = "noeviction";
        std::string password{};            ///< the default user's; empty: none
        std::set<std::string> forbidden{}; ///< commands, in lower case, that the user may not run
        bool forbidden_channels = false;   ///< the user may use no channel
        std::string forbidden_key{};       ///< no script may name it; empty: none
    };

    /// \param spoke called with each connection that has more output
    explicit server(std::function<void(connection_id)> spoke) : spoke_(std::move(spoke)) {}

    traits is{};

    void connect(connection_id);
    void disconnect(connection_id);
    /// \param now_us its clock's, since 1970
    void receive(connection_id, std::string_view bytes, std::int64_t now_us);
    /// Returns the output of a connection since the last call.
    [[nodiscard]] std::string take_output(connection_id);

    /// Executes a command of another client, on a connection of its own.
    [[nodiscard]] std::string execute(std::vector<std::string> const& words, std::int64_t now_us);
    void flush_scripts() { scripts_.clear(); }
    /// Its tracking table is full: it reports keys as if they had changed.
    void forget_whom_to_tell();
    [[nodiscard]] keyspace& keys() { return keys_; }
    /// Commands that were received on connections so far.
    [[nodiscard]] std::uint64_t received() const { return received_; }
    /// Commands that were executed so far, those inside scripts included.
    [[nodiscard]] std::uint64_t executed() const { return executed_; }
    /// Ends its process: connections and scripts are gone, and the keys unless they are restored.
    void die();

private:
    struct connection {
        std::string in{};
        std::string out{};
        bool resp3 = false;
        bool authenticated = false;
        bool tracking = false;
        bool no_loop = false;
        std::set<std::string> channels{}; ///< the subscriptions
    };
    using words = std::vector<std::string>;

    /// The properties of a command.
    struct command_form {
        std::string_view name;
        std::size_t length; ///< in words, at least, its name included
        std::string (server::*answer)(connection&, words const&);
        unsigned flags = 0;
    };
    static constexpr unsigned writes = 1;
    static constexpr unsigned takes_memory = 2;
    static constexpr unsigned while_loading = 4;   ///< answered while loading, too
    static constexpr unsigned while_listening = 8; ///< answered while a RESP2 connection is subscribed, too
    static constexpr unsigned not_in_scripts = 16;
    [[nodiscard]] static command_form const* form_of(std::string_view name);
    [[nodiscard]] bool knows(command_form const&) const;
    [[nodiscard]] bool compares() const { return is.version != release::redis_7_0; }

    void changed(std::string const& key);
    void flushed();
    void invalidate(connection_id, std::string const& keys);
    void forget(connection_id);
    [[nodiscard]] std::size_t tell(std::string const& channel, std::string const& text);
    [[nodiscard]] std::string answer(connection&, words const&);
    [[nodiscard]] std::string refusal(connection const&, command_form const&) const;
    [[nodiscard]] std::string write_refusal(command_form const&) const;
    [[nodiscard]] std::string execute(connection&, command_form const&, words const&);
    [[nodiscard]] std::string answer_in_script(connection&, words const&, bool& written);
    [[nodiscard]] std::string refusal_in_script(command_form const&, bool written) const;

    [[nodiscard]] std::string hello(connection&, words const&);
    [[nodiscard]] std::string auth(connection&, words const&);
    [[nodiscard]] std::string client(connection&, words const&);
    [[nodiscard]] std::string reset(connection&, words const&);
    [[nodiscard]] std::string select(connection&, words const&);
    [[nodiscard]] std::string ping(connection&, words const&);
    [[nodiscard]] std::string info(connection&, words const&);
    [[nodiscard]] std::string config(connection&, words const&);
    [[nodiscard]] std::string time(connection&, words const&);
    [[nodiscard]] std::string set(connection&, words const&);
    [[nodiscard]] std::string get(connection&, words const&);
    [[nodiscard]] std::string exists(connection&, words const&);
    [[nodiscard]] std::string mget(connection&, words const&);
    [[nodiscard]] std::string pttl(connection&, words const&);
    [[nodiscard]] std::string pexpire(connection&, words const&);
    [[nodiscard]] std::string pexpireat(connection&, words const&);
    [[nodiscard]] std::string type(connection&, words const&);
    [[nodiscard]] std::string del(connection&, words const&);
    [[nodiscard]] std::string delex(connection&, words const&);
    [[nodiscard]] std::string delifeq(connection&, words const&);
    [[nodiscard]] std::string rpush(connection&, words const&);
    [[nodiscard]] std::string flushall(connection&, words const&);
    [[nodiscard]] std::string zadd(connection&, words const&);
    [[nodiscard]] std::string zrem(connection&, words const&);
    [[nodiscard]] std::string zrange(connection&, words const&);
    [[nodiscard]] std::string zrank(connection&, words const&);
    [[nodiscard]] std::string zcard(connection&, words const&);
    [[nodiscard]] std::string zcount(connection&, words const&);
    [[nodiscard]] std::string zremrangebyscore(connection&, words const&);
    [[nodiscard]] std::string zscore(connection&, words const&);
    [[nodiscard]] std::string zrangebyscore(connection&, words const&);
    [[nodiscard]] std::string hset(connection&, words const&);
    [[nodiscard]] std::string hdel(connection&, words const&);
    [[nodiscard]] std::string hget(connection&, words const&);
    [[nodiscard]] std::string hmget(connection&, words const&);
    [[nodiscard]] std::string hexists(connection&, words const&);
    [[nodiscard]] std::string hlen(connection&, words const&);
    [[nodiscard]] std::string hkeys(connection&, words const&);
    [[nodiscard]] std::string hgetall(connection&, words const&);
    [[nodiscard]] std::string subscribe(connection&, words const&);
    [[nodiscard]] std::string unsubscribe(connection&, words const&);
    [[nodiscard]] std::string publish(connection&, words const&);
    [[nodiscard]] std::string eval(connection&, words const&);
    [[nodiscard]] std::string evalsha(connection&, words const&);

    [[nodiscard]] std::string script(connection&, words const&);
    [[nodiscard]] std::string run_script(connection&, std::string const& hash, words const&);
    [[nodiscard]] keyspace::value const* look_at(std::string const& key);
    void remember_what_was_shown();
    [[nodiscard]] millis now() const { return now_us_ / 1000; }
    [[nodiscard]] static std::string nil(connection const& c) { return c.resp3 ? "_\r\n" : "$-1\r\n"; }

    std::function<void(connection_id)> spoke_;
    keyspace keys_{[this](std::string const& key) { changed(key); }};
    std::map<connection_id, connection> connections_;
    std::map<std::string, std::set<connection_id>> tracked_;
    std::map<std::string, std::string> scripts_; ///< by their hashes
    std::unique_ptr<lua> lua_;                   ///< once a script was run
    bool in_script_ = false;
    words shown_;                           ///< keys that were shown by the command that is executed
    std::span<std::string const> declared_; ///< keys of the script that runs
    connection_id current_ = 0;             ///< the connection whose command is being executed
    std::string own_messages_;              ///< sent to it after its answer
    std::string own_invalidations_;         ///< likewise
    std::int64_t now_us_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t executed_ = 0;
};

} // namespace redlock::world

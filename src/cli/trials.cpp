// SPDX-License-Identifier: BSL-1.0
#include "cli/trials.hpp"

#include "cli/answer.hpp"
#include "kind/election.hpp"
#include "kind/fenced.hpp"
#include "kind/queue.hpp"
#include "redis/command.hpp"

#include <utility>

namespace redlock::cli {

namespace {

trial on_key(std::string_view right, std::vector<std::string> command)
{
    std::string object = '~' + command.at(1);
    return {right, std::move(command), std::move(object)};
}

/// Without these rights no waiter is called: waiters poll in sequence (rule Q23).
std::vector<trial> trials_of_queue(std::string const& queue, std::string const& channels,
                                   interview const& node)
{
    std::vector<trial> all{on_key("exists", {"EXISTS", queue}),
                           on_key("type", {"TYPE", queue}),
                           on_key("zscore", {"ZSCORE", queue, "none"}),
                           on_key("zadd", {"ZADD", queue, "XX", "0", "none"}), // only if it exists already
                           on_key("zrange", {"ZRANGE", queue, "0", "0"}),
                           on_key("zrem", {"ZREM", queue, "none"}),
                           on_key("zrank", {"ZRANK", queue, "none"}),
                           on_key("zcard", {"ZCARD", queue}),
                           on_key("pexpire", {"PEXPIRE", queue, "1"}), // it does not exist
                           {"publish", {"PUBLISH", channels + "doctor", ""}, '&' + channels + '*'}};
    if (node.facts.protocol >= 3) // over RESP2 nothing else could be asked afterwards
        all.push_back({"subscribe", {"SUBSCRIBE", channels + "doctor"}, '&' + channels + '*'});
    return all;
}

std::vector<trial> trials_of_readers(std::string const& key)
{
    return {on_key("exists", {"EXISTS", redis::joined_name(key, kind::queue_suffix)}),
            on_key("type", {"TYPE", key}),
            on_key("pexpireat", {"PEXPIREAT", key, "9999999999999"}), // it does not exist
            on_key("zadd", {"ZADD", key, "XX", "0", "none"}),
            on_key("zrem", {"ZREM", key, "none"}),
            on_key("zrange", {"ZRANGE", key, "0", "0"}),
            on_key("zscore", {"ZSCORE", key, "none"}),
            on_key("hget", {"HGET", key, "next"}),                            // permits may hold the name
            on_key("zremrangebyscore", {"ZREMRANGEBYSCORE", key, "1", "0"})}; // no score is between these
}

std::vector<trial> trials_of_leader(std::string const& key)
{
    std::string const leader = redis::joined_name(key, kind::leader_suffix);
    return {on_key("get", {"GET", leader}), on_key("pexpire", {"PEXPIRE", leader, "1"})}; // it does not exist
}

/// A script is refused if it may not use any of its keys, the queue among them.
std::vector<trial> trials_of_permits(std::string const& key)
{
    return {{"eval", {"EVAL", "return 0", "0"}, {}},
            {"evalsha", {"EVALSHA", std::string(40, '0'), "0"}, {}}, // no script has this hash
            on_key("exists", {"EXISTS", redis::joined_name(key, kind::queue_suffix)}),
            on_key("type", {"TYPE", key}),
            on_key("del", {"DEL", key}), // it does not exist
            on_key("pexpireat", {"PEXPIREAT", key, "9999999999999"}),
            on_key("hget", {"HGET", key, "0"}),
            on_key("hmget", {"HMGET", key, "0"}),
            on_key("hgetall", {"HGETALL", key}),
            on_key("hset", {"HSET", key, "0", "none", "1"}), // without a second field's value it sets none
            on_key("hdel", {"HDEL", key, "0"}),
            on_key("hlen", {"HLEN", key}),
            on_key("hkeys", {"HKEYS", key})};
}

std::vector<trial> trials_of_fenced_permits(std::string const& key, std::string const& marker)
{
    std::string const fences = redis::joined_name(key, kind::permit_fences_suffix);
    return {on_key("set", {"SET", fences, "0", "XX", "PX", "1"}), // only if it exists already
            on_key("hmget", {"HMGET", fences, "0"}),
            on_key("hset", {"HSET", fences, "0", "none", "1"}),
            on_key("pexpire", {"PEXPIRE", fences, "1"}),
            on_key("pexpireat", {"PEXPIREAT", fences, "9999999999999"}),
            on_key("get", {"GET", marker})};
}

} // namespace

use_words words_of(lock_use what) noexcept
{
    constexpr std::string_view rights = "rights";
    constexpr std::string_view checklist = "docs/server-checklist.md, \"Rights\"";
    switch (what) {
    case lock_use::queue:
        return {"no-queue", "waiters do not use its queue, or only poll in it",
                "docs/server-checklist.md, \"Rights\"; if no node has a queue, waiters are served in no "
                "promised order"};
    case lock_use::readers: return {rights, "readers and writers of a shared_mutex do not work", checklist};
    case lock_use::several_names: return {rights, "locks of several names do not work", checklist};
    case lock_use::election: return {rights, "elections do not work", checklist};
    case lock_use::permits: return {rights, "semaphores do not work", checklist};
    case lock_use::fenced_permits: return {rights, "fenced semaphores do not work", checklist};
    }
    return {};
}

std::string probe_of(std::string const& lock)
{
    return (lock.empty() ? "" : lock + ':').append(trial_name);
}

std::vector<trial> trials_of(lock_use what, std::string const& key_prefix, std::string const& lock,
                             interview const& node)
{
    std::string const key = key_prefix + probe_of(lock);
    std::string const channels = key_prefix + std::string(kind::channel_name);
    switch (what) {
    case lock_use::queue: return trials_of_queue(redis::joined_name(key, kind::queue_suffix), channels, node);
    case lock_use::readers: return trials_of_readers(key);
    case lock_use::several_names: return {{"exists", {"EXISTS", key}, {}}};
    case lock_use::election: return trials_of_leader(key);
    case lock_use::permits: return trials_of_permits(key);
    case lock_use::fenced_permits:
        return trials_of_fenced_permits(key, redis::joined_name(key_prefix, redis::marker_name));
    }
    return {};
}

void ask_for(lock_use what, questions& all, std::string const& key_prefix, std::string const& lock,
             interview const& node)
{
    for (trial const& one : trials_of(what, key_prefix, lock, node))
        all.ask({one.command.begin(), one.command.end()});
}

} // namespace redlock::cli

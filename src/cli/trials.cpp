#include "cli/trials.hpp"

#include "kind/election.hpp"
#include "kind/semaphore.hpp"
#include "kind/shared.hpp"
#include "redis/command.hpp"

namespace redlock::cli {

namespace {

std::vector<trial> trials_of_readers(std::string const& key)
{
    std::string const gate = redis::name_beside(key, kind::gate_suffix);
    return {{"type", {"TYPE", gate}},
            {"pexpireat", {"PEXPIREAT", gate, "9999999999999"}},
            {"zadd", {"ZADD", gate, "XX", "0", "none"}}, // only where it stands already
            {"zrem", {"ZREM", gate, "none"}},
            {"zrange", {"ZRANGE", gate, "0", "0"}},
            {"zscore", {"ZSCORE", gate, "none"}},
            {"zcard", {"ZCARD", gate}},
            {"zremrangebyscore", {"ZREMRANGEBYSCORE", gate, "1", "0"}}}; // no score is between these
}

std::vector<trial> trials_of_leader(std::string const& key)
{
    std::string const leader = redis::name_beside(key, kind::leader_suffix);
    return {{"get", {"GET", leader}}, {"pexpire", {"PEXPIRE", leader, "1"}}}; // it is not there
}

/// A script is refused if any of its keys is, the line's too.
std::vector<trial> trials_of_permits(std::string const& key)
{
    std::string const slots = redis::name_beside(key, kind::slots_suffix);
    std::string const line = redis::name_beside(key, kind::slot_line_suffix);
    return {{"type", {"TYPE", slots}},
            {"pexpireat", {"PEXPIREAT", slots, "9999999999999"}},
            {"zadd", {"ZADD", slots, "XX", "0", "0"}}, // only where it stands already
            {"zrem", {"ZREM", slots, "0"}},
            {"zrange", {"ZRANGE", slots, "0", "0"}},
            {"zrangebyscore", {"ZRANGEBYSCORE", slots, "1", "0"}},
            {"zscore", {"ZSCORE", slots, "0"}},
            {"zrem", {"ZREM", line, "none"}},
            {"hget", {"HGET", key, "0"}},
            {"hmget", {"HMGET", key, "0"}},
            {"hgetall", {"HGETALL", key}},
            {"hset", {"HSET", key, "0", "none", "1"}}, // without a value for the second field it sets none
            {"hdel", {"HDEL", key, "0"}},
            {"hlen", {"HLEN", key}},
            {"hexists", {"HEXISTS", key, "0"}},
            {"hkeys", {"HKEYS", key}}};
}

std::vector<trial> trials_of_slot_fences(std::string const& key)
{
    return {{"pexpire", {"PEXPIRE", redis::name_beside(key, kind::slot_fences_suffix), "1"}}};
}

} // namespace

std::string_view title_of(beyond what) noexcept
{
    switch (what) {
    case beyond::readers: return "readers and writers of a shared_mutex";
    case beyond::several_names: return "locks of several names";
    case beyond::election: return "elections";
    case beyond::permits: return "semaphores";
    case beyond::fenced_permits: return "fenced semaphores";
    }
    return "";
}

std::string_view page_of(beyond what) noexcept
{
    switch (what) {
    case beyond::readers: return "docs/howto/readers.md";
    case beyond::permits:
    case beyond::fenced_permits: return "docs/howto/semaphores.md";
    default: return "docs/server-checklist.md";
    }
}

std::string probe_of(std::string const& lock)
{
    return lock.empty() ? "redlock-doctor" : lock + ":redlock-doctor";
}

std::vector<trial> trials_of(beyond what, std::string const& key_prefix, std::string const& lock)
{
    std::string const key = key_prefix + probe_of(lock);
    switch (what) {
    case beyond::readers: return trials_of_readers(key);
    case beyond::several_names: return {{"exists", {"EXISTS", key}, false}};
    case beyond::election: return trials_of_leader(key);
    case beyond::permits: return trials_of_permits(key);
    case beyond::fenced_permits: return trials_of_slot_fences(key);
    }
    return {};
}

void ask_for(beyond what, questions& all, std::string const& key_prefix, std::string const& lock)
{
    for (trial const& one : trials_of(what, key_prefix, lock))
        all.ask({one.command.begin(), one.command.end()});
}

} // namespace redlock::cli

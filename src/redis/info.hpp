// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "redis/command.hpp"
#include "redis/resp.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::redis {

/// The part of INFO that decides whether a server may vote. Redis, Valkey and KeyDB write the same names; services and
/// proxies leave some out. Each fact is read alone: if it is missing, or not in a server's form, it is unknown.
struct server_info {
    std::string version{};
    /// How this version compares by itself; empty: it does not, or this is not known.
    std::optional<script_form> native{};
    std::string run_id{}; ///< identifies the process: drawn when it started
    std::optional<std::chrono::seconds> uptime{};
    std::optional<bool> replica{};
    bool loading = false;
    std::optional<bool> cluster{};
    std::string
        replid{}; ///< identifies the data set: drawn anew when its history changes; empty before Redis 4
    bool promoted = false; ///< its data set came from another server, or from an earlier process
    std::optional<bool> may_evict{};
    bool aof = false;
    unsigned replicas = 0; ///< attached to it
    /// How often a replica attached, or attached again.
    std::uint64_t attachments = 0;
    /// The number of replicas that count for `min-replicas-to-write`; empty: the master writes without any, or INFO
    /// does not say.
    std::optional<unsigned> good_replicas{};
    std::vector<std::chrono::seconds>
        replica_silences{}; ///< for each replica, the time since the master heard of it
};

/// Lines with other names are skipped.
[[nodiscard]] server_info parse_info(std::string_view text);

/// How an append-only file is written, as CONFIG GET tells it.
struct append_settings {
    std::optional<bool> append_only{};
    std::optional<bool> fsync_always{};
    std::optional<bool> pauses_on_rewrite{}; ///< `no-appendfsync-on-rewrite`: no fsync during a rewrite
};

/// A pattern that every version of CONFIG GET understands: several in one command need Redis 7.
inline constexpr std::string_view append_settings_pattern = "*append*";

/// Reads a map (RESP3) or an array (RESP2).
[[nodiscard]] append_settings read_append_settings(std::span<resp_node const> reply);

/// Returns the setting with which an acknowledged write can be lost: "appendfsync is not always". Empty: CONFIG shows
/// none.
[[nodiscard]] std::string_view forgetful_setting(append_settings const&);

/// How many replicas a master needs to accept writes, and the silence after which a replica does not count any more.
struct replica_settings {
    unsigned needed = 0;
    std::chrono::seconds longest_silence{};
};

inline constexpr std::string_view replica_settings_pattern = "min-replicas-*";

/// Reads a map (RESP3) or an array (RESP2). Empty if one of the two is missing.
[[nodiscard]] std::optional<replica_settings> read_replica_settings(std::span<resp_node const> reply);

/// Reads the reply to TIME: seconds and microseconds since 1970. Empty if it is not permitted or makes no sense.
[[nodiscard]] std::optional<std::chrono::microseconds> read_time(std::span<resp_node const> reply);

/// The information about a server that a handshake gathers.
struct server_facts {
    int protocol = 2;
    std::optional<server_info> info{}; ///< nothing where INFO is not permitted
    bool replica = false;              ///< as HELLO told it, or INFO
    bool cluster = false;              ///< as HELLO told it, or INFO
    bool role_known = false;           ///< HELLO or INFO told it
    bool durable = false;              ///< as its settings stand, what was answered once survives a crash
    std::string_view forgetful{};      ///< see `forgetful_setting`
    std::optional<std::chrono::microseconds> time{}; ///< its wall clock; nothing where TIME is not permitted
    bool group = false; ///< it is the master of a group that Sentinels watch; then:
    std::optional<replica_settings> replication{}; ///< nothing where CONFIG is not permitted
    unsigned known_replicas = 0;                   ///< as a Sentinel counts them
    std::string master{};                          ///< its address, as a Sentinel tells it
};

/// Identifies one life of one data set: the process, the history of its data, and for a group how often replicas came.
/// Empty if INFO shows neither of the first two.
[[nodiscard]] std::string incarnation(server_facts const&);

/// Is the server a master that accepts writes, by its own account and, in a group, by its contact with its replicas?
[[nodiscard]] bool can_write(server_facts const&);

} // namespace redlock::redis

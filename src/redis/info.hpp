// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "redis/command.hpp"
#include "redis/resp.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::redis {

/// What INFO tells of a server, as far as it decides whether the server may vote. Redis, Valkey and KeyDB write the
/// same names; services and proxies leave some out. Each fact stands alone: what is missing, or is not as a server
/// writes it, is not known.
struct server_info {
    std::string version{};
    /// How this version is told to compare by itself; nothing: it cannot, or is not known to.
    std::optional<script_form> native{};
    std::string run_id{}; ///< of this process: drawn when it started
    std::optional<std::chrono::seconds> uptime{};
    std::optional<bool> replica{};
    bool loading = false;
    std::optional<bool> cluster{};
    std::string replid{};  ///< of this data set: drawn anew when its history changes; empty before Redis 4
    bool promoted = false; ///< in this life its data set was another server's, or another life's
    std::optional<bool> may_evict{};
    bool aof = false;
    unsigned replicas = 0; ///< attached to it
    /// How often one of them came, or came back.
    std::uint64_t attachments = 0;
    /// Of these, so many let it go on writing; nothing: it writes without any, or does not tell.
    std::optional<unsigned> good_replicas{};
    std::vector<std::chrono::seconds>
        replica_silences{}; ///< of those that follow it: since they were heard of last
};

/// INFO is some 5 kB. What is longer is not read.
inline constexpr std::size_t longest_info = std::size_t{64} * 1024;

/// Lines with other names are passed over.
[[nodiscard]] server_info parse_info(std::string_view text);

/// How an append-only file is written, as CONFIG GET tells it.
struct append_settings {
    std::optional<bool> append_only{};
    std::optional<bool> fsync_always{};
    std::optional<bool> pauses_on_rewrite{}; ///< `no-appendfsync-on-rewrite`: no fsync during a rewrite
};

/// A pattern that every version of CONFIG GET understands: several in one command need Redis 7.
inline constexpr std::string_view append_settings_pattern = "*append*";

/// From a map (RESP3) or an array (RESP2).
[[nodiscard]] append_settings read_append_settings(std::span<resp_node const> reply);

/// The setting with which an acknowledged write can be lost: "appendfsync is not always". Empty: CONFIG tells of none.
[[nodiscard]] std::string_view forgetful_setting(append_settings const&);

/// How many replicas a master needs to go on writing, and after which silence one does not count any more.
struct replica_settings {
    unsigned needed = 0;
    std::chrono::seconds longest_silence{};
};

inline constexpr std::string_view replica_settings_pattern = "min-replicas-*";

/// From a map (RESP3) or an array (RESP2). Nothing: it does not tell both.
[[nodiscard]] std::optional<replica_settings> read_replica_settings(std::span<resp_node const> reply);

/// What TIME answers: seconds and microseconds since 1970. Nothing where it was not permitted or makes no sense.
[[nodiscard]] std::optional<std::chrono::microseconds> read_time(std::span<resp_node const> reply);

/// Everything that a handshake learned of a server.
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

/// Names one life of one data set: the process and the history of its data, and of a group how often replicas came. Empty
/// if INFO tells neither of the first two.
[[nodiscard]] std::string incarnation(server_facts const&);

/// Is it a master that takes writes, as it tells and, of a group, as it has heard of its replicas?
[[nodiscard]] bool can_write(server_facts const&);

} // namespace redlock::redis

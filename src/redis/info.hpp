#pragma once

#include "redis/resp.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace redlock::redis {

/// What INFO tells of a server, as far as it decides whether the server may vote. Redis, Valkey and KeyDB write the
/// same names.
struct server_info {
    std::string version{};
    std::string run_id{}; ///< of this process: drawn when it started
    std::chrono::seconds uptime{0};
    bool replica = false;
    bool loading = false;
    bool cluster = false;
    std::string replid{};  ///< of this data set: drawn anew when its history changes; empty before Redis 4
    std::string replid2{}; ///< of the data set before that; empty where there was none
    bool may_evict = false;
    bool aof = false;
};

/// INFO is some 5 kB. What is longer is not read.
inline constexpr std::size_t longest_info = std::size_t{64} * 1024;

/// Lines with other names are passed over. Nothing where the run id, the uptime or the role is missing, or where a line
/// that we read is not as a server writes it: half of the facts could admit a node that the other half would refuse.
[[nodiscard]] std::optional<server_info> parse_info(std::string_view text);

/// How an append-only file is written, as CONFIG GET tells it.
struct append_settings {
    bool fsync_always = false;
    bool pauses_on_rewrite =
        true; ///< `no-appendfsync-on-rewrite`: no fsync while a child writes the file anew
};

/// A pattern that every version of CONFIG GET understands: several in one command need Redis 7.
inline constexpr std::string_view append_settings_pattern = "*appendfsync*";

/// From a map (RESP3) or an array (RESP2). What is not told is not durable.
[[nodiscard]] append_settings read_append_settings(std::span<resp_node const> reply);

/// What TIME answers: seconds and microseconds since 1970. Nothing where it was not permitted or makes no sense.
[[nodiscard]] std::optional<std::chrono::microseconds> read_time(std::span<resp_node const> reply);

/// Everything that a handshake learned of a server.
struct server_facts {
    int protocol = 2;
    std::optional<server_info> info{}; ///< nothing where INFO is not permitted, or not understood
    bool replica = false;              ///< as HELLO told it, or INFO
    bool cluster = false;              ///< as HELLO told it, or INFO
    bool durable = false;              ///< what was answered once survives a crash
    std::optional<std::chrono::microseconds> time{}; ///< its wall clock; nothing where TIME is not permitted
};

/// Names one life of one data set: the process and the history of its data. Empty where INFO told nothing.
[[nodiscard]] std::string incarnation(server_facts const&);

} // namespace redlock::redis

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "redis/resp.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Elections (docs/protocol.md, rules EL1 to EL7).
namespace redlock::kind {

/// The suffix of the key for the leader announcement.
inline constexpr std::string_view leader_suffix = ":redlock-leader";
inline constexpr std::size_t longest_value = std::size_t{4} * 1024;

/// "<term> <revision> <value>".
struct leader_announcement {
    std::uint64_t term = 0;     ///< the leader's fencing token; zero: no leader
    std::uint64_t revision = 0; ///< counts its values: a leader may announce another one
    std::string_view value{};
};

/// The text before the value.
[[nodiscard]] std::string announcement_head(std::uint64_t term, std::uint64_t revision);
/// The greatest length of that text.
inline constexpr std::size_t longest_head = 2 * std::string_view("18446744073709551615 ").size();

/// Reads a node's announcement. Empty: the node gave no answer. Any other text means that the node knows no leader.
[[nodiscard]] std::optional<leader_announcement> read_leader(redis::resp_node const&);

} // namespace redlock::kind

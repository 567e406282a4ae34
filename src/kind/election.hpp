// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "redis/resp.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Who leads (docs/protocol.md, rules EL1 to EL7).
namespace redlock::kind {

/// Beside an election's lock stands who leads.
inline constexpr std::string_view leader_suffix = ":redlock-leader";
inline constexpr std::size_t longest_value = std::size_t{4} * 1024;

/// "<term> <revision> <value>".
struct proclamation {
    std::uint64_t term = 0;     ///< the leader's fencing token; zero: nobody leads
    std::uint64_t revision = 0; ///< of its value: a leader may proclaim another
    std::string_view value{};
};

/// What stands before the value.
[[nodiscard]] std::string proclamation_head(std::uint64_t term, std::uint64_t revision);
/// The longest of them.
inline constexpr std::size_t longest_head = 2 * std::string_view("18446744073709551615 ").size();

/// What a node has. Nothing: it does not say. What is no proclamation says of nobody that it leads.
[[nodiscard]] std::optional<proclamation> read_leader(redis::resp_node const&);

} // namespace redlock::kind

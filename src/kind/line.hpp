#pragma once

#include <chrono>
#include <optional>
#include <string_view>

// The line of those who wait for a lock (docs/protocol.md, rules L1 to L15).
namespace redlock::kind {

/// Beside a lock's key stands its line.
inline constexpr std::string_view line_suffix = ":redlock-line";
/// With a client's prefix before it and random text behind, what a connection is called on.
inline constexpr std::string_view channel_name = "redlock-to:";
/// A line that nobody enters is forgotten. Who stands in it says so again in a third of that time.
inline constexpr std::chrono::milliseconds line_life{60'000};
inline constexpr unsigned longest_line = 4096;

/// What is said on a channel.
struct call {
    std::string_view nonce{}; ///< whom it is for
    bool take = false;        ///< the lock is handed to him; otherwise: he is the first in line now
    std::string_view giver{}; ///< take: the nonce that was given up for it; empty: the lock was free
};

/// "take <nonce> <giver>", "first <nonce>". Nothing: something else.
[[nodiscard]] std::optional<call> read_call(std::string_view text);

} // namespace redlock::kind

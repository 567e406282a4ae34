// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
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

/// What stands in a line behind a nonce.
/// \param window so long the lock is kept for whom it is handed to; has seven digits
[[nodiscard]] std::string place(std::chrono::milliseconds window, std::string_view channel);
inline constexpr std::chrono::milliseconds longest_window{9'999'999};

/// What is said on a channel.
struct call {
    enum class word : std::uint8_t {
        take,  ///< the lock is handed to him
        first, ///< he is the first in line now
        free,  ///< he is the first in line, and lets those have the lock who do not stand there
    };
    word what{};
    std::string_view nonce{}; ///< whom it is for
    std::string_view giver{}; ///< the nonce that was given up; empty: the lock was free
    std::string_view slots{}; ///< of a semaphore, those that he has
    /// take: for so long the lock has passed from one to the next; first: the key lives on; free: the lock is left free
    std::chrono::microseconds time{};
};

/// "take <nonce> <microseconds> <giver> <slots>", "first <nonce> <milliseconds>", "free <nonce> <microseconds> <giver>". Nothing:
/// something else.
[[nodiscard]] std::optional<call> read_call(std::string_view text);

} // namespace redlock::kind

// SPDX-License-Identifier: BSL-1.0
// rule Q1
#pragma once

#include "kind/kind.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The queue of the clients that wait for a lock (docs/protocol.md, "The queue").
namespace redlock::kind {

/// The suffix of the key of a lock's queue.
inline constexpr std::string_view queue_suffix = ":redlock-queue";
/// Between a client's prefix and random text, the name of the channel on which a connection is called.
inline constexpr std::string_view channel_name = "redlock-to:";
/// A queue that no waiter enters expires. A waiter asks again after a third of that time.
inline constexpr std::chrono::milliseconds queue_life{60'000};
inline constexpr unsigned longest_queue = 4096;

/// Returns the text of a position in the queue.
/// \param window how long the lock is kept for the waiter when it is called: 1 ms to `longest_window`
/// \param terms the lock's; only waiters for permits tell them
/// \param channel on which the waiter is called; empty: it polls
[[nodiscard]] std::string position(std::string_view nonce, waiter_kind, std::chrono::milliseconds window,
                                   std::string_view terms, std::string_view channel);
inline constexpr std::chrono::milliseconds longest_window{9'999'999};

/// A waiter, as its position describes it.
struct waiter {
    waiter_kind kind;
    permits wanted; ///< empty for other kinds than permits
};
/// Reads a position. Empty if this version cannot read it.
[[nodiscard]] std::optional<waiter> read_position(std::string_view position);

/// A message on a channel.
struct call {
    enum class word : std::uint8_t {
        take,  ///< the lock is handed to the waiter
        first, ///< the waiter is the first in the queue now
        free,  ///< the waiter is the first in the queue, and lets unqueued clients have the lock
    };
    word what{};
    std::string_view nonce{};          ///< the waiter's
    std::string_view previous_owner{}; ///< the nonce that was given up; empty: the lock was free
    std::string_view permits{};        ///< the waiter's permits of a semaphore
    /// take: how long the lock has passed from one owner to the next; first: the time until the key expires; free: how
    /// long the lock is left free
    std::chrono::microseconds time{};
};

/// "take <nonce> <microseconds> <previous owner> <permits>", "first <nonce> <milliseconds>", "free <nonce>
/// <microseconds> <previous owner>". Empty: another message.
[[nodiscard]] std::optional<call> read_call(std::string_view text);

} // namespace redlock::kind

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kind/kind.hpp"

#include <chrono>
#include <string>
#include <string_view>

// The queue of waiters for a lock.
namespace redlock::kind {

/// Stands behind the lock's key.
inline constexpr std::string_view queue_suffix = ":redlock-queue";

/// How a waiter wants the lock.
enum class waiter_kind : char { exclusive = 'x', shared = 'r', permits = 'p' };

/// Returns the text of a position in the queue.
/// \param window how long the lock is kept for the waiter when it is called: 1 ms to `longest_window`
/// \param wanted of other kinds than permits: nothing
/// \param channel on which the waiter is called; empty: it polls
[[nodiscard]] std::string position(std::string_view nonce, waiter_kind, std::chrono::milliseconds window,
                                   permits wanted, std::string_view channel);

} // namespace redlock::kind

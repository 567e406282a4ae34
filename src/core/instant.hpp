// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <chrono>

namespace redlock::core {

using duration = std::chrono::nanoseconds;

/// A reading of two clocks at once: the first counts the time a machine spends suspended, the second is not slewed by
/// time synchronisation. Whichever ran further counts, so neither can lengthen a lease (docs/protocol.md, rule H2).
struct instant {
    duration boot{}; ///< CLOCK_BOOTTIME
    duration raw{};  ///< CLOCK_MONOTONIC_RAW

    friend constexpr bool operator==(instant const&, instant const&) = default;
    friend constexpr instant operator+(instant at, duration d) { return {at.boot + d, at.raw + d}; }
    friend constexpr instant operator-(instant at, duration d) { return {at.boot - d, at.raw - d}; }
};

// rule H2
constexpr duration elapsed(instant from, instant to)
{
    return std::max(to.boot - from.boot, to.raw - from.raw);
}

/// By the clock that gained less.
constexpr duration elapsed_at_least(instant from, instant to)
{
    return std::min(to.boot - from.boot, to.raw - from.raw);
}

/// Negative once the deadline has passed on either clock.
constexpr duration remaining(instant deadline, instant now)
{
    return -elapsed(deadline, now);
}

constexpr bool reached(instant deadline, instant now)
{
    return remaining(deadline, now) <= duration::zero();
}

/// Has it passed on both clocks? For waits that must not end too early (rule N4).
constexpr bool surely_reached(instant deadline, instant now)
{
    return elapsed_at_least(deadline, now) >= duration::zero();
}

/// Does a come before b? Two future moments can only be compared from now: one that was computed before a suspension
/// and one that was computed after it differ on one of the clocks.
constexpr bool sooner(instant a, instant b, instant now)
{
    return remaining(a, now) < remaining(b, now);
}

} // namespace redlock::core

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>

namespace redlock::detail {

/// A longer wait is as good as this one, and arithmetic with this one cannot overflow.
inline constexpr std::chrono::hours longest_wait{24 * 365 * 100};

/// Limits a wait to between zero and `longest_wait`.
template <class Rep, class Period>
std::chrono::nanoseconds bounded_wait(std::chrono::duration<Rep, Period> limit)
{
    using seconds = std::chrono::duration<double>; // no unit overflows in it
    if (seconds(limit) > seconds(longest_wait))
        return longest_wait;
    return limit > limit.zero() ? std::chrono::ceil<std::chrono::nanoseconds>(limit)
                                : std::chrono::nanoseconds::zero();
}

/// The time until `deadline`. The difference is taken only if it fits the clock's type.
template <class Clock, class Duration>
std::chrono::nanoseconds wait_until(std::chrono::time_point<Clock, Duration> deadline)
{
    auto const now = Clock::now();
    auto const about_now = std::chrono::floor<Duration>(now);
    if (deadline <= about_now)
        return std::chrono::nanoseconds::zero();
    return deadline - about_now > std::chrono::duration_cast<Duration>(longest_wait)
               ? std::chrono::nanoseconds(longest_wait)
               : bounded_wait(deadline - now);
}

} // namespace redlock::detail

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>

namespace redlock::test {

/// While this object lives, the clocks that count from the machine's start stand still, and advance only when told to.
/// One at a time.
///
/// Asio's timers run as ever: one that fires early finds that nothing is due, and is armed again. So a pause ends when
/// the test has said that its time is over, and a moment later; and not before.
class held_clock {
public:
    held_clock();
    ~held_clock();
    held_clock(held_clock const&) = delete;
    held_clock& operator=(held_clock const&) = delete;

    void advance(std::chrono::nanoseconds);
    /// The machine sleeps: CLOCK_BOOTTIME alone goes on (clock_gettime(2)).
    void suspend(std::chrono::nanoseconds);
    /// Time synchronisation holds back what it can: CLOCK_MONOTONIC_RAW alone goes on.
    void advance_while_others_are_slewed(std::chrono::nanoseconds);
};

/// The first base of a fixture whose other bases read the clock when they are made.
struct held_clock_base {
    held_clock clock;
};

} // namespace redlock::test

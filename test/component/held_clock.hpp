#pragma once

#include <chrono>

namespace redlock::test {

/// As long as it lives, the clocks that the library reckons on stand still, and go on when told to. One at a time.
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
};

} // namespace redlock::test

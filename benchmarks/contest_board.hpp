// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::bench {

/// One process of a contest, as all other ones see it. With one contender it either waits or holds.
struct seat {
    std::atomic<bool> holding{false};
    std::atomic<std::uint64_t> asked_after{0}; ///< number of leases before it began to wait
    std::atomic<std::uint64_t> leases{0};      ///< leases among those measured
};

/// The memory that all processes of a contest share.
struct board {
    static constexpr std::size_t most = 1 << 20;
    static constexpr std::size_t most_processes = 256;

    std::atomic<std::int64_t> released_at{0}; ///< when the last release began
    std::atomic<std::uint64_t> tenures{0};
    std::atomic<unsigned> last{0}; ///< process that had it
    std::atomic<std::size_t> again{
        0}; ///< leases, of those measured, that went to the process that had just had it
    std::atomic<unsigned> inside{0}; ///< leases
    std::atomic<unsigned> overlaps{0};
    std::atomic<unsigned> failures{0}; ///< operations that ended without a lease and should not have
    std::atomic<unsigned> ready{0};
    std::atomic<bool> go{false};
    std::atomic<bool> measuring{false};
    std::atomic<bool> stop{false};
    std::atomic<std::size_t> samples{0};
    std::array<seat, most_processes> seats{};
    // One element for each lease that was measured, in the order of the grants.
    std::uint32_t hand_off_ns[most] = {};
    std::uint32_t tenures_waited[most] = {};
    std::uint32_t waited_us[most] = {};
    std::uint16_t process[most] = {};
};

/// CLOCK_MONOTONIC, the same in all processes.
inline std::int64_t now_ns()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

} // namespace redlock::bench

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "contest_board.hpp"
#include "processes.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace redlock::bench {

/// How contenders come to the lock.
enum class manner : std::uint8_t {
    line,   ///< queued with other processes
    turns,  ///< without the queue: all hear that the lock is free, and ask in sequence
    mixed,  ///< processes with an even number are queued, the other ones not
    polling ///< try_acquire, and a random pause
};

/// The mishap of a quarter of the processes, one after another, while they wait.
enum class trouble : std::uint8_t { none, killed, paused };

struct contest {
    std::size_t nodes = 3;
    unsigned processes = 1;
    unsigned each = 1; ///< contenders in one process
    manner how = manner::line;
    trouble with = trouble::none;
    std::chrono::microseconds poll_pause{20'000}; ///< at most
    std::chrono::microseconds hold{1'000};
    std::chrono::microseconds delay{0}; ///< one way, between clients and servers; 0: none, bare loopback
    bool all_cpus = false; ///< nothing is pinned; otherwise all servers share one CPU and all clients another
    std::chrono::duration<double> window{3};
};

[[nodiscard]] std::string name(contest const& what);

/// Processes of one manner.
struct half {
    double share = 0;              ///< part of the leases
    std::vector<double> waited_ms; ///< sorted
};

struct outcome {
    double per_second = 0;
    double sent_each = 0;     ///< commands that clients sent, a lease; 0: nobody counted them
    double executed_each = 0; ///< commands that servers executed, those inside scripts included
    unsigned overlaps = 0;
    unsigned failures = 0;
    double least_share = 0; ///< leases of the process that had fewest, over an even share
    double most_share = 0;
    double again = 0;                ///< share of leases that went to the process that had just had it
    std::vector<double> hand_off_us; ///< these sorted
    std::vector<double> waited;
    std::vector<double> waited_ms;
    half queued; ///< for a mixed contest
    half unqueued;
    unsigned troubled = 0;     ///< processes that were killed or paused
    unsigned as_holders = 0;   ///< processes among these that had held the lock: then the figures are void
    double worst_after_us = 0; ///< longest hand-off until all that waited at a mishap had a lease
    double worst_else_us = 0;  ///< longest other one
    unsigned over_half_window = 0; ///< hand-offs of more than half the claim window
};

/// Returns a quantile of sorted values.
[[nodiscard]] double at(std::vector<double> const& sorted, double share);

[[nodiscard]] outcome run(contest const& what, placement const& cpus);

/// One quorum round of an idle client on the contest's servers: the unit of the hand-offs.
[[nodiscard]] double round_us(contest const& what, placement const& cpus);

// The work of the processes (contenders.cpp).
void compete(std::vector<std::uint16_t> const& ports, contest const& what, unsigned process, board& seen);
[[nodiscard]] double idle_round_us(std::vector<std::uint16_t> const& ports, int times);

} // namespace redlock::bench

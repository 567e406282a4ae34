#pragma once

#include "model/schedule.hpp"

#include <chrono>
#include <cstdint>

namespace redlock::model {

/// What many schedules found, and how often each fault struck.
struct campaign {
    fault_counts faults{};
    std::uint64_t schedules = 0;
    std::uint64_t events = 0;
    std::uint64_t grants = 0;
    std::uint64_t extensions = 0;
    std::uint64_t losses = 0;
    std::uint64_t replayed = 0;
    micros longest_wait = 0;
    micros longest_gap = 0;
    micros longest_guessed_gap = 0;
    micros longest_late_gap = 0;
    std::uint64_t words = 0;
    std::uint64_t hand_overs = 0;
    std::uint64_t turns = 0;
    std::uint64_t pauses = 0;
    double virtual_days = 0;
    breach flaw = breach::none;
    std::uint64_t seed = 0; ///< of the flaw
    bool same_twice = true;
    std::chrono::milliseconds took{};
};

/// From this seed on, until so many have run or one has found a flaw. Every hundredth runs twice.
campaign run_schedules(std::uint64_t first_seed, std::uint64_t count, theme = theme::faults);
/// What happened in one of them.
std::string story(std::uint64_t seed, theme = theme::faults);

} // namespace redlock::model

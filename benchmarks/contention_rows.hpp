// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "contest.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace redlock::bench {

/// Rows are all combinations of these.
struct choice {
    std::vector<std::string> rows{"line"}; ///< line, turns, mixed, polling, killed, paused
    std::vector<unsigned> nodes{3};
    std::vector<unsigned> processes{4};
    std::vector<unsigned> each{1};
    std::vector<unsigned> hold_us{1'000};
    std::vector<unsigned> delay_us{450};
    std::vector<unsigned> cpus{1}; ///< for the servers: 1, or 2, and then nothing is pinned
    std::vector<unsigned> poll_pause_us{20'000};
};

struct plan {
    std::vector<contest> contests;
    std::string json;
};

[[nodiscard]] std::vector<contest> contests(choice const& of);

/// Without arguments the usual rows. Empty, with a message on stderr, if the arguments are wrong.
[[nodiscard]] std::optional<plan> parse_plan(std::vector<std::string> const& arguments);

} // namespace redlock::bench

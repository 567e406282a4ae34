// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "contest.hpp"

namespace redlock::bench {

/// How long the first position may take to claim a lock that was handed to it, with rounds of some milliseconds or less
/// (rule Q16).
constexpr double claim_window_us = 50'000;

struct mishap {
    unsigned process = 0;
    std::size_t before_sample = 0; ///< the first lease that was granted afterwards
    bool held = false;             ///< it was no waiter
};

/// Waits for the contest's window, and kills or pauses what the contest asks for meanwhile.
[[nodiscard]] std::vector<mishap> pass_window(contest const& what, board& seen,
                                              std::vector<std::unique_ptr<child>> const& all);

/// Resumes all processes that were paused.
void resume(std::vector<std::unique_ptr<child>> const& all, std::vector<mishap> const& mishaps);

} // namespace redlock::bench

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"

#include <algorithm>
#include <deque>
#include <utility>

namespace redlock::simulation {

using core::duration;

/// How far a server's wall clock may still be set forward without breaking condition C1: while a key lives, its steps
/// together must stay below the slack.
class step_budget {
public:
    /// \param most together, within `life`
    /// \returns what was taken of it: `wanted` at most
    duration take(duration wanted, duration most, duration life, duration now)
    {
        while (!steps_.empty() && now - steps_.front().first > life)
            steps_.pop_front();
        duration left = most;
        for (auto const& [when, by] : steps_)
            left -= by;
        duration const taken = std::max(std::min(wanted, left), duration::zero());
        steps_.emplace_back(now, taken);
        return taken;
    }

private:
    std::deque<std::pair<duration, duration>> steps_;
};

} // namespace redlock::simulation

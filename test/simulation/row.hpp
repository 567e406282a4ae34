// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"

#include <chrono>

namespace redlock::simulation {

using core::duration;

/// One client's leases of a lock, one after the other, that it has not left alone in between (rule W5).
class row {
public:
    /// \returns how long the row has lasted when this lease begins
    duration granted(unsigned host, duration now)
    {
        if (host != whose_ || now - left_ >= shortest_turn)
            began_ = now;
        whose_ = host;
        return now - began_;
    }
    void ended(duration now) { left_ = now; }

private:
    /// 2 ms on a clock that is as slow as C2 allows, with the time that its ticks take.
    static constexpr duration shortest_turn = std::chrono::microseconds{1900};

    unsigned whose_ = ~0U;
    duration began_{};
    duration left_{};
};

} // namespace redlock::simulation

// SPDX-License-Identifier: BSL-1.0
// rule W2
#pragma once

#include "core/backoff.hpp"
#include "core/instant.hpp"

#include <chrono>

namespace redlock::core {

/// How long an operation without a position in the queue waits before it votes again (docs/protocol.md, rule W2).
class vote_pause {
public:
    struct pace {
        duration first; ///< the bound of the first pause; it doubles with each refusal
        duration longest;
        duration round_trip;
    };

    /// Other operations were refused at the same moment: chance separates them.
    void begin(instant now, pace const& its, unsigned refusals, random_fraction chance)
    {
        its_ = its;
        at_ = now + full_jitter(refusals, its.first, its.longest, chance);
    }
    /// Other clients get their chance first, for a time.
    void begin(instant now, pace const& its, duration time)
    {
        its_ = its;
        at_ = now + time;
    }
    /// The rendezvous node keeps the key for this time. Keys that were set together end a moment later.
    void found_held(duration left, instant now, random_fraction chance)
    {
        vote_by(now + left + settling_time, now, chance);
    }
    /// The key is gone there, or has changed.
    void changed(instant now, random_fraction chance) { vote_by(now, now, chance); }

    [[nodiscard]] instant at() const { return at_; }

private:
    static constexpr duration settling_time = std::chrono::milliseconds{2};

    /// All waiters hear of the same moment, and the first of them needs a round trip to react to it.
    void vote_by(instant at, instant now, random_fraction chance)
    {
        instant const mine = at + scale(its_.round_trip, chance);
        if (sooner(mine, at_, now))
            at_ = mine;
    }

    pace its_{};
    instant at_{};
};

} // namespace redlock::core

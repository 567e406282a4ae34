// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/backoff.hpp"
#include "core/instant.hpp"
#include "core/tally.hpp"

#include <chrono>
#include <optional>

namespace redlock::core {

/// When one who was refused a lock of readers and writers asks all nodes again (docs/protocol.md, rule P7).
class gate_wait {
public:
    struct pace {
        duration round_trip;
        duration mark; ///< how long a mark counts: it is left anew in half of that
    };
    struct refusal {
        std::optional<duration> free_in{}; ///< a majority's keys are gone then, as far as they were told
        node_set granted{};                ///< nodes that had, too few of them
    };

    /// For somebody new.
    void start(unsigned nodes)
    {
        nodes_ = nodes;
        collisions_ = 0;
    }
    /// Others may go first until then.
    void leave_alone(instant until)
    {
        changed_ = {};
        not_before_ = due_ = until;
    }
    void refused(instant now, pace const& how, refusal const& said, random_fraction chance)
    {
        changed_ = said.granted;
        bool const crossed = !said.granted.empty();
        collisions_ = crossed ? collisions_ + 1 : 0;
        not_before_ = now;
        if (crossed)
            not_before_ =
                now + full_jitter(collisions_, 2 * how.round_trip, longest_dodge * how.round_trip, chance);
        due_ = now + half_jitter(0, how.mark / 2, how.mark / 2, chance);
        if (said.free_in)
            ask_by(now + *said.free_in + settling_time, now);
    }
    /// What stood there when it was refused does not any more. On fewer than a majority others come and go who get it no more
    /// than we do: if each of them woke us, and we them, nobody would rest.
    void changed(unsigned node, instant now)
    {
        changed_.insert(node);
        if (changed_.size() >= majority(nodes_))
            ask_by(now, now);
    }
    [[nodiscard]] instant due() const { return due_; }

private:
    static constexpr duration settling_time = std::chrono::milliseconds{2};
    static constexpr int longest_dodge = 32; ///< of the pause after votes that crossed, in round trips

    void ask_by(instant then, instant now)
    {
        if (sooner(then, not_before_, now))
            then = not_before_;
        if (sooner(then, due_, now))
            due_ = then;
    }

    unsigned nodes_ = 0;
    unsigned collisions_ = 0; ///< votes in a row that others crossed
    node_set changed_;        ///< nodes that may be free
    instant not_before_{};
    instant due_{};
};

} // namespace redlock::core

// SPDX-License-Identifier: BSL-1.0
// rule Q19
#pragma once

#include "core/instant.hpp"

#include <algorithm>
#include <cstdint>

namespace redlock::core {

/// How long a lock has passed from one owner to the next without a moment in which an unqueued client could take it,
/// and when the next such moment is (docs/protocol.md, rule Q19).
class passage {
public:
    /// A window is owed when the lock has passed on for this many times the window's length. So windows cost the queue
    /// less than one percent.
    static constexpr int lengths_until_owed = 128;

    /// A lease has begun.
    void granted(instant now)
    {
        if (now_ != phase::passing)
            begin(phase::passing, now.boot);
    }
    /// Another client passes the lock on, and says for how long it has passed.
    void continued(duration passed, instant now) { begin(phase::passing, now.boot - passed); }
    /// Unqueued clients could have had it, or had it.
    void interrupted()
    {
        if (now_ == phase::passing)
            now_ = phase::unknown;
    }
    /// Unqueued clients may take the lock until then.
    void left_free(instant until) { begin(phase::free, until.boot); }

    [[nodiscard]] duration lasted(instant now) const
    {
        return now_ == phase::passing ? now.boot - at_ : duration::zero();
    }
    /// Leaves it free for a turn if one is owed.
    void open_window(duration least, duration window, instant now)
    {
        if (owes_window(least, window, now))
            left_free(now + window);
    }
    /// \param least that the passage may last
    [[nodiscard]] bool owes_window(duration least, duration window, instant now) const
    {
        duration const so_far = lasted(now);
        return so_far >= least && so_far >= lengths_until_owed * window;
    }
    /// Returns for how long it is still left free.
    [[nodiscard]] duration free_for(instant now) const
    {
        return now_ == phase::free ? std::max(at_ - now.boot, duration::zero()) : duration::zero();
    }
    [[nodiscard]] bool is_left_free(instant now) const { return free_for(now) > duration::zero(); }

private:
    enum class phase : std::uint8_t { unknown, passing, free };

    void begin(phase what, duration at)
    {
        now_ = what;
        at_ = at;
    }

    duration at_{}; ///< since when, or until when, on CLOCK_BOOTTIME
    phase now_ = phase::unknown;
};

} // namespace redlock::core

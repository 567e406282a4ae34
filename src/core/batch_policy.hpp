// SPDX-License-Identifier: BSL-1.0
// rule W5
#pragma once

#include "core/instant.hpp"

#include <algorithm>
#include <cstdint>

namespace redlock::core {

/// How long one client may keep a lock among its own waiters before those of other clients can get it
/// (docs/protocol.md, rule W5). The client does not know whether there are others. Therefore it opens a window for
/// them, and does so less often while no other client uses it.
class batch_policy {
public:
    struct terms {
        unsigned batch;  ///< leases in a row
        duration period; ///< time in a row
    };

    /// Leases in a row are at most this many times `batch`, while no other client appears.
    static constexpr unsigned max_stretch = 64;

    /// The kind of this client's next owner: an operation that has waited, or one that has just started. If there are
    /// rivals, the latter lets them go first.
    enum class next : std::uint8_t { waiting, coming };
    /// May this operation have the lock at once?
    [[nodiscard]] bool may_go_on(terms const& t, next who, instant now) const
    {
        if (count_ == 0)
            return true;
        bool const overtakes = who == next::coming && has_rivals();
        return !overtakes && count_ < std::uint64_t{t.batch} * stretch_ &&
               lasted_ + (now.boot - noted_) < t.period;
    }

    /// Did other clients take the last open window?
    [[nodiscard]] bool has_rivals() const { return met_; }

    /// A lease has begun here, won or by a local handoff.
    void granted(instant now)
    {
        lasted_ = count_ == 0 ? duration::zero() : lasted_ + (now.boot - noted_);
        noted_ = now.boot;
        ++count_;
    }

    /// The last lease has ended.
    void ended(instant now)
    {
        lasted_ += now.boot - noted_;
        noted_ = now.boot;
    }
    /// The next owner comes. Returns whether other clients had a window since the last lease.
    [[nodiscard]] bool look(instant now, duration window)
    {
        bool const paused = now.boot - noted_ >= window;
        if (paused)
            count_ = 0;
        return paused;
    }

    /// The window was open and no other client took the lock.
    void nobody_came()
    {
        stretch_ = static_cast<std::uint8_t>(std::min(stretch_ * 2U, max_stretch));
        count_ = 0;
        met_ = false;
    }
    /// The window was open, and nobody has looked who came.
    void begin_anew() { count_ = 0; }
    /// Another client has the lock.
    void somebody_came()
    {
        stretch_ = 1;
        count_ = 0;
        met_ = true;
    }

private:
    duration lasted_{}; ///< how long the leases in a row lasted, until `noted_`
    duration noted_{};  ///< on CLOCK_BOOTTIME
    unsigned count_ = 0;
    std::uint8_t stretch_ = 1;
    bool met_ = false; ///< other clients appeared
};

} // namespace redlock::core

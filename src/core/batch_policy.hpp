// SPDX-License-Identifier: BSL-1.0
// rule W5
#pragma once

#include "core/instant.hpp"

#include <algorithm>
#include <cstdint>

namespace redlock::core {

/// How long one client may keep a lock among its own waiters before those of other clients get their turn
/// (docs/protocol.md, rule W5). Nobody tells whether there are others; so the turn is offered, and it is offered less
/// often while nobody takes it.
class batch_policy {
public:
    struct terms {
        unsigned batch;  ///< leases in a row
        duration period; ///< time in a row
    };

    /// Leases in a row are at most this many times `batch`, while nobody else shows up.
    static constexpr unsigned max_stretch = 64;

    /// Who comes next of this client: somebody who has waited, or who has just come. Where rivals are known, the latter
    /// lets them go first.
    enum class next : std::uint8_t { waiting, coming };
    /// May he have the lock at once?
    [[nodiscard]] bool may_go_on(terms const& t, next who, instant now) const
    {
        if (count_ == 0)
            return true;
        bool const overtakes = who == next::coming && has_rivals();
        return !overtakes && count_ < std::uint64_t{t.batch} * stretch_ &&
               lasted_ + elapsed(noted_, now) < t.period;
    }

    /// Were others met the last time?
    [[nodiscard]] bool has_rivals() const { return met_; }

    /// A lease has begun here, won or handed over.
    void granted(instant now)
    {
        lasted_ = count_ == 0 ? duration::zero() : lasted_ + elapsed(noted_, now);
        noted_ = now;
        ++count_;
    }

    /// The last one has ended; who does not follow within `turn` leaves others their chance.
    void ended(instant now)
    {
        lasted_ += elapsed(noted_, now);
        noted_ = now;
    }
    [[nodiscard]] bool paused(instant now, duration turn) const { return elapsed(noted_, now) >= turn; }
    void look(instant now, duration turn)
    {
        if (paused(now, turn))
            count_ = 0;
    }

    /// The turn was offered and nobody took it.
    void nobody_came()
    {
        stretch_ = static_cast<std::uint8_t>(std::min(stretch_ * 2U, max_stretch));
        count_ = 0;
        met_ = false;
    }
    /// Somebody else has the lock.
    void somebody_came()
    {
        stretch_ = 1;
        count_ = 0;
        met_ = true;
    }

private:
    duration lasted_{}; ///< the leases in a row, until then
    instant noted_;
    unsigned count_ = 0;
    std::uint8_t stretch_ = 1;
    bool met_ = false; ///< other clients
};

} // namespace redlock::core

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"

#include <algorithm>
#include <cstdint>

namespace redlock::core {

/// Whom clients that wait for one lock let go first: those who have waited longer (docs/protocol.md, rule W5). Nobody tells
/// who waits; but all see the same owners come and go, so the number of them that a client has met since its own last lease
/// is its place among the others. A wrong guess costs a pause, never a lease.
class fairness {
public:
    /// Who has met as many others lets nobody go first.
    static constexpr unsigned places = 16;

    /// Somebody else was found to have the lock who was not found before.
    void another_had_it() { since_ = static_cast<std::uint8_t>(std::min(since_ + 1U, places)); }

    /// A lease of our own has begun: who has not come by then does not wait.
    void granted()
    {
        expected_ = since_;
        since_ = 0;
    }

    /// How long to leave the lock alone when it becomes free. Not at all if as many have had it as the last time; otherwise
    /// it depends on our place alone, so that of two clients with different expectations the one who has met fewer waits.
    [[nodiscard]] duration yield_delay(duration most) const
    {
        return since_ >= expected_ ? duration::zero() : most * (places - since_) / places;
    }

private:
    std::uint8_t expected_ = 0;
    std::uint8_t since_ = 0;
};

} // namespace redlock::core

#pragma once

#include "core/instant.hpp"

#include <algorithm>

namespace redlock::core {

/// Whom clients that wait for one lock let go first: those who have waited longer (docs/protocol.md, rule W5). Nobody tells
/// how many wait; each client counts the owners that it meets between two leases of its own, and expects as many the next
/// time. A wrong guess costs a pause, never a lease.
class precedence {
public:
    static constexpr unsigned most_others = 64;

    /// Somebody else was found to have the lock who was not found before.
    void another_had_it() { since_ = std::min(since_ + 1, most_others); }

    /// A lease of our own has begun: who has not come by then does not wait.
    void granted()
    {
        expected_ = since_;
        since_ = 0;
    }

    /// How long to leave the lock alone when it is free: a step for each of the others whose turn is before ours.
    [[nodiscard]] duration courtesy(duration step, duration most) const
    {
        return since_ >= expected_ ? duration::zero() : std::min(step * (expected_ - since_), most);
    }

private:
    unsigned expected_ = 0;
    unsigned since_ = 0;
};

} // namespace redlock::core

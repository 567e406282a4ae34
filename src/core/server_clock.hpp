// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"

#include <cstddef>
#include <deque>
#include <optional>

namespace redlock::core {

/// Finds out how far a server's wall clock, by which keys expire, has certainly been set forward (docs/protocol.md,
/// rule N7).
///
/// The difference of the two clocks lies in an interval, of which only the upper end is kept: the furthest that the
/// server's clock can be ahead. The lower end is not needed, because a clock that was set back only keeps keys alive
/// for longer.
class server_clock {
public:
    /// Beyond this number the two oldest steps become one, which is dated by the later of them.
    static constexpr std::size_t most_steps = 64;

    /// The server has read `theirs` off its clock between two of our moments.
    /// \return the steps that were noticed within the last `memory`, together: small ones add up while one key lives
    [[nodiscard]] duration observe(duration theirs, instant sent, instant received, duration memory);

    /// The client has drawn the consequences of the steps noticed so far.
    void settle() { steps_.clear(); }

private:
    struct reading {
        duration theirs; ///< or earlier
        instant at;
    };
    struct step {
        duration by;
        instant noticed;
    };

    [[nodiscard]] duration furthest(instant at) const;
    void remember(step);

    std::optional<reading> bound_;
    std::deque<step> steps_;
};

} // namespace redlock::core

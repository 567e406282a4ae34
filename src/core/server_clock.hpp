// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"

#include <cstddef>
#include <deque>
#include <optional>

namespace redlock::core {

/// What a client can tell of a server's wall clock, on which keys expire: by how much it has certainly been set forward
/// (docs/protocol.md, rule N7).
///
/// Of the interval in which the two clocks' difference lies only the upper end is kept: the furthest that the server's
/// clock can have got. Nobody asks for the lower end, because a clock that was set back only keeps keys alive for longer.
class server_clock {
public:
    /// More are counted as if they had been made later.
    static constexpr std::size_t most_steps = 64;

    /// The server has read `theirs` off its clock at a moment between two of ours.
    /// \return the steps that were noticed within the last `memory`, together: small ones add up while one key lives
    [[nodiscard]] duration observe(duration theirs, instant sent, instant received, duration memory);

    /// The steps noticed so far have been answered for.
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

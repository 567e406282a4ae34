// SPDX-License-Identifier: BSL-1.0
// rule Q8
#pragma once

#include "core/instant.hpp"

#include <optional>

namespace redlock::core {

/// Decides how often a refused claim is sent again. The claim keeps its nonce, its deadline and the moment from which the
/// deadline counts; `attempt::ask_again` tells which nodes get it.
class claim {
public:
    /// \param sent the clocks before the first byte of the claim was sent
    /// \param window for which the lock is kept for the claim on the queue node
    /// \param round_trip to the nodes, as far as it is known
    claim(instant sent, duration window, duration round_trip)
        : ends_(sent + window), round_trip_(round_trip), pause_(round_trip / 2)
    {}

    /// Returns when to send the claim again, if one more round fits into the window. The first pause is half a round trip:
    /// the releases that are in the way reach all nodes in that time. The following pauses are 1, 2, 4 ... round trips.
    std::optional<instant> send_again(instant now)
    {
        instant const then = now + pause_;
        if (reached(ends_, then + round_trip_))
            return std::nullopt;
        pause_ *= 2;
        return then;
    }

private:
    instant ends_;
    duration round_trip_;
    duration pause_;
};

} // namespace redlock::core

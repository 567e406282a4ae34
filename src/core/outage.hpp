// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "core/tally.hpp"

#include <optional>

namespace redlock::core {

/// Counts the nodes by what their answers to a failed attempt mean for the next one.
struct node_census {
    unsigned nodes = 0;
    unsigned voting = 0; ///< or have not answered yet
    unsigned quarantined = 0;
    unsigned broken = 0; ///< waiting does not help: an operator has to do something

    /// With the quarantined nodes there would be a majority. A quarantine ends by itself, and is no outage.
    [[nodiscard]] constexpr bool quarantine_is_in_the_way() const
    {
        return quarantined != 0 && voting + quarantined >= majority(nodes);
    }
    /// There will be no majority without an operator.
    [[nodiscard]] constexpr bool hopeless() const { return broken > nodes - majority(nodes); }
};

/// How long a majority has been out of reach (docs/protocol.md, T3).
class outage {
public:
    void end() { began_.reset(); }
    void begin(instant now)
    {
        if (!began_)
            began_ = now;
    }

    /// An attempt failed because too few nodes voted.
    void go_on(node_census const& census, instant now)
    {
        census.quarantine_is_in_the_way() ? end() : begin(now);
    }
    /// Returns the start of the outage for an operation that began at `started`. Empty: there is none.
    [[nodiscard]] std::optional<instant> since(instant started) const
    {
        return began_ && elapsed(*began_, started) > duration::zero() ? started : began_;
    }

    /// Does an operation that began at `started` give up?
    /// \param patience how long it goes on without a majority
    // rule A8
    [[nodiscard]] bool gives_up(node_census const& census, instant started, duration patience,
                                instant now) const
    {
        if (!began_ || census.quarantine_is_in_the_way())
            return false;
        return census.hopeless() || elapsed(*since(started), now) >= patience;
    }

private:
    std::optional<instant> began_;
};

} // namespace redlock::core

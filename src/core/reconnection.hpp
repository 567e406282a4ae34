// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"

#include <algorithm>
#include <chrono>

namespace redlock::core {

/// How soon a node that gives no answer is tried again, while a lease needs it (docs/protocol.md, rule H10).
struct reconnect_pace {
    duration pause = duration::max();   ///< from the end of a connection to the next attempt to connect
    duration attempt = duration::max(); ///< for one attempt to connect
    duration silence = duration::max(); ///< until a connection without an answer is made again
};

/// The bound: no node is tried more often for a lease.
inline constexpr duration shortest_pause = std::chrono::milliseconds{25};

/// Several attempts fit into what is left. The rounds of a lease come each eighth of it (rule H3), so the pause is shorter.
/// \param left of a lease whose last round failed
// rule H10
constexpr reconnect_pace pace_of_holder(duration left, duration node_timeout)
{
    duration const quarter = std::max(left, duration::zero()) / 4;
    return {std::max(quarter / 4, shortest_pause), quarter, std::max(quarter, 2 * node_timeout)};
}

/// \param ttl of a lock that is waited for without a majority
constexpr reconnect_pace pace_of_waiter(duration ttl)
{
    return {std::max(ttl / 16, shortest_pause), ttl / 4, duration::max()};
}

/// The shortest lease sets the pace.
constexpr reconnect_pace sooner(reconnect_pace const& a, reconnect_pace const& b)
{
    return {std::min(a.pause, b.pause), std::min(a.attempt, b.attempt), std::min(a.silence, b.silence)};
}

/// The least time that an attempt to connect gets, however little of a lease is left: otherwise a server that has become
/// slow could never be connected to. The maximum: as long as the connect timeout.
class least_attempt {
public:
    [[nodiscard]] constexpr duration value() const { return least_; }
    constexpr void succeeded(duration took) { least_ = std::max(2 * took, shortest_pause); }
    /// An attempt was given up for a lease: the next one gets a quarter more.
    constexpr void given_up()
    {
        if (least_ < longest)
            least_ += least_ / 4;
    }

private:
    static constexpr duration longest = std::chrono::hours{24};

    duration least_ = duration::max(); ///< unknown before the first success
};

} // namespace redlock::core

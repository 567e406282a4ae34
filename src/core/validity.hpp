// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "core/rule.hpp"

#include <algorithm>
#include <chrono>

namespace redlock::core {

using std::chrono::milliseconds;

/// Allowance for clocks that run at different rates: one percent, and two milliseconds for the one-millisecond
/// resolution of server expiry on both ends (docs/protocol.md, rule V2).
inline constexpr int drift_divisor = 100;
inline constexpr duration drift_constant = milliseconds{2};

/// How long a holder may rely on a lease of `ttl`, counted from before the first byte of the attempt was sent.
// rule V2
constexpr duration validity(duration ttl)
{
    return applies(rule::drift_is_left_out) ? ttl - ttl / drift_divisor - drift_constant : ttl;
}

constexpr instant deadline(instant sent, duration ttl)
{
    return sent + validity(ttl);
}

/// Room for server clocks to step and slew, lock-delay and grace period in one number.
// rule V3
constexpr milliseconds default_slack(milliseconds ttl)
{
    return std::max(ttl / 10, milliseconds{50});
}

/// The expiry of the keys on the servers.
// rule V3
constexpr milliseconds key_ttl(milliseconds ttl, milliseconds slack)
{
    return applies(rule::keys_outlive_the_lease) ? ttl + slack : ttl;
}

/// Far below the lease, so that a silent node costs little of it.
// rule V4
constexpr milliseconds default_node_timeout(milliseconds ttl)
{
    return std::clamp(ttl / 20, milliseconds{20}, milliseconds{500});
}

} // namespace redlock::core

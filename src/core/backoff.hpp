// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"

#include <algorithm>
#include <cstdint>

namespace redlock::core {

/// A random number between zero and one, in 32 bits: randomness comes in as an argument.
using random_fraction = std::uint32_t;

constexpr duration scale(duration d, random_fraction fraction)
{
    constexpr std::int64_t one = std::int64_t{1} << 20;
    return d / one * (fraction >> 12) + d % one * (fraction >> 12) / one;
}

/// The bound doubles with each failure, from `first` to `cap`.
constexpr duration backoff_bound(unsigned failures, duration first, duration cap)
{
    duration bound = std::min(first, cap);
    for (unsigned i = 1; i < failures && bound < cap; ++i)
        bound = bound > cap / 2 ? cap : bound * 2;
    return bound;
}

/// For contenders: uniform between zero and the bound, which takes them apart fastest.
// rule A8
constexpr duration full_jitter(unsigned failures, duration first, duration cap, random_fraction fraction)
{
    return scale(backoff_bound(failures, first, cap), fraction);
}

/// For reconnection: uniform in the upper half, so that a dead node is left alone for a while.
constexpr duration half_jitter(unsigned failures, duration first, duration cap, random_fraction fraction)
{
    duration const bound = backoff_bound(failures, first, cap);
    return bound / 2 + scale(bound - bound / 2, fraction);
}

} // namespace redlock::core

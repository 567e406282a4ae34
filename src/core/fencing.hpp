// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/tally.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace redlock::core {

/// The counter that each node keeps for each fenced resource (docs/protocol.md, rule F1).
using fence = std::uint64_t;

/// The position of a fence in an exported token: the bits below count local hand-offs. Tokens stay below 2^53, where
/// every language's numbers are exact, until the year 2248.
inline constexpr unsigned hand_off_bits = 10;
inline constexpr unsigned max_hand_offs = (1U << hand_off_bits) - 1;
/// The hand-off count of a reader's token, above those of the writer with the same number (rule S16).
inline constexpr unsigned readers_hand_off = max_hand_offs;

constexpr std::uint64_t fencing_token(fence value, unsigned hand_off = 0)
{
    return value << hand_off_bits | hand_off;
}

/// Returns the number of hand-offs that a token counts.
constexpr unsigned hand_offs_of(std::uint64_t token)
{
    return static_cast<unsigned>(token & max_hand_offs);
}

/// The number that an attempt proposes to every node. It is above all numbers that were ever seen, so the counters
/// agree after one round trip even if they differed before. The clock makes it larger than the lost counter of a node
/// that has forgotten.
// rule F1
constexpr fence proposal(fence highest_seen, std::chrono::milliseconds wall_clock)
{
    return std::max(highest_seen + 1, static_cast<fence>(std::max<std::int64_t>(wall_clock.count(), 1)));
}

/// The granting nodes' counters: the highest one, and the nodes that have reached it.
class fence_tally {
public:
    constexpr void granted(unsigned node, fence counter)
    {
        if (counter > highest_) {
            behind_.insert(agreeing_);
            agreeing_ = {};
            highest_ = counter;
        }
        (counter == highest_ ? agreeing_ : behind_).insert(node);
    }

    [[nodiscard]] constexpr fence highest() const { return highest_; }
    [[nodiscard]] constexpr node_set agreeing() const { return agreeing_; }
    [[nodiscard]] constexpr node_set behind() const { return behind_; }

private:
    fence highest_ = 0;
    node_set agreeing_;
    node_set behind_;
};

} // namespace redlock::core

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>

namespace redlock {

/// The leader, as a majority of the nodes knows it. The leader may have lost its leadership since they answered. Send
/// the term with each request to a leader, and let it answer only for its own.
struct leader_info {
    /// The leader's fencing token. If it is vacant, the last one that is known; zero: none.
    std::uint64_t term = 0;
    /// The revision of the leader's value: 1, and one more with each `leadership::proclaim`. If it is vacant, the last
    /// one that is known.
    std::uint64_t revision = 0;
    /// The value that the leader has proclaimed, such as its address; empty if it is vacant.
    std::string value{};
    /// A majority has this value of this term. If not, the leader has not told a majority yet, or its leadership is
    /// about to end.
    bool confirmed = false;
    /// Nobody leads, or the leader has not told anybody yet.
    bool vacant = true;

    friend bool operator==(leader_info const&, leader_info const&) = default;
};

} // namespace redlock

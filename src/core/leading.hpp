// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/tally.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace redlock::core {

/// What one node told of who leads.
struct leader_sighting {
    bool known = false;
    std::uint64_t term = 0; ///< zero: nobody
    std::uint64_t revision = 0;

    friend auto operator<=>(leader_sighting const&, leader_sighting const&) = default;
};

/// What the nodes say together (docs/protocol.md, rule EL3).
struct leader_verdict {
    std::uint64_t term = 0; ///< if nobody leads, the last one that is known
    std::uint64_t revision = 0;
    bool vacant = true;
    bool confirmed = false; ///< a majority says so
    unsigned witness = 0;   ///< a node that says so, if it is not vacant
};

/// \param latest_term that is known: nobody is told of an earlier one
/// \returns nothing: too few nodes have answered
[[nodiscard]] inline std::optional<leader_verdict> judge(std::span<leader_sighting const> nodes,
                                                         std::uint64_t latest_term)
{
    auto const size = static_cast<unsigned>(nodes.size());
    if (std::ranges::count(nodes, true, &leader_sighting::known) < majority(size))
        return std::nullopt;
    auto const greatest = std::ranges::max_element(nodes);
    if (greatest->term == 0 || greatest->term < latest_term)
        return leader_verdict{.term = latest_term};
    return leader_verdict{.term = greatest->term,
                          .revision = greatest->revision,
                          .vacant = false,
                          .confirmed = std::ranges::count(nodes, *greatest) >= majority(size),
                          .witness = static_cast<unsigned>(greatest - nodes.begin())};
}

enum class leader_news : std::uint8_t {
    none,
    unsettled, ///< it may be confirmed, or be over, in a moment
    change,
};

/// For who knew the one, and sees the other (rule EL5).
[[nodiscard]] constexpr leader_news news(leader_verdict const& known, leader_verdict const& now)
{
    if (now.vacant)
        return known.vacant ? leader_news::none : leader_news::change;
    auto const order = [](leader_verdict const& v) { return std::pair(v.term, v.revision); };
    if (known.vacant || order(known) < order(now))
        return now.confirmed ? leader_news::change : leader_news::unsettled;
    bool const confirms = order(known) == order(now) && now.confirmed && !known.confirmed;
    return confirms ? leader_news::change : leader_news::none;
}

} // namespace redlock::core

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/tally.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

namespace redlock::core {

/// The order of announcements: by the term, and within a term by the revision of its value.
struct leader_version {
    std::uint64_t term = 0;
    std::uint64_t revision = 0;

    friend auto operator<=>(leader_version const&, leader_version const&) = default;
};

/// One node's answer to the question for the leader.
struct leader_answer {
    bool known = false;
    std::uint64_t term = 0; ///< zero: no leader
    std::uint64_t revision = 0;

    [[nodiscard]] leader_version version() const { return {term, revision}; }
    friend auto operator<=>(leader_answer const&, leader_answer const&) = default;
};

/// The common answer of the nodes (docs/protocol.md, rule EL3).
struct leader_verdict {
    std::uint64_t term = 0; ///< if there is no leader, the last one that is known
    std::uint64_t revision = 0;
    bool vacant = true;
    bool confirmed = false; ///< a majority has it
    unsigned witness = 0;   ///< a node that has it, if it is not vacant

    [[nodiscard]] constexpr leader_version version() const { return {term, revision}; }
    /// The least version that operations may tell once this verdict is known (rule EL4). A revision that only a
    /// minority has told is no proof: the majority may rightly answer with the one before.
    [[nodiscard]] constexpr leader_version proven() const
    {
        return {term, vacant || confirmed ? revision : 0};
    }
};

/// \param latest version that is known: an earlier one is an announcement that its leader has retracted
/// \returns empty if too few nodes have answered
// rule EL3
[[nodiscard]] inline std::optional<leader_verdict> judge(std::span<leader_answer const> nodes,
                                                         leader_version latest)
{
    auto const size = static_cast<unsigned>(nodes.size());
    if (std::ranges::count(nodes, true, &leader_answer::known) < majority(size))
        return std::nullopt;
    auto const greatest = std::ranges::max_element(nodes);
    if (greatest->term == 0 || greatest->version() < latest)
        return leader_verdict{.term = latest.term, .revision = latest.revision};
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

/// Compares an observer's knowledge with the present verdict (rule EL5). A vacancy has the version of the
/// announcement that it ends. After a vacancy the same announcement is news only when a majority has it: a single node
/// may have missed the end.
// rule EL4
[[nodiscard]] constexpr leader_news news(leader_verdict const& known, leader_verdict const& now)
{
    if (now.vacant)
        return known.vacant ? leader_news::none : leader_news::change;
    if (known.version() < now.version())
        return now.confirmed ? leader_news::change : leader_news::unsettled;
    bool const confirms = known.version() == now.version() && now.confirmed && !known.confirmed;
    return confirms ? leader_news::change : leader_news::none;
}

} // namespace redlock::core

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/tally.hpp"

#include <cstdint>
#include <ranges>
#include <string_view>

namespace redlock::core {

namespace rendezvous_detail {

/// The finalizer of Appleby's MurmurHash3: differences at a name's end alone reach all bits.
constexpr std::uint64_t spread(std::uint64_t hash)
{
    hash = (hash ^ hash >> 33U) * 0xff51afd7ed558ccdU;
    hash = (hash ^ hash >> 33U) * 0xc4ceb9fe1a85ec53U;
    return hash ^ hash >> 33U;
}

/// FNV-1a over the three texts.
constexpr std::uint64_t weight(std::string_view node, std::string_view prefix, std::string_view name)
{
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (std::string_view const part : {node, prefix, name})
        for (char const c : part)
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return spread(hash);
}

} // namespace rendezvous_detail

/// The node where clients that want a key meet first (docs/protocol.md, rule W3). Highest random weight: every client
/// finds the same node, in whatever order it lists the nodes, and the same next one if that node is missing.
/// \param nodes their names
/// \param without nodes that are skipped; not all
/// \return its index
// rule W3
template <std::ranges::random_access_range Names>
[[nodiscard]] constexpr unsigned rendezvous_node(Names const& nodes, std::string_view prefix,
                                                 std::string_view name, node_set without = {})
{
    std::uint64_t most = 0;
    unsigned found = 0;
    for (unsigned node = 0; node != std::ranges::size(nodes); ++node) {
        if (without.contains(node))
            continue;
        if (auto const its = rendezvous_detail::weight(nodes[node], prefix, name); its > most) {
            most = its;
            found = node;
        }
    }
    return found;
}

} // namespace redlock::core

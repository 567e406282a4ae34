// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/lease_machine.hpp"
#include "core/release_tally.hpp"
#include "core/tally.hpp"

#include <cstdint>

namespace redlock::detail {

/// How a lease that was given up is released: first on the queue node, if there is one, and then on the other nodes.
struct parting {
    explicit parting(core::lease_facts const& last) : known(last) {}

    /// From now on answers are counted, and those of all nodes are awaited.
    void begin()
    {
        tally = core::release_tally(core::node_set::first(known.nodes));
        under_way = true;
    }
    /// All nodes but the queue node.
    [[nodiscard]] core::node_set others() const
    {
        core::node_set nodes = core::node_set::first(known.nodes);
        nodes.erase(core::node_set(queue_node));
        return nodes;
    }
    [[nodiscard]] bool is_confirmed() const { return tally.confirmed(known.nodes); }

    core::lease_facts known;                         ///< at the end of the lease
    [[no_unique_address]] core::release_tally tally; // its padding has room for the flags
    std::uint8_t queue_node = 255;                   ///< that is told first, or none
    bool is_put_off = false;                         ///< on the other nodes
    bool under_way = false;
    /// By the next owner in the queue: nodes that say so have not lost it.
    bool may_be_claimed = false;
    bool leaves_free = false; ///< for unqueued clients
};

} // namespace redlock::detail

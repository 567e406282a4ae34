// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/rendezvous.hpp"
#include "world/network.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

/// Returns the rendezvous node of a name (docs/protocol.md, rule W3), for the servers' present processes.
inline unsigned meeting_node(world::network& net, std::string_view name, core::node_set without = {})
{
    std::vector<std::string> run_ids;
    for (std::size_t n = 0; n != net.size(); ++n)
        run_ids.push_back(net.at(n).redis.is.run_id);
    return core::rendezvous_node(run_ids, "", name, without);
}

} // namespace redlock::test

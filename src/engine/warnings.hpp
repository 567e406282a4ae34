// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "core/tally.hpp"
#include "engine/environment.hpp"
#include "engine/node_report.hpp"
#include "net/node.hpp"
#include <redlock/observer.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// Warns a client's observer about the setup: each cause once for each node, also after reconnections. On the client's
/// executor.
class warnings {
public:
    /// \param its outlives it
    explicit warnings(environment const& its) : environment_(its) {}

    /// The node's state has changed, or what its server tells of itself.
    void node_changed(std::vector<std::unique_ptr<net::node>> const&, unsigned node) noexcept;
    /// An attempt on this lock failed only because of quarantined nodes, and is going to be repeated.
    void waits_for_quarantine(std::string_view resource, std::vector<node_report> const&,
                              core::instant now) noexcept;

private:
    void look_at(std::vector<std::unique_ptr<net::node>> const&, unsigned node);
    void tell(warning_event::kind, unsigned node, std::string const& words);
    [[nodiscard]] std::vector<std::string> const& names() const { return environment_.settings().names; }

    environment const& environment_;
    bool looked_ = false;
    core::node_set same_server_;
    core::node_set has_replicas_;
    core::instant told_until_{}; ///< the end of the quarantine that was told last
};

/// Describes an even number of nodes: "4 nodes survive the failure of 1 node, as 3 nodes do".
[[nodiscard]] std::string describe_even_nodes(unsigned nodes);

} // namespace redlock::detail

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "engine/node_group.hpp"
#include "engine/owned_key.hpp"

#include <cstddef>
#include <deque>
#include <vector>

namespace redlock::detail {

/// Releases that a node never answered, until it is back: as long as its key can live. Without memory one is forgotten,
/// and the key expires by itself.
class pending_releases {
public:
    explicit pending_releases(node_group& nodes) : nodes_(nodes), of_(nodes.size()) {}

    void add(unsigned node, pending_release, core::instant now) noexcept;
    [[nodiscard]] std::size_t count(unsigned node) const { return of_[node].size(); }
    /// Takes out the oldest one of a node that has some.
    [[nodiscard]] pending_release take(unsigned node);
    void clear() noexcept { of_.clear(); }
    /// Connects once to each node that has some: nobody else will bring it back.
    void fetch_nodes();

private:
    /// For one node. More are forgotten.
    static constexpr std::size_t most = 1024;

    node_group& nodes_;
    std::vector<std::deque<pending_release>> of_;
};

} // namespace redlock::detail

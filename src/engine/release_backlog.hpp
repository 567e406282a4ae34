// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "engine/node_group.hpp"
#include "engine/release_record.hpp"

#include <cstddef>
#include <deque>
#include <vector>

namespace redlock::detail {

/// Releases that a node has not answered. They are kept until the node is back, or until the key has expired. Without
/// memory a release is forgotten, and the key expires by itself.
class release_backlog {
public:
    explicit release_backlog(node_group& nodes) : nodes_(nodes), of_(nodes.size()) {}

    void add(unsigned node, owed_release, core::instant now) noexcept;
    [[nodiscard]] std::size_t count(unsigned node) const { return of_[node].size(); }
    /// Takes out the oldest one of a node that has some.
    [[nodiscard]] owed_release take(unsigned node);
    void clear() noexcept { of_.clear(); }
    /// Connects once to each node that has some, because no operation connects to it.
    void fetch_nodes();

private:
    /// The limit for one node. Older releases are forgotten.
    static constexpr std::size_t most = 1024;

    node_group& nodes_;
    std::vector<std::deque<owed_release>> of_;
};

} // namespace redlock::detail

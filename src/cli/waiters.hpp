// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cli/answer.hpp"
#include "kind/queue.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redlock::cli {

/// A lock's queue on one node (docs/protocol.md, rule Q1).
struct queue_view {
    std::string node;
    std::int64_t waiting = 0;
    std::vector<std::optional<kind::waiter>>
        first{}; ///< the first ones; nothing: this version cannot read it
};

/// Adds the two questions that a node is asked for that.
void ask_for_queue(questions&, std::string const& key);

/// Reads a node's answers to these. Empty if nobody waits there, or if it may not be asked.
[[nodiscard]] std::optional<queue_view> read_queue(std::string const& node, answer const& waiting,
                                                   answer const& first);

/// Do readers wait among the first ones?
[[nodiscard]] bool has_readers(queue_view const&);

} // namespace redlock::cli

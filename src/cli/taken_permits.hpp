// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cli/query.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace redlock::cli {

/// The number and the owner of each permit that is taken, and on how many nodes (docs/protocol.md, rule P1).
using taken_permits = std::map<std::pair<unsigned, std::string>, std::size_t>;

/// Adds the question that a node is asked for that.
void ask_for_permits(questions&, std::string const& key);

/// Counts what a node has answered to that. Nothing if it is no semaphore, or may not be asked.
/// \param now by the node's clock, since 1970
void count_permits(taken_permits&, answer const& said, std::chrono::milliseconds now);

/// Counts the permits that the same owner has on a majority.
[[nodiscard]] std::size_t certain(taken_permits const&, std::size_t nodes);

} // namespace redlock::cli

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cli/query.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>

namespace redlock::cli {

/// The number and the owner of each permit that is taken, and on how many nodes (docs/protocol.md, rule P1).
using taken_permits = std::map<std::pair<unsigned, std::string>, std::size_t>;

/// Adds the two questions that a node is asked for that.
/// \param now by the node's clock, since 1970
void ask_for_permits(questions&, std::string const& key, std::chrono::milliseconds now);

/// Counts what a node has answered to that. Nothing if it is no semaphore, or may not be asked.
void count_permits(taken_permits&, std::span<answer const, 2> said);

/// Counts the permits that the same owner has on a majority.
[[nodiscard]] std::size_t certain(taken_permits const&, std::size_t nodes);

} // namespace redlock::cli

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cli/answer.hpp"
#include "core/fencing.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace redlock::cli {

/// The nodes on which one owner has a permit.
struct permit_votes {
    std::size_t nodes = 0;
    core::fence fence = 0; ///< the highest of the permit there; 0: it has none
};
/// The number and the owner of each permit that is taken (docs/protocol.md, rules P1 and P5).
using taken_permits = std::map<std::pair<unsigned, std::string>, permit_votes>;

/// Adds the two questions that a node is asked for that.
void ask_for_permits(questions&, std::string const& key);

/// Counts what a node has answered to these. Nothing if it is no semaphore, or may not be asked.
/// \param now by the node's clock, since 1970
void count_permits(taken_permits&, answer const& owners, answer const& fences, std::chrono::milliseconds now);

/// Counts the permits that the same owner has on a majority.
[[nodiscard]] std::size_t certain(taken_permits const&, std::size_t nodes);

} // namespace redlock::cli

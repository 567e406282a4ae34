// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "model/small_world.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::model {

/// What a search through all states of a scope found.
struct search_result {
    std::uint64_t states = 0;
    std::uint64_t transitions = 0;
    unsigned depth = 0;
    bool complete = false;
    small_world::flaw flaw = small_world::flaw::none;
    std::string trace; ///< the shortest way to the flaw
    std::chrono::milliseconds took{};
};

/// Breadth first, so that the first flaw found is one of the shortest.
search_result search(scope const&);

} // namespace redlock::model

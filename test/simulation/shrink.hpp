// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "simulation/schedule.hpp"

namespace redlock::simulation {

/// Leaves out what a flaw does not need, as far as a few dozen runs can tell.
[[nodiscard]] selection shrink(std::uint64_t seed, verdict const& found);

} // namespace redlock::simulation

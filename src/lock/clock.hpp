#pragma once

#include "core/instant.hpp"

#include <chrono>

namespace redlock::lock {

/// The two clocks a lease is reckoned on. Where a system has neither, its steady clock stands for both.
[[nodiscard]] core::instant read_clocks();

/// The date, in milliseconds since 1970: only for fences, which may not trust it.
[[nodiscard]] std::chrono::milliseconds wall_clock();

} // namespace redlock::lock

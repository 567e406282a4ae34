#pragma once

#include "core/instant.hpp"

namespace redlock::lock {

/// The two clocks a lease is reckoned on. Where a system has neither, its steady clock stands for both.
[[nodiscard]] core::instant read_clocks();

} // namespace redlock::lock

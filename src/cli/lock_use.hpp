// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>

namespace redlock::cli {

/// Uses that need more rights than a mutex.
enum class lock_use : std::uint8_t { queue, readers, several_names, election, permits, fenced_permits };

} // namespace redlock::cli

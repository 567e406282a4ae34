// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string_view>

namespace redlock::cli {

/// Uses that need more rights than a mutex.
enum class lock_use : std::uint8_t { queue, readers, several_names, election, permits, fenced_permits };

/// The name of the key on which rights are tried, or its end behind a lock's name and a colon.
inline constexpr std::string_view trial_name = "redlock-doctor";

} // namespace redlock::cli

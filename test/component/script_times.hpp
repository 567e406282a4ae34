// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

namespace redlock::test {

/// Arguments of scripts on a real server, which end long after the test.
inline std::string const lock_time = "3600000";
inline std::string const fence_time = "36000000";
/// Less than what is left of such a lock.
inline constexpr long long nearly_a_lock = 3'500'000;

} // namespace redlock::test

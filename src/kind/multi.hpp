// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>

// Several locks at once (docs/protocol.md, rules M1 to M9).
namespace redlock::kind {

inline constexpr std::size_t most_names = 64;

} // namespace redlock::kind

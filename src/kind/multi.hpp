// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>

// Several locks at once (docs/protocol.md, rules M1 to M9).
namespace redlock::kind {

inline constexpr std::size_t most_names = 64;
/// In bytes, together, each with the prefix of keys. Then a command fits into `net::node::spare_output`.
inline constexpr std::size_t longest_names = std::size_t{10} * 1024;

} // namespace redlock::kind

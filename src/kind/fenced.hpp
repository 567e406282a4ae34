// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string_view>

namespace redlock::kind {

/// The suffix of a fenced lock's second key, its fence.
inline constexpr std::string_view fence_suffix = ":redlock-fence";
/// The suffix of a semaphore's second key, a hash of fences, one for each permit.
inline constexpr std::string_view permit_fences_suffix = ":redlock-fences";
/// Fences are below it, as the scripts see to it (docs/protocol.md, rule F1).
inline constexpr std::uint64_t fence_end = std::uint64_t{1} << 43U;

} // namespace redlock::kind

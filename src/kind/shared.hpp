// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <string_view>

// Readers and writers of one lock (docs/protocol.md, rules S1 to S15).
namespace redlock::kind {

/// Beside a lock's key stands its gate.
inline constexpr std::string_view gate_suffix = ":redlock-gate";
/// A writer that waits keeps new readers out for so long, unless it asks again; and so long is the longest turn of readers.
inline constexpr std::chrono::milliseconds mark_life{400};

} // namespace redlock::kind

#pragma once

#include <string_view>

// Readers and writers of one lock (docs/protocol.md, rules S1 to S15).
namespace redlock::kind {

/// Beside a lock's key stands its gate.
inline constexpr std::string_view gate_suffix = ":redlock-gate";

} // namespace redlock::kind

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace redlock::chaos {

struct outcome {
    std::string figures{}; ///< one line
    std::string flaws{};   ///< lines; none: there is none
    std::string story{};   ///< all that happened, in order
    /// Why it shows nothing; empty: it does. C1 and C2 are this machine's to keep, and T3 needs one that runs.
    std::string excuse{};
};

/// Starts servers and programs, disturbs them for this time as drawn, waits until all is well again, and judges.
/// \param self this program's path: each participant is a process of it, "--participate" and its stage
[[nodiscard]] outcome conduct(std::uint64_t seed, std::chrono::milliseconds length, std::string const& self);

} // namespace redlock::chaos

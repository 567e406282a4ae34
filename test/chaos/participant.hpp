// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace redlock::chaos {

/// The information that a program of a run needs. The directory contains the journal, "calm" from the end of the
/// disturbances on, and the files that tell a program to leave: "leave-3" number 3, "leave" all.
struct stage {
    std::uint64_t seed = 0;
    unsigned program = 0;
    std::string directory{};
    std::uint16_t guarded = 0; ///< the port of the server with the guarded data
    std::vector<std::string> nodes{};
};

/// Uses the library until it is told to leave.
void participate(stage const&);

} // namespace redlock::chaos

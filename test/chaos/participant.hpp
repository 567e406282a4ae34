#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace redlock::chaos {

/// Where a process of a run finds the others.
struct stage {
    std::string journal{};
    std::uint16_t guarded = 0; ///< the port of the server with what the locks guard
    std::vector<std::string> nodes{};
};

/// One program that uses the library, until it is told to leave.
void participate(std::uint64_t seed, unsigned client, stage const&);

} // namespace redlock::chaos

// SPDX-License-Identifier: BSL-1.0
#include "simulation/shrink.hpp"

#include <algorithm>

namespace redlock::simulation {

selection shrink(std::uint64_t seed, verdict const& found)
{
    constexpr unsigned most_runs = 60;
    selection needed{.left_out = {}, .last = found.disturbances};
    unsigned runs = 0;
    for (unsigned size = (needed.last + 1) / 2; size != 0; size /= 2)
        for (unsigned first = 1; first <= needed.last && runs != most_runs; first += size) {
            selection fewer = needed;
            for (unsigned i = first; i != std::min(first + size, needed.last + 1); ++i)
                fewer.left_out.insert(i);
            if (fewer.left_out.size() == needed.left_out.size())
                continue;
            ++runs;
            if (!schedule(seed, false, fewer).run().flaw.empty())
                needed = fewer;
        }
    return needed;
}

} // namespace redlock::simulation

// SPDX-License-Identifier: BSL-1.0
// For programs that measure only the limit and the noise, and build without the library.
#include "cycle_client.hpp"

namespace redlock::bench {

std::vector<contestant> library_contestants()
{
    return {};
}

lease_holder library_lease_holder()
{
    return nullptr;
}

} // namespace redlock::bench

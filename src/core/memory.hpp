// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <new>

namespace redlock::core {

/// Does the work, and returns true. False: there was no memory for it. Other exceptions pass.
template <class Work>
bool if_memory_allows(Work const& work)
{
    try {
        work();
        return true;
    } catch (std::bad_alloc const&) {
        return false;
    }
}

} // namespace redlock::core

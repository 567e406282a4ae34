// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdlib>
#include <iostream>
#include <source_location>

namespace redlock::fuzz {

inline void require(bool condition, std::source_location where = std::source_location::current())
{
    if (condition)
        return;
    std::cerr << where.file_name() << ':' << where.line() << '\n';
    std::abort();
}

} // namespace redlock::fuzz

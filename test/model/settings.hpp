// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace redlock::model {

/// A number from the environment.
inline std::uint64_t setting(char const* name, std::uint64_t otherwise)
{
    char const* const text =
        std::getenv(name); // NOLINT(concurrency-mt-unsafe): nobody changes the environment
    return text ? std::stoull(text) : otherwise;
}

} // namespace redlock::model

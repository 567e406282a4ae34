// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>

namespace redlock::bench {

/// Blocks this process has asked its system heap for since it started (malloc and everything built on it).
std::uint64_t allocations() noexcept;

} // namespace redlock::bench

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kit/fault_proxy.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace redlock::test::proxy {

using clock = std::chrono::steady_clock;

enum class mode { pass, hold, delay, drop, dribble, cut };

constexpr std::size_t index(direction way)
{
    return static_cast<std::size_t>(way);
}

/// The test's orders for one direction.
struct orders {
    mode how = mode::pass;
    clock::duration by{};
    bool duplicate = false;
    std::optional<std::string> replacement{};
};

} // namespace redlock::test::proxy

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <optional>
#include <type_traits>

namespace redlock {

/// Options that only locks with fencing tokens have. Trivially destructible on purpose, as `lock_options` are.
struct fence_options {
    /// How long a node remembers the last token of a name that nobody locks. From ten times `ttl` and `slack` together
    /// to a year; other values are `errc::misconfigured`. Default: 24 h, or the lower limit if that is longer.
    std::optional<std::chrono::milliseconds> fence_ttl{};

    friend bool operator==(fence_options const&, fence_options const&) = default;
};

static_assert(std::is_trivially_destructible_v<fence_options>);

} // namespace redlock

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/fence_options.hpp>
#include <redlock/lock_options.hpp>

namespace redlock::detail {

/// The options of a lock of any kind.
struct all_options : lock_options {
    // NOLINTNEXTLINE(google-explicit-constructor): most kinds have no fence
    all_options(lock_options const& common, fence_options const& its_fence = {})
        : lock_options(common), fence(its_fence)
    {}

    fence_options fence;

    friend bool operator==(all_options const&, all_options const&) = default;
};

} // namespace redlock::detail

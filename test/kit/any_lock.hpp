// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/basic_lock.hpp>

namespace redlock::test {

/// A lock of any kind, for helpers that work with all of them.
using any_lock = redlock::detail::basic_lock;

} // namespace redlock::test

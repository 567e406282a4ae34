// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/backoff.hpp"

namespace redlock::net {

/// For pauses only; values that may be guessed.
[[nodiscard]] core::random_fraction random_bits() noexcept;

} // namespace redlock::net

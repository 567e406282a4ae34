// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "net/machine.hpp"

#include <memory>

namespace redlock::net {

/// Returns the machine that this process runs on.
[[nodiscard]] std::shared_ptr<machine> this_machine();

} // namespace redlock::net

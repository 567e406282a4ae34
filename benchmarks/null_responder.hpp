// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <span>

namespace redlock::bench {

/// Serves the listening sockets, each as one node, until the process is ended: every lock command succeeds.
/// Little but the kernel's TCP is left beside the client, which thus shows its own cost when on the same CPU.
[[noreturn]] void serve_null(std::span<int const> listeners);

} // namespace redlock::bench

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <span>

namespace redlock::bench {

/// Serves the listening sockets, each as one node, until the process is ended: every lock command succeeds. Besides the
/// kernel's TCP this costs little, so the client shows its own cost when it is on the same CPU.
[[noreturn]] void serve_null(std::span<int const> listeners);

} // namespace redlock::bench

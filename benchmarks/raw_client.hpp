// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cycle_client.hpp"

namespace redlock::bench {

/// The limit: epoll and bytes formatted beforehand, no library. Answers what the kernel and the servers cost.
result run_raw(setup const& what);
/// The same with the votes of fenced locks.
result run_raw_fenced(setup const& what);

} // namespace redlock::bench

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "net/executor.hpp"
#include "net/machine.hpp"
#include <redlock/client.hpp>
#include <redlock/config.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/lease.hpp>

#include <memory>

namespace redlock::detail {

/// A client that runs on another machine than this one. For redlock::testing, which is a library of its own.
[[nodiscard]] REDLOCK_EXPORT client make_client(net::any_io_executor, config const&,
                                                std::shared_ptr<net::machine>);

/// Returns the machine of a lease's client; null: the lease is empty.
[[nodiscard]] REDLOCK_EXPORT net::machine const* machine_of(lease const&);

} // namespace redlock::detail

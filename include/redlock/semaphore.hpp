// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/client.hpp>
#include <redlock/detail/basic_semaphore.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/detail/lock_ptr.hpp>
#include <redlock/lock_options.hpp>

#include <string_view>
#include <utility>

namespace redlock {

/// A counting semaphore shared by a fleet: at most N leases hold a permit at any time, whatever crashes, restarts or
/// pauses. A permit of a holder that crashed comes back within `ttl` and `slack`.
///
/// It has the operations, errors and cancellation of `mutex`. A lease may come with several permits: all of them or
/// none, so nobody waits while holding some. The lease has one deadline and one end, and `lease::permits()` returns its
/// permits.
///
/// Waiting clients are queued first come, first served. No client passes the first, also while fewer permits are free
/// than it wants. If the nodes deny the rights to the queue, clients wait without an order, and one that wants many
/// permits may wait for a long time. Within one client the order is that of coming, too. `lock_options::handover` means
/// nothing here: a permit that is given back goes to the first in the queue.
///
/// All clients must name the same number of permits. To increase it, change the clients in any order, at any time. To
/// decrease it, change all clients. The smaller number is exceeded no more when `ttl` and `slack` have passed after the
/// last change, and the permits above the new number have been given back.
///
/// A lock of another kind with the same name, of this or any other library, is excluded as long as one permit is held,
/// and excludes all of them. A lock of this library waits in the same queue.
///
/// While a client waits, a node keeps the key `<name>:redlock-queue` besides the lock's. docs/server-checklist.md,
/// "Rights", lists the rights.
/// \par Source
/// docs/protocol.md, rules P1 to P10.
class REDLOCK_EXPORT semaphore : public detail::basic_semaphore {
public:
    /// A semaphore with `permits` permits, 1 to 1024. Making it sends nothing.
    /// \throws lock_error `errc::misconfigured`: no permits or too many; otherwise as `mutex`
    /// \throws std::bad_alloc
    semaphore(client& owner, std::string_view name, unsigned permits, lock_options options = {});

    /// The same semaphore, for leases that come with `count` permits: `with_lock(pool.taking(3), body)`.
    /// \throws lock_error `errc::misconfigured`: `count` is zero, or above `permits()`
    /// \throws std::bad_alloc
    [[nodiscard]] semaphore taking(unsigned count) const;

private:
    explicit semaphore(detail::lock_ptr state) noexcept : basic_semaphore(std::move(state)) {}
};

} // namespace redlock

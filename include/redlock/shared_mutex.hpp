// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/client.hpp>
#include <redlock/detail/basic_shared_lock.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/lease.hpp>
#include <redlock/lock_options.hpp>

#include <string_view>

namespace redlock {

/// A lock that many readers may hold at once, or one writer. `acquire` and the other acquire functions without
/// `_shared` are a writer's and exclude everybody. Those with `_shared` are a reader's and exclude writers alone. Apart
/// from that a reader's lease is as any other: it renews itself, and tells its loss.
///
/// Readers of one client that come within `handover.period` of a grant share one key on the nodes. A reader that comes
/// in that time joins the others without asking the nodes, if it and they renew, have the same `ttl`, `slack` and
/// `tolerate_suspect`, have half of `ttl` left, and no operation of this client waits. After that time the
/// nodes are asked again, since only they know of writers of other clients.
///
/// While you have a lease of a lock, do not wait for another lease of it: a reader that calls `acquire` waits for its
/// own lease, permanently.
///
/// Readers and writers wait in the one queue of the name, first come, first served (`lock_options::fair`). When a
/// reader is the first there, all readers in the queue get the lock together. A reader that comes later is queued
/// behind the waiting writers (docs/protocol.md, rule Q4). So neither starves the other. A writer waits for what holds
/// the lock, for each writer ahead of it in the queue, and for at most one group of readers more (docs/protocol.md, "How
/// long a position waits"). The operations of one client are served in the order in which they were started.
///
/// A plain or fenced lock of the same name, of any client or library, is excluded by readers and writers, and excludes
/// both. The operations, errors, cancellation and thread-safety are those of `mutex`.
///
/// While operations wait, one node keeps the key `<name>:redlock-queue` besides the lock's key. The client's user needs
/// the rights that docs/server-checklist.md lists, for both keys.
/// \par Source
/// docs/protocol.md, rules Q1 to Q23 and S1 to S18
class REDLOCK_EXPORT shared_mutex : public detail::basic_shared_lock {
public:
    /// \throws lock_error `errc::misconfigured`: as `mutex`
    /// \throws std::bad_alloc
    shared_mutex(client& owner, std::string_view name, lock_options options = {});

    /// Continues a writer's lease that was left behind, as `mutex::adopt` does. A reader's cannot be adopted: its key
    /// may be that of other readers, too, and they all have one `lease::nonce()`. Do not `detach()` a reader: nobody
    /// can continue it, and if it was the last one, writers wait until the key has expired.
    /// \param nonce of the lease, from `lease::nonce()`
    /// \throws lock_error `errc::misconfigured`: not a nonce
    [[nodiscard]] lease adopt(std::string_view nonce) const;
};

} // namespace redlock

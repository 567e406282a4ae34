// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/client.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/inspectable_lock.hpp>
#include <redlock/lease.hpp>
#include <redlock/lock_options.hpp>

#include <string_view>

namespace redlock {

/// A named lock over a client's nodes. Cheap to make and to copy. Making it sends nothing.
///
/// All operations of one client on one name wait in one local queue and are served in the order in which they were started.
/// Only the first of them asks the nodes. A lease that is released goes to the next of them at once, as
/// `lock_options::handover` says. The first operations of different clients wait in the queue of the name
/// (`lock_options::fair`).
///
/// \par Source
/// Redis documentation, "Distributed Locks with Redis"; the rules are in docs/protocol.md.
class REDLOCK_EXPORT mutex : public inspectable_lock {
public:
    /// \throws lock_error `errc::misconfigured`: an empty name or one over 512 bytes, an option outside its limits (see
    ///         `lock_options`), a `ttl` that is too small for clock drift and a round trip
    /// \throws std::bad_alloc
    mutex(client& owner, std::string_view name, lock_options options = {});

    /// Continues a lease of this lock that another client was granted, in this process or another, and left behind: by
    /// `lease::detach()`, or because its holder died. It sends nothing.
    ///
    /// The lease that is returned is `suspect`, not `valid()`. Its `extend()` asks the nodes. If a majority still holds
    /// the key with this nonce, it is held from then on, as if it had been acquired here. Otherwise it is lost. It is
    /// lost, too, `ttl` after the first operation on it, if no extension has confirmed it by then. Its `release()`
    /// deletes the key on every node that has it with this nonce. Destroying it releases it in the background, as with
    /// every lease. To leave the key again, `detach()` it.
    ///
    /// No other client had the lock meanwhile if the lease is confirmed before its first holder's deadline
    /// (docs/protocol.md, rule H9), and this lock's `ttl` is not longer than that lease's: a last extension of the
    /// first holder may come late, and it sets the keys' time back. Two holders of the same nonce do not exclude each
    /// other: pass it to one holder only. May be called from any thread.
    /// \param nonce of the lease, from `lease::nonce()`
    /// \throws lock_error `errc::misconfigured`: not a nonce
    [[nodiscard]] lease adopt(std::string_view nonce) const;
};

} // namespace redlock

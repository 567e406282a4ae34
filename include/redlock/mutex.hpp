// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/client.hpp>
#include <redlock/detail/basic_lock.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/lease.hpp>
#include <redlock/lock_options.hpp>

#include <string>
#include <string_view>

namespace redlock {

/// A named lock over a client's nodes. Cheap to make and to copy. Making it sends nothing.
///
/// All operations of one client on one name wait in one queue and are served in the order in which they were started.
/// Only the first of them asks the nodes. A lease that is released goes to the next of them at once, as
/// `lock_options::handover` says. The first operations of different clients stand in line (`lock_options::line`).
///
/// The rest is common to `acquire`, `try_acquire`, `acquire_for` and `acquire_until`.
///
/// \par Completion signature
/// `void(boost::system::error_code, redlock::lease)`, with every token. The default token throws a `lock_error`, whose
/// message and table say what each node answered: it is `with_diagnostics(asio::deferred)`. Wrap your own token in
/// `with_diagnostics` to get the same exception. Without it, tokens that throw, such as `asio::use_awaitable`, throw a
/// `boost::system::system_error` with the code alone. Completion runs on the token's associated executor, never inside
/// the initiating call.
/// \par Errors
/// `errc::contended`, `errc::no_quorum`, `errc::too_slow`: one attempt was asked for, or the retry policy is exhausted.
/// `errc::timed_out`, `errc::shut_down`. `errc::no_randomness`: OpenSSL's RAND_bytes failed, and nothing was sent.
/// `errc::forked`: this process is a forked copy of the one that made the client. Without memory the initiating function
/// throws `std::bad_alloc`, or the operation completes with `std::errc::not_enough_memory`, which `with_diagnostics`
/// turns into `std::bad_alloc`.
/// \par Cancellation
/// terminal, partial, total. Afterwards the caller owns nothing: every vote that was sent is being released. On an
/// unreachable node the key stays for `ttl + slack` after the vote was executed, which may be up to
/// `reconnect.connect_timeout` after it was asked for. If a grant races with the cancellation, it is released.
/// \par Thread safety and lifetime
/// May be started from any thread. The client must outlive the operation.
/// \par Source
/// Redis documentation, "Distributed Locks with Redis"; the rules are in docs/protocol.md.
class REDLOCK_EXPORT mutex : public detail::basic_lock {
public:
    /// \throws lock_error `errc::misconfigured`: an empty name or one over 512 bytes, an option outside its limits (see
    ///         `lock_options`), a `ttl` that is too small for clock drift and a round trip
    /// \throws std::bad_alloc
    mutex(client& owner, std::string name, lock_options options = {});

    /// Continues a lease of this lock that another client was granted, in this process or another, and that was left
    /// behind: by `lease::detach()`, or because its holder died. It sends nothing.
    ///
    /// The lease that is returned is `suspect`, not `valid()`. Its `extend()` asks the nodes. If a majority still holds
    /// the key with this nonce, it is held from then on, as if it had been acquired here. Otherwise it is lost. It is
    /// lost, too, `ttl` after the first operation on it, if no extension has confirmed it by then. Its `release()`
    /// deletes the key on every node that has it with this nonce. Destroying it releases it in the background, as with
    /// every lease. To leave the key again, `detach()` it.
    ///
    /// Nobody else had the lock meanwhile if the lease is confirmed before its first holder's deadline
    /// (docs/protocol.md, rule H9). Two holders of one nonce are not kept from each other: give it to one only. May be
    /// called from any thread.
    /// \param nonce of the lease, from `lease::nonce()`
    /// \throws lock_error `errc::misconfigured`: not a nonce
    [[nodiscard]] lease adopt(std::string_view nonce);
};

} // namespace redlock

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/client.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/fence_options.hpp>
#include <redlock/inspectable_lock.hpp>
#include <redlock/lease.hpp>
#include <redlock/lock_options.hpp>

#include <cstdint>
#include <string_view>

namespace redlock {

/// A lock whose leases carry fencing tokens: `lease::fencing_token()` is larger than that of every earlier lease of this
/// lock. While servers keep their data, no pause, network or clock changes that (docs/protocol.md, T2). A resource that remembers
/// the largest token it has seen and refuses smaller ones is safe from a holder that was paused and does not yet know
/// that its lease is over.
///
/// Fence first: a new holder shows its token to the resource before it reads anything there. Otherwise a late writer
/// can write between its read and its write. examples/fenced_register.hpp does it for values in memory and in Redis. In
/// SQL it is `UPDATE ... SET fence = :token WHERE fence <= :token` (examples/08_fenced_sqlite.cpp).
///
/// It has the same operations, errors and cancellation as `mutex`, and is a kind of its own: a function that takes a
/// `mutex` does not take a `fenced_mutex`. If the nodes' counters differ, it takes one round trip more. It takes one
/// more on each new connection, too. Plain and fenced locks of one name exclude each other.
///
/// Besides the lock's key each node keeps the key `<name>:redlock-fence` for `fence_options::fence_ttl`, and the key
/// `redlock-marker` without an expiry, both with `config::key_prefix` before them. A lock whose name ends like one of
/// these keys is `errc::misconfigured`. Scripts replace SET, so the client's user needs more rights than for plain
/// locks: to these two keys, and `+mget +pttl +time` besides `+set +get +del +pexpire +eval +evalsha`
/// (docs/server-checklist.md, "Rights").
///
/// The marker shows whose data a node has. A node without a marker may have lost it: the first fenced lock on a node
/// waits for 1.01 times its ttl + slack, once, unless `admission_settings::assume_fresh` or durability answers for the
/// node (docs/protocol.md, rule F6).
/// \par Source
/// Martin Kleppmann, "How to do distributed locking", for what tokens are needed for; docs/protocol.md, rules F1 to
/// F6, for how a majority agrees on them.
class REDLOCK_EXPORT fenced_mutex : public inspectable_lock {
public:
    /// \throws lock_error `errc::misconfigured`: as `mutex`, or a `fence_ttl` outside its limits; with
    ///         `admission_settings::allow_cluster_node`, a `key_prefix` without a hash tag
    /// \throws std::bad_alloc
    fenced_mutex(client& owner, std::string_view name, lock_options options = {}, fence_options fence = {});

    /// Continues a lease that another process detached or left behind, as `mutex::adopt` does.
    ///
    /// Only nodes whose fence is the token confirm the lease, and an adoption changes no node's fence. So if the lease
    /// is confirmed, at any time, no other client had the lock meanwhile (docs/protocol.md, rule H9). With a wrong
    /// token the lease is lost. Its end then deletes the key of the holder of this nonce, unless the lease is detached.
    /// \param nonce of the lease, from `lease::nonce()`
    /// \param fencing_token of the lease, from `lease::fencing_token()`
    /// \throws lock_error `errc::misconfigured`: not a nonce; a token below 1024 or not below 2^53
    [[nodiscard]] lease adopt(std::string_view nonce, std::uint64_t fencing_token) const;
};

} // namespace redlock

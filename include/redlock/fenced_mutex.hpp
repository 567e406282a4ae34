#pragma once

#include <redlock/export.hpp>
#include <redlock/mutex.hpp>

#include <string>

namespace redlock {

/// A lock whose leases carry fencing tokens: `lease::fencing_token()` is larger than that of every lease of this lock
/// before it, whatever pauses, networks and clocks do (docs/protocol.md, T2 and its conditions). A resource that
/// remembers the largest token it has seen, and refuses smaller ones, is safe from a holder that was paused and does
/// not know yet that its lease is over.
///
/// Fence first: a new holder shows its token to the resource before it reads anything there. Otherwise a late writer
/// can slip in between its reading and its writing. `fenced_register` and `fenced_scripts` do it for values in memory
/// and in Redis; in SQL it is `UPDATE ... SET fence = :token WHERE fence <= :token` (examples/08_fenced_sqlite.cpp).
///
/// Used as `mutex`, with the same operations, errors and cancellation. It takes one round trip more if the nodes'
/// counters had come apart, and one more on each new connection. Beside the lock's key each node keeps the key
/// `<name>:redlock-fence` for `lock_options::fence_ttl`, and the key `redlock-marker` without an expiry, both with
/// `config::key_prefix` before them. Scripts take the place of SET. So the client's user needs more rights than for
/// plain locks: to these two keys, and `+mget +pttl +time` beside `+set +get +del +pexpire +eval +evalsha`
/// (docs/server-checklist.md, "Rights"). Plain and fenced locks of one name exclude each other. A name that ends like
/// one of these keys is `errc::misconfigured`.
///
/// The marker shows whose data a node has. A node without one may have lost it: the first fenced lock on a node waits
/// for 1.01 times its ttl + slack, once, unless `config::assume_fresh` or durability answers for the node
/// (docs/protocol.md, rule F6).
/// \par Source
/// Martin Kleppmann, "How to do distributed locking", for what tokens are needed for; docs/protocol.md, rules F1 to
/// F6, for how a majority agrees on them.
class REDLOCK_EXPORT fenced_mutex : public mutex {
public:
    /// \throws lock_error `errc::misconfigured`, as `mutex`
    fenced_mutex(client& owner, std::string name, lock_options options = {});
};

} // namespace redlock

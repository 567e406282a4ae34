// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <optional>
#include <type_traits>

namespace redlock {

/// When and how often `acquire` tries again.
struct retry_policy {
    /// First upper bound of the random pause between two attempts. It is at least two round trips. The bound
    /// doubles with each failed attempt. While no quorum can be reached, the pause is uniform in the upper half of the
    /// bound.
    ///
    /// While other clients hold the lock, an operation in the queue (`lock_options::fair`) makes no attempt until it is
    /// called. Without a position the next attempt follows after a pause that is uniform between zero and the bound. It
    /// follows earlier if the node that is asked first reports that the key has changed, or when the key will have
    /// expired there.
    std::chrono::milliseconds min_delay{2};
    /// Last upper bound of that pause, not below `min_delay`.
    std::chrono::milliseconds max_delay{200};
    /// How long `acquire` continues while no quorum can be reached at all, before it fails with `errc::no_quorum`.
    /// Errors that only an operator can fix (wrong password, missing right) end it at once. Nodes that are quarantined
    /// for this lock count as reachable: `acquire` waits for them (see `admission_settings`).
    std::chrono::milliseconds outage_patience{5000};

    friend bool operator==(retry_policy const&, retry_policy const&) = default;
};

/// How long one client may keep a lock among its own operations while other clients may wait for it. A lease that is
/// released goes to the next operation in the client's local queue without a round trip; its deadline does not change.
/// The next operation's lock must have the same `ttl`, slack and kind, and must renew itself. At least half of `ttl`
/// must be left; otherwise the lock is released and acquired again.
///
/// After a batch the lock goes to the first in the queue, and the client's next operation joins the queue at the end.
/// If the operation has no position, the client leaves the lock alone for three round trips, so that other clients can
/// get it. While no other client takes it, the batches double, up to 64 times their size, also from 1. The period does
/// not change.
struct handover_policy {
    /// Leases in a row, at least 1, before other clients can get the lock.
    unsigned batch = 64;
    /// Time after which other clients can get the lock, even if the batch is not complete.
    std::chrono::milliseconds period{250};

    friend bool operator==(handover_policy const&, handover_policy const&) = default;
};

/// Options of one lock. Trivially destructible on purpose: g++ 12 destroys other temporaries of an awaited
/// expression twice.
///
/// All times are in milliseconds. Limits: a time is more than zero and at most 24 h. `slack` and `retry.outage_patience`
/// may be zero, and `outage_patience` up to a year. `ttl` less 1 % and 2 ms is above `node_timeout`: by default `ttl` is
/// at least 23 ms. The lock's name has 1 to 512 bytes, and is no key of the library's own (`redlock-marker`, or names
/// that end in `:redlock-fence`, `:redlock-queue` and the like). For any other value the lock's constructor throws
/// `errc::misconfigured`.
struct lock_options {
    /// How long the holder may rely on the lock without a renewal. A longer time survives longer pauses of the holder.
    /// A shorter time frees a crashed holder's lock sooner.
    ///
    /// A node that may have lost keys does not vote for this lock for 1.01 times the largest ttl + slack of the
    /// client's locks of its name (docs/protocol.md, rule N4). So a lock with a longer ttl waits longer for such a
    /// node. Locks of other names do not. If another client locks the same name with a longer ttl, set
    /// `admission_settings::longest_ttl` to the longest ttl + slack of that name.
    std::chrono::milliseconds ttl{10'000};
    /// Added to the key's expiry on the servers. It tolerates steps of their clocks. It also delays the next owner after
    /// a lease that was lost and not released. Default: max(10 % of `ttl`, 50 ms).
    std::optional<std::chrono::milliseconds> slack{};
    /// Renew automatically, when a third of `ttl` has passed. If false, the lease ends at its deadline, unless
    /// `lease::extend` is called.
    bool renew = true;
    /// Keep a body running through `lease_state::suspect`: the validity is over, but an extension may still prove
    /// unbroken ownership.
    bool tolerate_suspect = false;
    /// The lease ends at the latest this long after the winning attempt began, or after its local handoff (see
    /// `handover`). It also shortens the first validity if that is longer. Default: no limit.
    std::optional<std::chrono::milliseconds> max_hold{};
    /// Renew only while the holder calls `lease::progress()` at least this often. A holder that hangs for longer loses
    /// the lock at its deadline. Default: renew whatever the holder does.
    std::optional<std::chrono::milliseconds> progress_within{};
    /// How long one node may take to answer; a later answer does not count. Default: `config::node_timeout`, or else
    /// `ttl` / 20, from 20 to 500 ms.
    std::optional<std::chrono::milliseconds> node_timeout{};
    retry_policy retry{};       ///< when `acquire` tries again
    handover_policy handover{}; ///< how long one client may keep a lock among its own
    /// Wait in one queue with the operations of other clients that want this lock, readers and writers too: first come,
    /// first served, with the exceptions of docs/promise.md, "Order between clients" (docs/protocol.md, rules Q1 to
    /// Q23).
    /// Give all clients of a lock the same value. An operation without a position in the queue asks again after a random
    /// pause, or when a server says that the key has changed. It may overtake the queue, and be overtaken. Readers and
    /// requests for permits have a position in any case; if the value is false, they poll there.
    ///
    /// The queue needs a user of the servers with these rights: EVAL, EVALSHA, TIME, SUBSCRIBE, PUBLISH, EXISTS, TYPE,
    /// ZADD, ZRANGE, ZREM, ZRANK, ZSCORE, ZCARD, MGET, PTTL, PEXPIRE, CLIENT TRACKING, the channels `<key_prefix>redlock-to:*`, and the keys
    /// `<name>:redlock-queue` with the prefix before them. docs/server-checklist.md, "Rights", has all of them. If a
    /// server denies SUBSCRIBE, PUBLISH, CLIENT TRACKING or the channels, or speaks RESP2, operations poll in its queue. If
    /// it denies another right, they wait in the queue of another server. If no server is left, they wait without a position.
    bool fair = true;

    friend bool operator==(lock_options const&, lock_options const&) = default;
};

static_assert(std::is_trivially_destructible_v<lock_options>);

} // namespace redlock

#pragma once

#include <chrono>
#include <optional>
#include <type_traits>

namespace redlock {

/// When and how often `acquire` asks again.
struct retry_policy {
    /// First upper bound of the random pause between two attempts, but never less than two round trips. The bound
    /// doubles with each failed attempt. While no quorum can be reached the pause is uniform in its upper half. While
    /// others hold the lock, the next attempt follows when a node says that the key has changed, or when the keys of
    /// a majority will have expired; only where nodes cannot say so (RESP2, no right to CLIENT TRACKING) it follows
    /// after a pause that is uniform between zero and the bound.
    std::chrono::milliseconds min_delay{2};
    /// Longest upper bound of that pause. So long a waiter also waits for word at most, where nodes do not tell when
    /// the keys expire (no right to PTTL, a key without an expiry).
    std::chrono::milliseconds max_delay{200};
    /// Attempts before `acquire` gives up with the last attempt's error; 0 means no limit. While
    /// others of this client hold the lock or wait for it, each pause of that length counts as one. It bounds no time:
    /// attempts are a millisecond apart, or as long as others keep the lock. For that use `acquire_for`.
    unsigned max_attempts = 0;
    /// How long `acquire` goes on while no quorum can be reached at all, before it fails with `errc::no_quorum`.
    /// Errors that only an operator can mend (wrong password, missing right) end it at once. Nodes that are
    /// quarantined for this lock count as reachable: `acquire` waits for them (see `admission_settings`).
    std::chrono::milliseconds outage_patience{5000};

    friend bool operator==(retry_policy const&, retry_policy const&) = default;
};

/// How long one client may keep a lock among its own operations while others, elsewhere, may wait for it. A lease
/// that is released goes to the next operation in the client's queue without asking the nodes; its deadline stays
/// what it was. The next operation's lock must have the same `ttl`, slack and kind, and must renew itself. After a
/// batch the lock is left alone for three round trips, so that others can get it. While none does, the batches double,
/// up to 64 times their size, also from 1; the period stays.
struct handover_policy {
    /// Leases in a row, at least 1, before others get their turn. Not even 1 keeps every lease from being passed on:
    /// `min_validity` does.
    unsigned batch = 64;
    /// Time in a row.
    std::chrono::milliseconds period{250};
    /// Validity that the next holder needs; where less is left, the lock is released and asked for again. Default:
    /// half of `ttl`. With the whole `ttl` nothing is ever passed on.
    std::optional<std::chrono::milliseconds> min_validity{};

    friend bool operator==(handover_policy const&, handover_policy const&) = default;
};

/// Options of one lock. Trivially destructible on purpose: g++ 12 destroys other temporaries of an awaited
/// expression twice.
///
/// Limits: times are more than zero and at most 24 h, also `ttl` and `max_hold`. `slack` may be zero;
/// `retry.outage_patience` may be zero, and up to a year; `fence_ttl` has limits of its own. The lock's name has 1 to
/// 512 bytes. What is outside is `errc::misconfigured`, thrown by the lock's constructor.
struct lock_options {
    /// What the holder is promised. Longer survives longer pauses of the holder; shorter frees a crashed holder's
    /// lock sooner.
    ///
    /// A node that may have lost keys does not vote for this lock for 1.01 times the largest ttl + slack of the
    /// client's locks of its name (docs/protocol.md, rule N4). So a longer lock waits longer for such a node, and other
    /// names wait no longer than before. If another client locks the same name for longer, set
    /// `admission_settings::longest_ttl` to the longest ttl + slack of that name.
    std::chrono::milliseconds ttl{10'000};
    /// Added to the key's expiry on the servers: room for their clocks to step, and the delay before anybody else
    /// gets an uncleanly lost lock. Default: max(10 % of `ttl`, 50 ms).
    std::optional<std::chrono::milliseconds> slack{};
    /// Renew automatically, from a third of `ttl` on.
    bool renew = true;
    /// Keep a body running through `lease_state::suspect`: the validity is over, but an extension may still prove
    /// unbroken ownership.
    bool tolerate_suspect = false;
    /// The lease ends at the latest this long after the winning attempt began, or after it was handed over (see
    /// `handover`). It cuts the first validity, too, where that is longer.
    std::optional<std::chrono::milliseconds> max_hold{};
    /// Renew only while the holder says often enough that it is getting on (`lease::progress()`): a holder that hangs
    /// for longer than this loses the lock at its deadline. Default: renew whatever the holder does.
    std::optional<std::chrono::milliseconds> progress_within{};
    /// How long one node may take to answer. Default: `config::node_timeout`. Zero is an error here.
    std::optional<std::chrono::milliseconds> node_timeout{};
    /// Fenced locks only: how long a node remembers the last token of a resource that nobody locks. From ten times
    /// `ttl` and `slack` together to a year. Default: 24 h, or that lower limit if it is longer. Plain locks do not look
    /// at it.
    std::optional<std::chrono::milliseconds> fence_ttl{};
    retry_policy retry{};       ///< when `acquire` asks again
    handover_policy handover{}; ///< how long one client may keep a lock among its own
    /// `try_acquire` asks the nodes even while other operations of this client hold the lock or wait for it. What a
    /// holder or waiter of this client sees in `mutex::last_attempt()` is then the answer to the try.
    bool barging = false;

    friend bool operator==(lock_options const&, lock_options const&) = default;
};

static_assert(std::is_trivially_destructible_v<lock_options>);

} // namespace redlock

#pragma once

#include <chrono>
#include <optional>
#include <type_traits>

namespace redlock {

/// When and how often `acquire` asks again.
struct retry_policy {
    /// First upper bound of the random pause between two attempts, but never less than two round trips. The bound
    /// doubles with each failed attempt. While others hold the lock the pause is uniform between zero and the bound, so
    /// that contenders fall out of step; while no quorum can be reached, in its upper half.
    std::chrono::milliseconds min_delay{2};
    /// Longest upper bound of that pause.
    std::chrono::milliseconds max_delay{200};
    /// Attempts before `acquire` gives up with the last attempt's error; 0 means no limit.
    unsigned max_attempts = 0;
    /// How long `acquire` goes on while no quorum can be reached at all, before it fails with `errc::no_quorum`.
    /// Errors that only an operator can mend (wrong password, missing right) end it at once. Nodes that are quarantined
    /// count as reachable: `acquire` waits for them (see `admission_settings`).
    std::chrono::milliseconds outage_patience{5000};
};

/// Options of one lock. Trivially destructible on purpose: g++ 12 destroys other temporaries of an awaited
/// expression twice.
struct lock_options {
    /// What the holder is promised. Longer survives longer pauses of the holder; shorter frees a crashed holder's
    /// lock sooner.
    std::chrono::milliseconds ttl{10'000};
    /// Added to the key's expiry on the servers: room for their clocks to step, and the delay before anybody else
    /// gets an uncleanly lost lock. Default: max(10 % of `ttl`, 50 ms).
    std::optional<std::chrono::milliseconds> slack{};
    /// Renew automatically, from a third of `ttl` on.
    bool renew = true;
    /// Keep a body running through `lease_state::suspect`: the validity is over, but an extension may still prove
    /// unbroken ownership.
    bool tolerate_suspect = false;
    /// Automatic renewal stops so that the lease ends this long after the winning attempt began.
    std::optional<std::chrono::milliseconds> max_hold{};
    /// Renew only while the holder says often enough that it is getting on (`lease::progress()`): a holder that hangs for
    /// longer than this loses the lock at its deadline. Default: renew whatever the holder does.
    std::optional<std::chrono::milliseconds> progress_within{};
    /// How long one node may take to answer. Default: `config::node_timeout`.
    std::optional<std::chrono::milliseconds> node_timeout{};
    /// Fenced locks only: how long a node remembers the last token of a resource that nobody locks. Default: 24 h, or
    /// ten times `ttl` and `slack` if that is longer.
    std::optional<std::chrono::milliseconds> fence_ttl{};
    retry_policy retry{};
};

static_assert(std::is_trivially_destructible_v<lock_options>);

} // namespace redlock

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/export.hpp>
#include <redlock/detail/printed.hpp> // IWYU pragma: export
#include <redlock/node_outcome.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock {

/// The answer of a majority of the nodes about a lock.
enum class lock_status : std::uint8_t {
    unknown, ///< too few nodes answered: the missing answers could make it any of the others
    free,    ///< a majority has no key
    held,    ///< a majority has the key of one owner, or keys of readers or of permits
    blocked, ///< neither, whatever the missing nodes would say: several owners share the nodes, or keys are no locks
};

/// Its name.
[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(lock_status) noexcept;

/// The result of `mutex::inspect()`: a snapshot of the time at which the nodes answered. The lock may have another
/// holder now. To act as the only one, acquire the lock.
struct inspection {
    lock_status status = lock_status::unknown; ///< the majority's answer
    /// Nodes that have the key of the owner with the most nodes; or those where readers, or holders of permits, have
    /// it, if these are more.
    unsigned votes = 0;
    unsigned free = 0; ///< nodes that have no key
    /// The first characters of the holder's nonce (`lease::nonce()` there); empty unless one owner has the lock. The rest
    /// is secret: a client that knows the nonce can release the lock.
    std::string owner{};
    /// Held by a lease of this client; for its validity ask `lease::valid()`. Always false if readers or holders
    /// of permits have the lock.
    bool ours = false;
    /// The earliest time at which a majority of nodes is free if no key is released. Zero: not known, or free.
    /// `nanoseconds::max()`: never, because the keys have no expiry.
    std::chrono::nanoseconds expires_after{};
    /// The latest time at which a majority of nodes is free if no key is renewed or set. Empty: not known, or never.
    std::optional<std::chrono::nanoseconds> expires_within{};
    /// `fenced_mutex` and `fenced_shared_mutex`: the largest token that a node knows, without local handoffs (its lowest
    /// ten bits are zero). The holder's token is as large unless a later attempt failed. Zero: none, or not known.
    std::uint64_t last_token = 0;
    /// Each node's answer, in the order of `config::nodes`: `free`; `granted` if the key belongs to a lease of this
    /// client; `held_by_other`, with `owner` and `remaining`; or why it did not answer. A quarantined node answers,
    /// too.
    std::vector<node_outcome> node_table{};
    /// The kind of owner that has the lock, or the key of its name, on a majority of the nodes: `owner`, `readers` or
    /// `permits` if `held()`. It is `maybe_readers` or `no_lock` if the lock is blocked by such keys alone; otherwise
    /// `unknown`. Nodes without the right to EVAL, TYPE, HGET, MGET, PTTL, ZRANGE or TIME say `maybe_readers` of readers,
    /// too. It does not say how many permits are taken.
    holder_kind holder = holder_kind::unknown;

    /// Does a majority have the key of one owner, or keys of readers or of permits?
    [[nodiscard]] bool held() const noexcept { return status == lock_status::held; }
};

} // namespace redlock

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/export.hpp>
#include <redlock/detail/printed.hpp> // IWYU pragma: export
#include <redlock/server_error.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock {

/// One node's answer to one attempt, or to `mutex::inspect()`.
enum class node_result : std::uint8_t {
    pending,       ///< no answer yet: the attempt was decided without this node
    granted,       ///< voted for this client; of an inspection: the key belongs to this client
    held_by_other, ///< somebody else is in the way: `node_outcome::holder`, if it is known
    timed_out,     ///< no answer within the per-node timeout
    unreachable,   ///< no connection: refused, reset, closed, TLS or handshake failure
    refused,       ///< answered with an error; see `node_outcome::error`
    quarantined,   ///< may not vote for this lock yet; see `node_outcome::remaining`
    free,          ///< only of an inspection: there is no key
};

/// Its name in words, as in messages: "held by another".
[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(node_result) noexcept;

/// The kind of key that refuses a lock.
enum class holder_kind : std::uint8_t {
    unknown, ///< no key does, or the node was not asked
    owner,   ///< one lease: of a `mutex`, a `fenced_mutex`, a writer, or a lock of another library
    readers, ///< readers of a `shared_mutex`
    waiting, ///< nobody, but clients that came earlier wait in the queue and come first
    permits, ///< a `semaphore`'s: too few are free for this operation, or some are held and it wants the name alone
    maybe_readers, ///< the key is no string and expires: readers, permits or other data, the node did not say which
    no_lock,       ///< other data, or a key without an expiry: no lease will release it
};

/// Its name: "maybe_readers".
[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(holder_kind) noexcept;

/// One row of the table of a failed attempt, of an inspection, or of a lost lease.
struct node_outcome {
    std::string node;                          ///< the node's URL, never with a password
    node_result result = node_result::pending; ///< its answer
    server_error error = server_error::none;   ///< class of the server's error when `refused`
    std::string detail;                        ///< the server's or the system's error text, if any
    std::optional<std::chrono::nanoseconds>
        remaining; ///< time left, when the node answered, of the other's key or the quarantine
    /// The time from the attempt's start to reading the reply, also of a node that was asked later. Not recorded if every
    /// answer was a grant. Otherwise a grant has it if the lock is fenced, or the client has an observer;
    /// `observer::on_vote` has it in any case.
    std::optional<std::chrono::nanoseconds> round_trip;
    /// The first characters of the other owner's nonce (`lease::nonce()` there), enough to distinguish owners. Empty
    /// unless the node was asked for it: waiting operations ask, in the queue only the queue's node.
    std::string owner{};
    /// In the table of `lease::explain`: how long before the lease's end the node answered this.
    std::optional<std::chrono::nanoseconds> ago{};
    /// If `held_by_other`: the kind of holder, if the node was asked. A plain vote does not ask; a fenced one, a
    /// reader's, waiting operations and an inspection do.
    holder_kind holder = holder_kind::unknown;
    /// If `held_by_other`, of a `multi_mutex`: the first name that blocked the attempt on this node; after a loss, the first
    /// name that the lease did not own any more. Otherwise empty.
    std::string resource{};
};

/// "1 of 3 granted; redis://b:6379 unreachable (Connection refused); redis://c:6379 refused (NOAUTH ...)". Nodes
/// with the same answer share one entry: "0 of 2 granted; redis://a:6379, redis://b:6379 refused (NOAUTH ...)". Nodes
/// whose answers the result did not need are only counted: "0 of 3 granted; ...; 1 still pending".
[[nodiscard]] REDLOCK_EXPORT std::string to_string(std::vector<node_outcome> const& table);

/// Connection to one node, as seen by `client::node_table()`.
enum class node_state : std::uint8_t {
    idle,       ///< not connected; the next operation connects
    connecting, ///< connecting, or in the handshake
    ready,      ///< may vote
    down, ///< the last connection failed, or the node may not vote at all; waits before the next attempt
    quarantined, ///< connected, but may have lost keys, or its clock was set forward: a lock waits for it
};

/// Its name.
[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(node_state) noexcept;

/// One row of `client::node_table()`.
struct node_status {
    std::string node;                    ///< the node's URL, never with a password
    node_state state = node_state::idle; ///< may it vote?
    /// Why it is down; why it is quarantined, and for which lock; what about it cannot be checked; or the last error
    /// that it answered to a release or an extension. For an idle node, the last known detail.
    std::string detail;
    /// For a quarantined node: the time until it votes for the lock that `detail` names. If several locks asked, it is
    /// the one that waits longest.
    std::optional<std::chrono::nanoseconds> remaining{};
    /// For a group of servers: the address of the master that was connected last. Otherwise empty.
    std::string master{};
};

} // namespace redlock

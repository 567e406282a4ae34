#pragma once

#include <redlock/export.hpp>
#include <redlock/server_error.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock {

/// What one node answered to one attempt, or to `mutex::inspect()`.
enum class node_result : std::uint8_t {
    pending,       ///< no answer yet: the attempt was decided without this node
    granted,       ///< voted for us; of an inspection: the key is ours
    held_by_other, ///< the key exists with another owner's nonce
    timed_out,     ///< no answer within the per-node timeout
    unreachable,   ///< no connection: refused, reset, closed, TLS or handshake failure
    refused,       ///< answered with an error; see `node_outcome::error`
    quarantined,   ///< may not vote for this lock yet; see `node_outcome::remaining`
    free,          ///< of an inspection alone: the key is not there
};

/// Its name in words, as in messages: "held by another".
[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(node_result) noexcept;

/// One row of the table that every failed attempt leaves behind.
struct node_outcome {
    std::string node;                          ///< the node's URL, never with a password
    node_result result = node_result::pending; ///< its answer
    server_error error = server_error::none;   ///< class of the server's error when `refused`
    std::string detail;                        ///< the server's or the system's own words, if any
    std::optional<std::chrono::milliseconds>
        remaining; ///< time left of the other owner's key or the quarantine
    /// From sending the vote to reading its reply. Not of an attempt that was won without a word but grants: of those
    /// `observer::on_vote` tells it.
    std::optional<std::chrono::microseconds> round_trip;
    /// The first characters of the other owner's nonce (`lease::nonce()` there), where the node was asked for it, as
    /// waiters do: enough to tell owners apart.
    std::string owner{};
    /// How long ago it said that: of what nodes last said of a lease (`lease::explain`), counted from the lease's end.
    std::optional<std::chrono::milliseconds> ago{};
};

/// "1 of 3 granted; redis://b:6379 unreachable (Connection refused); redis://c:6379 refused (NOAUTH ...)". Nodes that
/// said the same share its words: "0 of 2 granted; redis://a:6379, redis://b:6379 refused (NOAUTH ...)". Of nodes that the
/// verdict did not wait for only the number is told: "0 of 3 granted; ...; 1 not waited for".
[[nodiscard]] REDLOCK_EXPORT std::string summary(std::vector<node_outcome> const& table);

/// Connection to one node, as seen by `client::nodes()`.
enum class node_state : std::uint8_t {
    idle,        ///< not connected; the next operation connects
    connecting,  ///< connecting, or shaking hands
    ready,       ///< may vote
    down,        ///< the last connection failed, or the node may not vote at all; waiting before the next try
    quarantined, ///< connected, but may have lost keys, or its clock was set forward: a lock waits for it
};

/// Its name.
[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(node_state) noexcept;

/// One row of `client::nodes()`.
struct node_status {
    std::string node;                    ///< the node's URL, never with a password
    node_state state = node_state::idle; ///< may it vote?
    /// Why it is down; why it is quarantined, and for which lock; what of it cannot be checked; or what error it last
    /// answered instead of releasing or extending. Of an idle node: what was known last.
    std::string detail;
    /// Of a quarantined node: until it votes for the lock that `detail` names. Of several locks that asked, it is the one
    /// that waits longest.
    std::optional<std::chrono::milliseconds> remaining{};
};

} // namespace redlock

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/export.hpp>
#include <redlock/detail/printed.hpp> // IWYU pragma: export
#include <redlock/error.hpp>
#include <redlock/node_outcome.hpp>
#include <redlock/server_error.hpp>

#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace redlock {

/// A node's connection changed, or a lock has to wait for the node. A quarantine is reported once, and again only if
/// another lock waits longer. At the first vote after its end the node is `ready`. Also reported without a change: the
/// node refuses a command that locks can do without, such as those of the queue; each text once for a client, at most
/// 16 for a node. The views, here and in the other events, are valid during the call.
struct node_event {
    std::string_view node;       ///< URL without password
    node_state state;            ///< its present state
    std::string_view detail;     ///< why, as in `node_status::detail`
    std::string_view resource{}; ///< quarantined: the name of the lock that may not rely on the node yet
    /// quarantined: the time until it votes for that lock. Locks with shorter keys wait for a shorter time.
    std::optional<std::chrono::nanoseconds> remaining{};
    /// For a group of servers that is connected: the address of its master. Otherwise empty.
    std::string_view master{};
};

/// An operation waits in its client's local queue, or in the queue of the name with other clients.
///
/// In the local queue: another operation of this client holds the lock or came first. Reported once, when the operation
/// begins to wait, and not again when operations before it leave.
///
/// In the queue of the name (docs/protocol.md, rule Q1): reported when the node has answered with the operation's
/// position, and when the node calls it the first. A waiter that polls, or is served from farther back, may not be told
/// that. It is not reported when positions before it leave. If the operation wants several names, the queue is that of
/// the name that is taken. If the operation ends, the next one in the local queue takes over its position, and is told
/// of it. If a claim is refused and the operation enters the queue again, or if it moves to another node's queue (rule
/// Q17), its new position is reported.
struct wait_event {
    std::string_view resource; ///< the lock's name
    /// Operations before it in the local queue, without the holder. With `in_queue`: positions before it, as the node
    /// answered. Some may be of clients that have ended: these are skipped. Clients without a position may overtake it.
    std::size_t before;
    bool held_here;        ///< by a lease of this client
    bool in_queue = false; ///< with other clients; otherwise in this client's local queue
};

/// A node answered a vote or an extension, failed to, or was not asked because it may not vote.
///
/// A vote is `timed_out` after the per-node timeout. An unanswered extension is reported when its connection is closed
/// (`health_settings::response_timeout`). It is reported once per command; with a short `ttl` this may come after the loss.
/// A late answer to a renewal that has ended is reported when it comes, with a `round_trip` of zero.
struct vote_event {
    std::string_view resource; ///< the lock's name
    std::string_view node;     ///< URL without password
    bool extension;            ///< for an extension of a held lease; otherwise a vote of an attempt
    node_result result;        ///< for an extension: `held_by_other` also if the key does not exist
    std::chrono::nanoseconds
        round_trip; ///< from the attempt's start to the answer; zero without one. Includes delays of this process
    server_error error = server_error::none; ///< class of the server's error when `refused`
    std::string_view detail{};               ///< the server's or the system's error text, if any
};

/// An attempt was decided.
struct attempt_event {
    std::string_view resource;         ///< the lock's name
    boost::system::error_code result;  ///< success, `contended`, `no_quorum` or `too_slow`
    unsigned granted;                  ///< votes for this client when it was decided
    unsigned node_count;               ///< N
    unsigned attempt;                  ///< 1 for the first of this acquisition
    std::chrono::nanoseconds took;     ///< from the first vote sent to the decision
    std::chrono::nanoseconds validity; ///< left when it was granted, zero otherwise
    /// It failed while this client had a lease of the lock: a reader's, or one with permits. Other clients may have it,
    /// too.
    bool held_here = false;
};

/// An acquisition has ended, with a lease or without; `try_acquire` as well as those that wait.
struct acquire_event {
    std::string_view resource; ///< the lock's name
    /// Success, an `errc`, `operation_aborted` or `std::errc::not_enough_memory`.
    boost::system::error_code result;
    unsigned attempts; ///< completed for it; 0 if it made none, or got the lock by a local handoff
    std::chrono::nanoseconds waited; ///< from the call to its end
    /// How the last attempt for it failed: `contended`, `no_quorum` or `too_slow`. Also `contended` if it waited in the
    /// queue, behind a holder. Also `no_quorum` if its time ended while too few nodes were connected, or answered the
    /// operations before it (within an eighth of `node_timeout`). Empty if it got the lock, if only other operations of
    /// this client were before it, or if no attempt was completed and it had no position. It tells a `timed_out` in an
    /// outage from one because other clients held the lock.
    boost::system::error_code last_failure{};
};

/// A release has ended: a majority has answered, or all reachable nodes have, or the per-node timeout is over. Reported
/// for each lease that is `released`, whether an operation waits for it or its handle was destroyed, unless other readers of
/// its client keep its key. For a lost lease's remaining keys there is only `linger_event`.
struct release_event {
    std::string_view resource;        ///< the lock's name
    boost::system::error_code result; ///< success, `no_quorum` or `lease_lost`, as of `lease::release`
    unsigned answered;                ///< nodes that have executed it so far
    unsigned node_count;              ///< N
};

/// A node has not confirmed that a key was deleted: after a release, a lost lease, an attempt, or because the client
/// ends. The key stays there until it expires by itself, unless the node executes the release nevertheless, or reconnects
/// before.
struct linger_event {
    std::string_view resource;          ///< the lock's name
    std::string_view node;              ///< URL without password
    std::chrono::nanoseconds remaining; ///< at most
};

/// Something happened to a lease.
struct lease_event {
    /// The kinds of event.
    enum class kind : std::uint8_t {
        acquired, ///< granted, or received by a local handoff
        renewed,  ///< confirmed by a majority; `remaining` is the new validity
        renewal_failed, ///< a round was not confirmed by a majority; the deadline is unchanged, and the next round follows
        ///< after an eighth of the remaining time, at least 10 ms. Reported once in a row of such rounds: `failed`
        ///< of the next event says how many there were
        suspect, ///< the deadline has passed, and the lock tolerates that for its slack
        lost,    ///< ended without a release
        released, ///< released by its holder or the client; or by `lease::detach`, if other readers keep its key
        stalled,     ///< not renewed, because the holder makes no progress (`lock_options::progress_within`)
        handed_over, ///< it continues as the lease of another operation of this client, which is then `acquired`
        /// Its keys were left for another process to adopt; or a `multi_mutex` that took its names singly has all.
        detached,
        downgraded ///< it was a writer's, and is a reader's (`lease::downgrade`)
    };
    kind what;                          ///< the kind of the event
    std::string_view resource;          ///< the lock's name
    unsigned votes;                     ///< nodes that hold its key, as `lease::votes` counts them
    unsigned node_count;                ///< N
    std::chrono::nanoseconds remaining; ///< validity left
    std::chrono::nanoseconds spare;     ///< `renewed`: validity left before; negative after `suspect`
    std::chrono::nanoseconds held;      ///< since `acquired`
    loss_cause cause;                   ///< `lost`
    unsigned failed = 0; ///< consecutive rounds before this event that no majority confirmed, at most 255
    std::string_view detail{}; ///< `lost`: the text of the exception, as of `lease::explain`
    bool shared = false;       ///< a reader's (`lease::shared()`)
};

/// Its name in words: "renewal failed".
[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(lease_event::kind) noexcept;

/// A setup that works, but perhaps not as intended. Reported once for each cause and node, when the nodes are connected.
/// The locks are safe without a reaction.
struct warning_event {
    /// The subjects of a warning.
    enum class kind : std::uint8_t {
        even_nodes,   ///< an even number of nodes: one node less tolerates as many failures
        same_server,  ///< two URLs name one server: the second URL does not vote
        has_replicas, ///< replicas are attached to a node: one that is promoted lacks the latest locks
        quarantine ///< an operation waits until nodes may vote again; reported again if that ends later than reported
    };
    kind what;                            ///< the subject
    std::string_view node;                ///< URL without password; empty if it concerns all nodes
    std::string_view resource;            ///< `quarantine`: the lock's name; otherwise empty
    std::string_view words;               ///< message text, to be prefixed with the node or lock name
    std::chrono::nanoseconds remaining{}; ///< `quarantine`: time until a majority may vote; otherwise zero
};

/// Its name in words: "even nodes".
[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(warning_event::kind) noexcept;

/// Receives the events of a client: derive from it, override what you need, and set `config::observer`.
///
/// It is called on the client's executor, during the client's work: be brief, do not throw, and call no member of the
/// client, its locks or leases. Events are values; `log_to` formats them as text.
class REDLOCK_EXPORT observer {
public:
    observer() = default;
    observer(observer const&) = delete;
    observer& operator=(observer const&) = delete;
    virtual ~observer();

    /// A connection's state changed, or a node may not vote yet for a lock that asks it.
    virtual void on_node(node_event const&) noexcept {}
    /// An operation has begun to wait in its client's local queue, has a position in the queue, or is the first there now.
    virtual void on_wait(wait_event const&) noexcept {}
    /// A node answered (possibly late), failed, or was skipped.
    virtual void on_vote(vote_event const&) noexcept {}
    /// An attempt was decided.
    virtual void on_attempt(attempt_event const&) noexcept {}
    /// An acquisition has ended.
    virtual void on_acquire(acquire_event const&) noexcept {}
    /// A lease began, continued or ended.
    virtual void on_lease(lease_event const&) noexcept {}
    /// A released key may stay on a node.
    virtual void on_linger(linger_event const&) noexcept {}
    /// A release has ended.
    virtual void on_release(release_event const&) noexcept {}
    /// The setup should be checked, or an operation waits for the end of a quarantine.
    virtual void on_warning(warning_event const&) noexcept {}
};

/// One observer that passes every event to each of these, in their order: `observers({log_to(std::clog), metrics})`.
/// Skips null pointers, and shares ownership of the other ones.
/// \throws std::bad_alloc
[[nodiscard]] REDLOCK_EXPORT std::shared_ptr<observer> observers(std::vector<std::shared_ptr<observer>>);

} // namespace redlock

#pragma once

#include <redlock/error.hpp>
#include <redlock/export.hpp>
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

/// A node's connection changed, or a lock has to wait for the node. A quarantine is told once, and again only if another
/// lock waits longer; at the first vote after its end the node is `ready`. The views, here and in the other events, live
/// as long as the call.
struct node_event {
    std::string_view node;       ///< URL without password
    node_state state;            ///< what it is now
    std::string_view detail;     ///< why, as in `node_status::detail`
    std::string_view resource{}; ///< quarantined: the name of the lock that may not rely on the node yet
    /// quarantined: until it votes for that lock. Locks whose keys live less long wait less long.
    std::optional<std::chrono::milliseconds> remaining{};
};

/// An operation waits in its client's queue: others of this client hold the lock or were there before. Said once, when it
/// begins to wait, and not again when others before it leave.
struct wait_event {
    std::string_view resource; ///< the lock's name
    std::size_t before;        ///< operations that stand before it, at most
    bool held_here;            ///< by a lease of this client
};

/// A node answered a vote or an extension, failed to, or was not asked because it may not vote.
///
/// A vote is `timed_out` when its time is over. Of an extension without an answer that is said only when the connection is
/// given up (`health_settings::response_timeout`), once for each that was sent: with a short `ttl` after the loss that it
/// led to. An answer that comes after its renewal was given up is told when it comes, with a `round_trip` of zero.
struct vote_event {
    std::string_view resource; ///< the lock's name
    std::string_view node;     ///< URL without password
    bool extension;            ///< of a lease that is held; otherwise a vote of an attempt
    node_result result;        ///< of an extension: `held_by_other` also where the key is gone
    std::chrono::nanoseconds
        round_trip; ///< of those that answered in time; zero otherwise. Counts our own lateness
    server_error error = server_error::none; ///< class of the server's error when `refused`
    std::string_view detail{};               ///< the server's or the system's own words, if any
};

/// An attempt was decided.
struct attempt_event {
    std::string_view resource;         ///< the lock's name
    boost::system::error_code result;  ///< success, `contended`, `no_quorum` or `too_slow`
    unsigned granted;                  ///< votes for us when it was decided
    unsigned nodes;                    ///< N
    unsigned attempt;                  ///< 1 for the first of this acquisition
    std::chrono::nanoseconds took;     ///< from the first vote sent to the verdict
    std::chrono::nanoseconds validity; ///< left when it was granted, zero otherwise
};

/// An operation that wanted the lock has ended, with a lease or without; `try_acquire` as well as the waiting ones.
struct acquire_event {
    std::string_view resource;        ///< the lock's name
    boost::system::error_code result; ///< success, an `errc`, or `operation_aborted`
    unsigned attempts; ///< decided for it; zero where it never had its turn, or was handed the lock
    std::chrono::nanoseconds waited; ///< from the call to its end
    /// How the last attempt for it failed: `contended`, `no_quorum` or `too_slow`; `no_quorum`, too, where its time was
    /// over while too few nodes were connected, or answered those before it (within an eighth of `node_timeout`). Empty
    /// where it has the lock, where only others of this client were before it, and where its only attempt was undecided.
    /// So a `timed_out` that is an outage is told from one where others had the lock.
    boost::system::error_code last_failure{};
};

/// A release has ended: a majority has answered, or all that could, or the per-node timeout is over. So told of each lease
/// that is `released`, whether somebody waits for it or its handle was destroyed; of what is left of a lost lease
/// only `linger_event` tells.
struct release_event {
    std::string_view resource;        ///< the lock's name
    boost::system::error_code result; ///< success, `no_quorum` or `lease_lost`, as of `lease::release`
    unsigned answered;                ///< nodes that had executed it by then
    unsigned nodes;                   ///< N
};

/// A key given up, by a release or as what is left of a lost lease or of an attempt, and a node has not confirmed it, also
/// because the client ends: unless the node executes it all the same, or comes back before, the key stays there until it
/// expires by itself.
struct linger_event {
    std::string_view resource;          ///< the lock's name
    std::string_view node;              ///< URL without password
    std::chrono::nanoseconds remaining; ///< at most
};

/// Something happened to a lease.
struct lease_event {
    /// What can happen.
    enum class kind : std::uint8_t {
        acquired,       ///< granted, or taken over from another operation of this client
        renewed,        ///< confirmed by a majority; `remaining` is the new validity
        renewal_failed, ///< a round was not confirmed by a majority; the old deadline stands, and it is tried again
        ///< after an eighth of what is left, at least 10 ms. Told once in a row of such rounds: `failed` of the
        ///< next event says how many there were
        suspect,     ///< the deadline has passed, and the lock tolerates that for the time of its slack
        lost,        ///< over without having been released
        released,    ///< given up
        stalled,     ///< not renewed, because the holder does not get on (`lock_options::progress_within`)
        handed_over, ///< it goes on as the lease of another operation of this client, which is then `acquired`
        detached     ///< its keys were left behind, for another process to go on with
    };
    kind what;                          ///< what happened
    std::string_view resource;          ///< the lock's name
    unsigned votes;                     ///< nodes known to hold our key
    unsigned nodes;                     ///< N
    std::chrono::nanoseconds remaining; ///< validity left
    std::chrono::nanoseconds spare;     ///< of `renewed`: what was left before; negative after `suspect`
    std::chrono::nanoseconds held;      ///< since `acquired`
    loss_cause cause;                   ///< of `lost`
    unsigned failed = 0;       ///< rounds in a row that no majority confirmed before this event, 255 at most
    std::string_view detail{}; ///< of `lost`: the text of the exception, as of `lease::explain`
};

/// Its name in words: "renewal failed".
[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(lease_event::kind) noexcept;

/// Something that works, but not as whoever set it up may believe. Reported once for each cause and node, when the nodes
/// are connected; nothing has to be done about it for the locks to be safe.
struct warning_event {
    /// What it is about.
    enum class kind : std::uint8_t {
        even_nodes,   ///< an even number of nodes: one node less survives as many failures
        same_server,  ///< two URLs lead to one server: the second URL does not vote
        has_replicas, ///< replicas are attached to a node: one that is promoted lacks the latest locks
        quarantine ///< an operation waits until nodes may vote again; reported again if that ends later than reported
    };
    kind what;                 ///< what it is about
    std::string_view node;     ///< URL without password; empty if all nodes are meant
    std::string_view resource; ///< `quarantine`: the lock's name; otherwise empty
    std::string_view words;    ///< a sentence whose subject is the node or the lock, if there is one
    std::chrono::nanoseconds remaining{}; ///< `quarantine`: until a majority may vote; otherwise zero
};

/// Its name in words: "even nodes".
[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(warning_event::kind) noexcept;

/// Told of what happens inside a client: derive, override what is of interest, put it into `config::observer`.
///
/// Called on the client's executor, in the middle of its work: be brief, do not throw, and call no member of the
/// client, its locks or leases. Text is formatted by whoever wants text; the types are the contract.
class REDLOCK_EXPORT observer {
public:
    observer() = default;
    observer(observer const&) = delete;
    observer& operator=(observer const&) = delete;
    virtual ~observer();

    /// A connection's state changed, or a node may not vote yet for a lock that asks it.
    virtual void on_node(node_event const&) noexcept {}
    /// An operation has begun to wait in its client's queue.
    virtual void on_wait(wait_event const&) noexcept {}
    /// A node answered, be it after the verdict; or failed to, or was not asked, before it.
    virtual void on_vote(vote_event const&) noexcept {}
    /// An attempt was decided.
    virtual void on_attempt(attempt_event const&) noexcept {}
    /// An acquisition has ended.
    virtual void on_acquire(acquire_event const&) noexcept {}
    /// A lease began, went on or ended.
    virtual void on_lease(lease_event const&) noexcept {}
    /// A key may stay where it was released.
    virtual void on_linger(linger_event const&) noexcept {}
    /// A release has ended.
    virtual void on_release(release_event const&) noexcept {}
    /// The setup deserves a look, or an operation waits for a quarantine to end.
    virtual void on_warning(warning_event const&) noexcept {}
};

/// One observer that passes every event to each of these, in their order: `observers({log_to(std::clog), metrics})`.
/// Null pointers are skipped. It keeps the others alive.
/// \throws std::bad_alloc
[[nodiscard]] REDLOCK_EXPORT std::shared_ptr<observer> observers(std::vector<std::shared_ptr<observer>>);

} // namespace redlock

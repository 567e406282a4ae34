// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/attempt.hpp"
#include "redis/command.hpp"
#include "redis/resp.hpp"
#include "redis/script.hpp"
#include <redlock/node_outcome.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace redlock::kind {

/// The requests to a node. Requests that a node may refuse for its data come first.
enum class request : std::uint8_t {
    vote,       ///< take the lock
    claim,      ///< take it from the client that has handed it over
    write_back, ///< raise the number to the agreed one
    extend,
    downgrade, ///< renew what is ours as a reader, whether we have it as a writer or as a reader (rule S12)
    adopt,     ///< the first extension of a lease that another client was granted
    release,
    give_back,    ///< hand it to the first in the queue, and leave the queue
    enter,        ///< take a position in the queue, or ask again
    whose,        ///< of a key that is no string: do readers or permit holders have it?
    owner,        ///< the owner of the key
    time_left,    ///< time until the key expires
    number,       ///< the highest so far
    leader,       ///< the leader announcement
    lock_release, ///< an election's lock alone, because the node refuses to delete the announcement with it
};
inline constexpr std::size_t request_count = 15;

/// The arguments of a request for the queue.
struct queue_arguments {
    std::string_view position{}; ///< empty: it has none
    bool at_front = false;       ///< an entry after a claim that was refused
    bool leaves_free = false;    ///< a release that leaves the lock open to unqueued clients for a moment
    /// For a release: how long that moment is, or how long the lock has passed from one owner to the next.
    std::chrono::microseconds time{};
};

/// The kind of ownership that a waiter wants.
enum class waiter_kind : char { exclusive = 'x', shared = 'r', permits = 'p' };

/// The number of wanted permits of a semaphore, and the number that exists (rule P3).
struct permits {
    std::uint16_t limit = 0;
    std::uint16_t count = 0;
    bool operator==(permits const&) const = default;
};

/// Terms in which locks of one kind with the same options may differ, in the kind's own words. The engine compares them as a
/// whole, and shows them to votes.
using lock_terms = std::string;

/// The arguments of a command: what a client asks the nodes to grant, what a lease extends and gives back, and a
/// release that a node still has to be sent.
struct command_arguments {
    redis::lock_key key;
    std::string_view nonce;
    std::uint64_t number = 0; ///< proposed by a vote, agreed on afterwards; plain locks have none
    /// For a claim: the nonce that was given up for it, or its own. For several names, their nonces joined.
    std::string_view previous_owner{};
    queue_arguments queue{};
    std::string_view announcement{}; ///< an election's extension: the announcement; empty: there is none yet
    std::string_view terms{};
    std::string_view numbers{}; ///< permits; empty: a vote takes any, a release gives all of ours back
    std::string_view
        given{}; ///< the permits that the node gave to this attempt, which now wants others (rule Q14)
    std::uint16_t start = 0; ///< the first permit that a vote for any looks at
};

/// A node's answer about another owner's key.
struct key_observation {
    bool gone = false;
    bool immortal = false; ///< it has no expiry
    holder_kind who = holder_kind::unknown;
    std::uint64_t owner = 0;
    std::optional<std::string_view> nonce{}; ///< the owner's, if it was told completely; part of the reply
    std::optional<std::chrono::milliseconds> left{};
    std::uint8_t which = 0; ///< the index of the name, from zero
};

/// A node's answer.
struct answer {
    enum class meaning : std::uint8_t {
        granted,  ///< or done
        repaired, ///< the key was gone, and is set again
        denied,   ///< the key is another's, or is gone
        // The following answers are about more than the lock.
        unknown_script, ///< nothing was executed
        other_data,     ///< not the data that the connection began with
        error,          ///< or an unknown answer
    };
    meaning what = meaning::error;
    /// Was the key changed and not read? Then the node reports its next change only after another read.
    bool unread = false;
    /// Has the release called the first in a queue? It may be denied then, because of another name.
    bool handed_on = false;
    /// For a vote, the node's own number; for an entry in the queue, the number of positions before ours.
    std::uint64_t number = 0;
};

/// The lifetimes of a lock's keys.
struct lifetimes {
    std::chrono::milliseconds key;
    std::chrono::milliseconds number;       ///< life of the highest number, while no client takes the lock
    std::chrono::milliseconds quarantine{}; ///< quarantine of nodes that have lost data
};

/// The commands of all locks of one kind with the same lifetimes, preformatted.
class commands {
public:
    commands() = default;
    commands(commands const&) = delete;
    commands& operator=(commands const&) = delete;
    virtual ~commands() = default;

    /// \param form of a script; never a native one, unless the kind has a native command for the request
    virtual void append(std::string& out, request, command_arguments const&, redis::script_form) const = 0;
};

/// The changes that a lease hears of when another client changes its keys (rule W6).
enum class watching : std::uint8_t {
    nothing,   ///< readers and permits
    keys,      ///< the node tells of the key, and is asked whose it is
    extensions ///< several names: the node tells of the keys, and an extension asks for all of them
};

/// The next holder within the client when it is given up (rule W4).
enum class handoff : std::uint8_t { next, nobody };

/// The properties of a kind of lock: how commands are written, how answers are read, and what must agree. Constant.
// rule K1
struct lock_kind {
    core::agreement agreement;
    /// Do nodes vote only while they have the data that the connection began with (rule F6)? Then a vote, a write-back,
    /// an extension and an adoption end with the node's marker, which the caller appends.
    bool marked;
    /// May many owners have it at once, each as its own member?
    bool shared = false;
    /// The kind for a reader of the same lock; null: it has no readers.
    lock_kind const* as_reader = nullptr;
    /// Are an extension and a release, except for the queue, commands if the server compares by itself (rule K8)?
    bool compares = false;
    /// Is it held under several names at once (rules M1 to M9)?
    bool several = false;
    /// Is its holder a leader, which announces itself to other clients (rules EL1 to EL7)?
    bool announces = false;
    /// Is it a semaphore, each of whose permits is held by one lease (rules P1 to P9)?
    bool has_permits = false;
    watching watches = watching::keys;
    handoff passes_to = handoff::next;
    /// The greatest number of handoffs that its tokens can count.
    std::uint32_t most_handoffs = std::numeric_limits<std::uint32_t>::max();
    /// The scripts of its requests; null: a command.
    std::array<redis::script const*, request_count> scripts;
    /// The questions about a key that another owner may have.
    std::span<request const> inspection;

    /// \param key_prefix of all keys of the client
    std::unique_ptr<commands const> (*make_commands)(std::string_view key_prefix, lifetimes const&);
    /// Appends a release, a question or a request for the queue: they do not depend on lifetimes.
    void (*append)(std::string& out, request, command_arguments const&, redis::script_form);
    answer (*read)(request, redis::resp_node const&);
    /// Reads the key observation from a denied vote, an entry in the queue, or a question.
    key_observation (*read_observation)(request, redis::resp_node const&);

    [[nodiscard]] constexpr redis::script const* script(request what) const
    {
        return scripts[static_cast<std::size_t>(what)];
    }
    /// Is it a command if the server compares by itself?
    [[nodiscard]] constexpr bool native(request what) const
    {
        return compares && (what == request::extend || what == request::adopt || what == request::release);
    }
    /// Does this command end with the node's marker?
    [[nodiscard]] constexpr bool marks(request what) const { return marked && what <= request::adopt; }
    /// The kind of its positions in the queue.
    [[nodiscard]] constexpr waiter_kind position_kind() const
    {
        return has_permits ? waiter_kind::permits : shared ? waiter_kind::shared : waiter_kind::exclusive;
    }
    /// Returns the kind of its positions in the queue. A lock of several names waits as an exclusive lock of one of
    /// them.
    [[nodiscard]] constexpr lock_kind const& in_queue() const;
    /// Do votes heed the queue node (rule Q10)? Those for exclusive locks do not.
    [[nodiscard]] constexpr bool heeds() const { return position_kind() != waiter_kind::exclusive; }
    /// Does a release leave the lock to unqueued clients for a moment, if a window is owed (rule Q19)?
    [[nodiscard]] constexpr bool opens_window() const { return position_kind() != waiter_kind::permits; }
    /// The first release request to each node: with several names each may have a queue there (rule M3).
    [[nodiscard]] constexpr request release_request() const
    {
        return several ? request::give_back : request::release;
    }
    [[nodiscard]] constexpr bool counts() const { return agreement == core::agreement::one_number; }
};

extern lock_kind const plain;
extern lock_kind const fenced;
extern lock_kind const reader;
extern lock_kind const writer;
extern lock_kind const fenced_reader;
extern lock_kind const fenced_writer;
extern lock_kind const multi;
extern lock_kind const fenced_multi;
extern lock_kind const semaphore;
extern lock_kind const fenced_semaphore;
extern lock_kind const election;
extern lock_kind const election_view; ///< for clients that only observe a leader: it is no lock

constexpr lock_kind const& lock_kind::in_queue() const
{
    return several ? plain : *this;
}

/// Returns the form in which a node must be sent a request that it has not executed because of its form (rule A7).
/// \param native how this connection compares by itself, if the request has that form
[[nodiscard]] std::optional<redis::script_form> other_form(redis::script_form, redis::resp_node const& reply,
                                                           std::optional<redis::script_form> native);
/// Does that answer mean that no request of any lock can be sent in this form?
[[nodiscard]] bool refuses_form(redis::resp_node const& reply);

/// Appends the end of a command. \param marker that the node must have; empty: any
void append_marker(std::string& out, std::string_view marker);

/// Endings that the names of locks must not have: they are those of the other keys.
[[nodiscard]] std::span<std::string_view const> kept_names();

} // namespace redlock::kind

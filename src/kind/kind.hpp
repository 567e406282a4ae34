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
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace redlock::kind {

/// What a node is asked. Those that a node may refuse for its data come first.
enum class request : std::uint8_t {
    vote,       ///< take the lock
    claim,      ///< take it from who has handed it over
    write_back, ///< have the number that the others agree on
    extend,
    downgrade, ///< renew what is ours as a reader, whether we have it as a writer or as a reader (rule S12)
    adopt,     ///< the first extension of a lease that another client was granted
    release,
    give_back, ///< hand it to the first in the queue, and leave the queue
    enter,     ///< take a position in the queue, or ask again
    whose,     ///< of a key that is no string: do readers have it?
    owner,     ///< whose key is there
    time_left, ///< and for how long still
    number,    ///< the highest so far
    leader,    ///< who has proclaimed itself
    lock_release, ///< of an election: the lock alone, because the node refuses to retract the proclamation with it
};
inline constexpr std::size_t request_count = 15;

/// Words of a request that only the queue needs.
struct queue_words {
    std::string_view position{}; ///< empty: it has none
    bool at_front = false;       ///< an entry after a claim that was refused
    bool leaves_free = false;    ///< a release that leaves the lock open to unqueued clients for a moment
    /// A release says for how long that is, or has passed from one to the next.
    std::chrono::microseconds time{};
};

/// How a waiter wants the lock.
enum class waiter_kind : char { exclusive = 'x', shared = 'r', permits = 'p' };

/// How many permits of a semaphore are wanted, and how many there are (rule P3).
struct permits {
    std::uint16_t limit = 0;
    std::uint16_t count = 0;
    bool operator==(permits const&) const = default;
};

/// What a request is about: what a client asks the nodes to grant, what a lease extends and gives back, and what is owed
/// to a node that was away.
struct subject {
    redis::lock_key key;
    std::string_view nonce;
    std::uint64_t number = 0; ///< proposed by a vote, agreed on afterwards; plain locks have none
    /// For a claim: the nonce that was given up for it, or its own. Of several names, such nonces one behind the other.
    std::string_view giver{};
    queue_words queue{};
    std::string_view
        proclaimed{}; ///< with an extension, of an election: who leads; empty: nobody says so yet
    permits wanted{};
    std::string_view numbers{}; ///< of permits; empty: of a vote any, of a release all that are ours
    std::string_view
        given{};             ///< those that the node has given to this attempt, which wants others (rule Q14)
    std::uint16_t start = 0; ///< of a vote for any: where to look first
};

/// What a node told of another's key.
struct sighting {
    bool gone = false;
    bool immortal = false; ///< it has no expiry
    holder_kind who = holder_kind::unknown;
    std::uint64_t owner = 0;
    std::optional<std::string_view> nonce{}; ///< the owner's, if it was told whole; part of the reply
    std::optional<std::chrono::milliseconds> left{};
    std::uint8_t which = 0; ///< of several names, counted from zero
};

/// What a node answered.
struct answer {
    enum class meaning : std::uint8_t {
        granted,   ///< or done
        repaired,  ///< the key was gone, and is set again
        handed_on, ///< to the first in line
        denied,    ///< the key is another's, or is gone
        // These say more than what the lock asked.
        unknown_script, ///< nothing was executed
        other_data,     ///< than the connection began with
        error,          ///< or none of the answers that there are
    };
    meaning what = meaning::error;
    /// Was the key changed and not read? Then the node tells of its next change only after another look at it.
    bool unread = false;
    /// The node's own, with a vote's answer; how many stand before us, with a line's.
    std::uint64_t number = 0;
};

/// Of the keys of a lock.
struct lifetimes {
    std::chrono::milliseconds key;
    std::chrono::milliseconds number;       ///< of the highest number, while nobody takes the lock
    std::chrono::milliseconds quarantine{}; ///< of nodes that have forgotten
};

/// The commands of all locks of one kind with the same lifetimes, preformatted.
class commands {
public:
    commands() = default;
    commands(commands const&) = delete;
    commands& operator=(commands const&) = delete;
    virtual ~commands() = default;

    /// \param form of what is a script; none that is native, unless the kind says so of the request
    virtual void append(std::string& out, request, subject const&, redis::script_form) const = 0;
};

/// What a kind of lock supplies: how it is written, how answers read, and what must agree. Constant.
// rule K1
struct lock_kind {
    core::agreement agreement;
    /// Do nodes vote only while they have the data that the connection began with (rule F6)? Then the end of a vote, a
    /// write-back, an extension or an adoption is left to the node: its marker.
    bool marked;
    /// May many have it at once, each as a member of its own?
    bool shared = false;
    /// That of a reader of the same lock; null: it has no readers.
    lock_kind const* as_reader = nullptr;
    /// Are an extension and a release, but for the line, commands where the server compares by itself (rule K8)?
    bool compares = false;
    /// Is it held under several names at once (rules M1 to M9)?
    bool several = false;
    /// Is its holder a leader, who tells others who it is (rules EL1 to EL7)? Such a lease is not handed to another holder of
    /// its client.
    bool proclaims = false;
    /// Is it a semaphore, each of whose permits is held by one lease (rules P1 to P9)? Such a lease, too, goes to another
    /// operation of its client only by the queue.
    bool slotted = false;
    /// The scripts of its requests; null: a command.
    std::array<redis::script const*, request_count> scripts;
    /// What is asked of a key that somebody else may have.
    std::span<request const> inspection;

    /// \param key_prefix of all keys of the client
    std::unique_ptr<commands const> (*make_commands)(std::string_view key_prefix, lifetimes const&);
    /// A release, a question or a word to the line: what does not depend on lifetimes.
    void (*append)(std::string& out, request, subject const&, redis::script_form);
    answer (*read)(request, redis::resp_node const&);
    /// What a vote that was denied, a line that was entered, or a question, tells of the key.
    sighting (*read_sighting)(request, redis::resp_node const&);

    [[nodiscard]] constexpr redis::script const* script(request what) const
    {
        return scripts[static_cast<std::size_t>(what)];
    }
    /// Is it a command where the server compares by itself?
    [[nodiscard]] constexpr bool native(request what) const
    {
        return compares && (what == request::extend || what == request::adopt || what == request::release);
    }
    /// Does this command end with the node's marker?
    [[nodiscard]] constexpr bool marks(request what) const { return marked && what <= request::adopt; }
    /// What stands in the queue for it.
    [[nodiscard]] constexpr waiter_kind waiter() const
    {
        return slotted ? waiter_kind::permits : shared ? waiter_kind::shared : waiter_kind::exclusive;
    }
    /// Returns the kind of what stands in the queue for it: for one of several names, an exclusive lock of that name.
    [[nodiscard]] constexpr lock_kind const& in_queue() const;
    /// Do votes heed the queue node (rule Q10)? Those for exclusive locks do not.
    [[nodiscard]] constexpr bool heeds() const { return waiter() != waiter_kind::exclusive; }
    /// How each node is told first that it is given back: of several names each may have a queue there (rule M3).
    [[nodiscard]] constexpr request release_word() const
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
extern lock_kind const election_view; ///< of who only wants to know who leads: it is no lock

constexpr lock_kind const& lock_kind::in_queue() const
{
    return several ? plain : *this;
}

/// In which other form a node must be told what it has not executed for the form that it was told in (rule A7).
/// \param native how this connection compares by itself, if the request can be said so
[[nodiscard]] std::optional<redis::script_form> other_form(redis::script_form, redis::resp_node const& reply,
                                                           std::optional<redis::script_form> native);
/// Does that answer say that a request cannot be told in this form, of whatever lock?
[[nodiscard]] bool refuses_form(redis::resp_node const& reply);

/// The end of a command. \param marker as it must stand on the node; empty: whatever it is
void append_marker(std::string& out, std::string_view marker);

/// What the names of locks must not end with: what stands beside locks does.
[[nodiscard]] std::span<std::string_view const> kept_names();

} // namespace redlock::kind

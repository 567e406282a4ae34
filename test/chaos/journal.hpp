// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::chaos {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// CLOCK_BOOTTIME: all processes of a machine read the same one.
[[nodiscard]] nanoseconds now();

enum class event : std::uint32_t {
    asks,        // value: how
    refused,     // the error
    holds,       // the token
    renumbered,  // the token from now on
    valid,       // until when, as the library tells
    valid_too,   // the same, as a reader
    downgrades,  // from before the call on
    lets_go,     // before the library is told
    told,        // the lease is over; value: how many of its looks had found that before
    not_told,    // for far too long
    extended,    // the error
    released,    // the error
    reads,       // the guarded value
    has_read,    // the register's value
    reads_late,  // a larger token had been there
    writes,      // the register's value
    has_written, // it, too
    writes_late, // it, too
    overdue,     // an operation has not ended; value: which, an `event`
    leaves,
    leaves_behind, // from before the lease is detached
    adopts,        // the owner of the lease that was left behind
    announced,     // the version of the leader's value that a majority has
    asks_leader,
    hears,        // the version of a leader's value
    hears_surely, // the same, and a majority has it
    hears_vacant, // the last version that is known; nobody leads
    author,       // the owner that announced the value that was heard
    changes,      // from before the client is given other nodes
    has_changed,  // the error
};
inline constexpr std::array<std::string_view, 30> event_names{"asks",
                                                              "refused",
                                                              "holds",
                                                              "has token",
                                                              "valid until",
                                                              "reads until",
                                                              "downgrades",
                                                              "lets go",
                                                              "told",
                                                              "not told",
                                                              "extended",
                                                              "released",
                                                              "reads",
                                                              "has read",
                                                              "reads too late",
                                                              "writes",
                                                              "has written",
                                                              "writes too late",
                                                              "has not ended",
                                                              "leaves",
                                                              "leaves behind",
                                                              "adopts",
                                                              "announced",
                                                              "asks who leads",
                                                              "hears of",
                                                              "hears for sure of",
                                                              "hears of no leader after",
                                                              "the author is",
                                                              "changes its nodes",
                                                              "has changed its nodes"};

/// One election besides the locks. It counts as the lock behind the last one.
inline constexpr std::uint8_t election_lock = 4;
/// The actors of a program besides those that want locks.
inline constexpr std::uint8_t node_changer = 'n' - 'a';
inline constexpr std::uint8_t leader_asker = 'q' - 'a';
inline constexpr std::uint8_t leader_watcher = 'w' - 'a';

/// A thing that only one holder may have: a lock, or one of the permits of a lock.
[[nodiscard]] constexpr unsigned thing_of(unsigned lock, unsigned permit = 0)
{
    constexpr unsigned most_permits = 8;
    return lock * most_permits + permit;
}
[[nodiscard]] inline std::string name_of_thing(unsigned thing)
{
    if (thing == thing_of(election_lock))
        return "election";
    unsigned const permits = thing_of(1);
    return "lock-" + std::to_string(thing / permits + 1) +
           (thing % permits == 0 ? "" : "." + std::to_string(thing % permits));
}

/// A bit of `entry::things`. The election needs none: nothing else has its number of a lock.
[[nodiscard]] constexpr std::uint32_t bit_of(unsigned thing)
{
    return thing < 32 ? std::uint32_t{1} << thing : 0;
}

/// A leader's term with the revision of its value: of two, the later one is larger. Terms are below 2^53.
[[nodiscard]] constexpr std::uint64_t version_of(std::uint64_t term, std::uint64_t revision)
{
    return term << 11U | revision;
}
[[nodiscard]] constexpr std::uint64_t term_of(std::uint64_t version)
{
    return version >> 11U;
}

/// An action of a program, or a message to it.
struct entry {
    nanoseconds at{};
    std::uint64_t value = 0;
    std::uint32_t operation = 0; ///< the actor's number for it
    std::uint16_t program = 0;
    std::uint8_t actor = 0;
    std::uint8_t lock = 0;
    event what = event::asks;
    std::uint32_t things = 0; ///< the things that it is about, a bit each; none: the lock's first

    /// Identifies one operation, and the lease that it got.
    [[nodiscard]] std::uint64_t owner() const
    {
        return std::uint64_t{program} << 40U | std::uint64_t{actor} << 32U | operation;
    }
    /// An entry about the lease of an owner.
    [[nodiscard]] static entry of(std::uint64_t owner, event what)
    {
        return {.operation = static_cast<std::uint32_t>(owner),
                .program = static_cast<std::uint16_t>(owner >> 40U),
                .actor = static_cast<std::uint8_t>(owner >> 32U),
                .what = what};
    }
    /// Its value, if that is a time.
    [[nodiscard]] nanoseconds instant() const { return nanoseconds{static_cast<std::int64_t>(value)}; }
};

/// A file to which any number of processes append entries, each complete and in order (open(2), O_APPEND), also if they
/// are killed: no entry crosses a page.
class journal {
public:
    explicit journal(std::string const& path);
    journal(journal const&) = delete;
    journal& operator=(journal const&) = delete;
    ~journal();

    void append(entry const&) const;
    [[nodiscard]] std::size_t size() const;
    /// Returns the entries from number `from` on, in the order of their times.
    [[nodiscard]] std::vector<entry> entries(std::size_t from = 0) const;

private:
    int file_;
};

} // namespace redlock::chaos

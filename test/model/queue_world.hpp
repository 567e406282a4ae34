// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

namespace redlock::model {

inline constexpr unsigned queue_nodes = 3;
inline constexpr unsigned most_attempts = 4;
inline constexpr unsigned permit_count = 2;

struct queue_action {
    enum class kind : std::uint8_t {
        tick,
        vote,
        enter,
        read_call,
        claim_unnamed,
        gather,
        leave,
        execute_vote,
        execute_twin,
        choose_permits,
        send_exactly,
        execute_exactly,
        win,
        give_up,
        send_again,
        extend,
        downgrade,
        execute_extension,
        confirm,
        release,
        release_shared,
        take_back_late_vote,
        execute_release,
        lose_position,
        restart,
        step_clock,
    };
    kind what;
    std::uint8_t attempt = 0;
    std::uint8_t node = 0;
    std::uint8_t first = 0; ///< permit to look at
};

/// A scope of the search: the attempts, the ticks of time, and the number of faults. A tick passes at any moment, and actions
/// between two ticks take no time.
struct queue_scope {
    char const* name;
    /// One letter for each attempt: W exclusive, D exclusive that may be downgraded, R reader, P one permit, B both permits.
    /// Where there are two names: a and b exclusive on one of them, S on both. Node 0 keeps the queue of a, and node 1 that of b.
    char const* attempts;
    int lease = 1;
    int slack = 0;
    int window = 1;
    int quarantine = 1;
    int horizon = 1;
    int extensions = 0; ///< by each lease
    int repeats = 1;    ///< number of repeats of each claim
    int restarts = 0;
    int steps = 0;     ///< number of steps of one tick forward, of any node's clock
    int deaf = 0;      ///< positions whose connection is lost
    bool votes = true; ///< without a position
    bool queue = true;
    bool two_queues = false;
    bool late = true;                          ///< votes of an attempt that is over may still be executed
    std::span<queue_action const> situation{}; ///< actions before the search begins
    std::uint64_t most_states = 100'000'000;
};

/// A state is a plain value without padding: it is copied to try an action, and hashed to be met only once.
struct queue_world {
    enum class vote : std::uint8_t { unsent, under_way, granted, refused, failed };
    enum class message : std::uint8_t { none, under_way, done };
    enum class undo : std::uint8_t { none, with_name, without_name };
    enum class doing : std::uint8_t { nothing, asks, waits, holds, over };

    /// The entry of an attempt under the lock's key on a node.
    struct entry {
        /// A bit for an exclusive owner and for a reader; permits, and names where there are two, are the bits above.
        std::uint8_t what = 0;
        std::uint8_t end = 0; ///< the first tick without it
        [[nodiscard]] bool exists() const { return what != 0; }
    };
    static constexpr std::uint8_t exclusive = 1;
    static constexpr std::uint8_t reader = 2;
    static constexpr unsigned first_permit = 2;
    static constexpr std::uint8_t reads_now = 1;
    static constexpr std::uint8_t reads_once_confirmed = 2;

    /// One attempt and one node.
    struct side {
        entry has;
        vote said = vote::unsent;
        std::uint8_t gave = 0;         ///< permits, by its last answer
        message exact = message::none; ///< "exactly these permits"
        message extension = message::none;
        std::uint8_t confirmed = 0; ///< by the extension
        std::uint8_t known = 0;     ///< to hold our key before the extension was sent
        undo release = undo::none;
        std::uint8_t relied_on = 0; ///< by the lease, when it was granted
        std::uint8_t twin = 0;      ///< a second copy of the vote is under way
    };

    /// One nonce: an attempt to vote, or a position in the queue with its claim; and the lease that it may lead to.
    struct attempt {
        std::array<side, queue_nodes> at;
        doing now = doing::nothing;
        std::uint8_t place = 0; ///< in the queue; 1 is the first
        std::uint8_t queue = 0; ///< the node that keeps it
        std::uint8_t reads = 0; ///< downgraded
        std::uint8_t sent = 0;
        std::uint8_t until = 0;   ///< the first tick without the lease
        std::uint8_t permits = 0; ///< agreed
        std::uint8_t called_permits = 0;
        std::uint8_t repeats = 0;
        std::uint8_t extension_sent = 0; ///< plus one; 0: no round is open
        std::uint8_t extensions = 0;
        std::uint8_t met_another = 0; ///< one that excludes this one was granted since
        std::uint8_t shared = 0;      ///< its nonce was released although it holds
        /// Attempts by number, plus one; 0: none. The own number: no nonce was given up.
        std::uint8_t called_by = 0;
        std::uint8_t previous_owner = 0;
        std::uint8_t second_owner = 0; ///< the other name's previous owner
    };

    std::array<attempt, most_attempts> attempts{};
    std::array<std::uint8_t, queue_nodes> quarantined_until{};
    std::uint8_t now = 0;
    std::uint8_t restarts = 0;
    std::uint8_t deaf = 0;
    std::uint8_t steps = 0;
    std::uint8_t extended_beside_another = 0;
    std::array<std::uint8_t, 4> unused{}; ///< fills the last word
};

static_assert(std::has_unique_object_representations_v<queue_world> && sizeof(queue_world) % 8 == 0);

} // namespace redlock::model

#pragma once

#include "core/instant.hpp"
#include "core/lease_machine.hpp"
#include "core/precedence.hpp"
#include "core/tenure.hpp"
#include "model/fake_node.hpp"
#include "model/waiter.hpp"

#include <cstdint>

namespace redlock::model {

/// Microseconds of true time, which nobody in the schedule can see.
using micros = std::int64_t;
inline constexpr micros one_milli = 1000;

/// What a schedule is about, beside everything that may go wrong in any.
enum class theme : std::uint8_t {
    faults,
    waiting,  ///< clients wait for word; otherwise they pause and ask again
    newcomers ///< clients come that know nothing, with locks and words of their own
};

inline constexpr unsigned most_nodes = 5;
inline constexpr unsigned most_clients = 5;

enum class breach : std::uint8_t {
    none,
    two_valid_leases,
    token_not_larger,
    extended_under_a_larger_token,
    came_back,
    granted_without_time_left,
    extended_without_time_left,
    extended_after_the_end,
    loss_told_late,
    definite_loss_not_told,
    held_too_long,
    voted_twice,
    key_left_behind,
    waiter_starved,
    update_lost,
    lock_left_lying,
    asked_without_pause,
    kept_from_others,
    asked_in_its_pause,
};
char const* name(breach);

/// What one client asks for.
struct lock_terms {
    bool fenced = false;
    core::lease_terms lease{.ttl = {}, .slack = {}};
    millis px = 0;
    millis fence_px = 0;
    millis longest = 0; ///< px with which it reckons
};

/// What is random once for a whole schedule.
struct terrain {
    unsigned nodes = 3;
    unsigned clients = 2;
    bool fenced = false;
    bool wall_clocks = true; ///< in the tokens; otherwise only counters are
    millis ttl = 500;
    millis slack = 50;
    micros latency = 300;
    micros faults_until = 0;
    micros between_faults = 0;
    std::uint64_t one_in_messages = 30; ///< has a fault of its own
    core::lease_terms terms{.ttl = {}, .slack = {}};
    core::duration node_timeout{};
    millis px = 0;
    millis fence_px = 0;
    bool waiting = false;
    bool newcomers = false;
    bool all_fenced = false;
    waiting_terms wait;
    core::tenure::terms tenure{.batch = 64, .period = {}};
    micros expiry_seen = 0; ///< by a server, at most so long after the expiry
    enum class absence : std::uint8_t { none, away, silent, full, read_only };
    absence missing = absence::none; ///< how a node lacks that does not come back in the calm
    unsigned missing_node = 0;
    micros soon = 0;     ///< a lock that is free, and wanted, is had by then, where nothing is left of faults
    micros sometime = 0; ///< and otherwise
};

struct outcome {
    breach flaw = breach::none;
    micros at = 0;
    std::uint64_t trace = 0; ///< equal for equal schedules
    std::uint64_t events = 0;
    std::uint64_t grants = 0;
    std::uint64_t extensions = 0;
    std::uint64_t losses = 0;
    std::uint64_t words = 0; ///< of changed keys, that were heard
    std::uint64_t hand_overs = 0;
    std::uint64_t turns = 0; ///< left to others
    std::uint64_t pauses = 0;
    micros longest_gap = 0; ///< in the calm: free, wanted, and nobody has it
    micros longest_guessed_gap = 0;
    micros longest_late_gap = 0; ///< that began when nothing was left of the faults
    micros longest_wait = 0;     ///< after the faults stopped, beyond the keys' time
    micros spanned = 0;
};

} // namespace redlock::model

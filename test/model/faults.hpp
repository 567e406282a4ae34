#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace redlock::model {

/// Everything that may go wrong in a schedule. What is wanted of users (a cancelled acquisition) stands here, too.
enum class fault : std::uint8_t {
    drop_request,
    drop_reply,
    delay_request,
    delay_reply,
    duplicate_vote,
    connection_reset,
    old_connection_delivers_late,
    client_paused,
    client_suspended,
    client_clock_fast,
    client_clock_slow,
    client_boottime_slewed,
    client_wall_clock_off,
    node_clock_forward,
    node_clock_back,
    node_clock_slewed,
    node_restarts_empty,
    node_restarts_with_old_data,
    promoted_replica,
    flush_all,
    marker_lost,
    fence_expired,
    script_flush,
    out_of_memory,
    read_only,
    node_stalled,
    release_lost,
    release_delayed,
    renewal_late,
    extension_reply_too_late,
    requests_blocked,
    replies_blocked,
    minority_unreachable,
    majority_unreachable,
    cancelled_while_voting,
    cancelled_while_raising,
    cancelled_while_pausing,
    lease_destroyed,
    clients_start_together,
    timer_late,
    // of those who wait
    word_lost,
    word_delayed,
    tracking_table_full,
    // where newcomers are
    newcomer,
    false_word,
    last,
};

inline constexpr auto first_waiting_fault = static_cast<std::size_t>(fault::word_lost);
inline constexpr auto first_newcomers_fault = static_cast<std::size_t>(fault::newcomer);
inline constexpr std::size_t fault_kinds = static_cast<std::size_t>(fault::last);
using fault_counts = std::array<std::uint64_t, fault_kinds>;

char const* name(fault);

} // namespace redlock::model

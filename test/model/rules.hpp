// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/rule.hpp"

#include <cstdint>

namespace redlock::model {

/// Rules of a script, or of the code around the core: the small world has its own copy of both, and can leave them out.
enum class rule : std::uint8_t {
    vote_only_if_free,
    vote_counts_up,
    release_compares,
    extend_compares,
    raise_only_while_ours,
    extension_bows_to_a_higher_fence,
    repair_only_what_is_gone,
    clock_before_the_first_byte,
    quarantine_after_a_restart,
    quarantine_covers_the_longest_key,
    quarantine_binds_the_holder,
    checked_when_handed_out,
    valid_reads_the_clock,
    // the queue's rules
    claim_compares_owners,
    claim_compares_all_owners,
    exact_vote_compares_owners,
    lease_ends_before_its_release,
    taken_back_without_a_name,
    late_vote_is_taken_back_without_a_name,
    call_is_no_vote,
    late_call_is_void,
    repeated_claim_keeps_its_sending,
    downgrade_names_nobody,
    downgrade_counts_once_confirmed,
    lease_reads_from_its_downgrade_on,
    each_reader_has_its_own_end,
    extension_adds_no_reader,
    shared_nonce_ends_with_its_last_lease,
    nonce_belongs_to_one_position,
    grants_of_one_set_count,
    first_answer_counts_no_more,
    surplus_is_nobodys,
    known_before_the_round,
    node_counts_with_all_names,
};

inline std::uint64_t rules_off = 0;

constexpr std::uint64_t bit(rule r)
{
    return std::uint64_t{1} << static_cast<unsigned>(r);
}

inline bool applies(rule r)
{
    return (rules_off & bit(r)) == 0;
}

} // namespace redlock::model

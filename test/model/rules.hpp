#pragma once

#include "core/rule.hpp"

#include <cstdint>
#include <string_view>

namespace redlock::model {

/// Rules that stand in a script or in what drives the core: the model has its own copy of both, and can leave them out.
enum class rule : std::uint8_t {
    // scripts
    vote_only_if_free,
    vote_expires,
    vote_counts_up,
    proposal_is_clamped,
    release_compares,
    extend_compares,
    raise_only_while_ours,
    raise_only_upwards,
    extension_bows_to_a_higher_fence,
    repair_only_what_is_gone,
    lost_fence_proves_nothing,
    strangers_do_not_vote,
    strangers_do_not_extend,
    // driver
    clock_before_the_first_byte,
    fresh_nonce,
    release_behind_the_vote,
    release_goes_everywhere,
    vote_is_never_resent,
    no_extension_after_the_end,
    quarantine_after_a_restart,
    quarantine_covers_the_longest_key,
    quarantine_binds_the_holder,
    quarantine_covers_the_slack,
    others_longer_locks_count,
    settings_excuse_nothing,
    durability_does_not_excuse_promotion,
    absence_proves_nothing,
    another_lineage_is_a_loss,
    word_is_its_givers_own,
    who_comes_lifts_nothing,
    checked_when_handed_out,
    valid_reads_the_clock,
    answers_to_past_rounds,
    answers_to_past_attempts,
    cancelling_takes_back,
    only_ok_is_a_grant,
    token_is_what_was_granted,
    fencing,
    // waiting
    contenders_meet,
    silent_is_not_free,
    silent_is_passed_over,
    first_refusal_is_final,
    word_ends_with_its_connection,
    own_change_ends_the_word,
    the_answer_counts_too,
    all_nodes_are_heard,
    a_timer_is_always_armed,
    word_wakes,
    come_back_wakes,
    next_of_the_queue_asks,
    the_turn_is_offered,
    every_change_is_told,
    a_pause_ends,
    a_pause_is_kept,
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

/// Switches rules of the core and of the model off for as long as it lives.
class without {
public:
    without(std::uint64_t core_rules, std::uint64_t model_rules)
    {
        core::rules_off = core_rules;
        rules_off = model_rules;
    }
    explicit without(core::rule r) : without(core::bit(r), 0) {}
    explicit without(rule r) : without(0, bit(r)) {}
    without(without const&) = delete;
    without& operator=(without const&) = delete;
    ~without() { core::rules_off = rules_off = 0; }
};

} // namespace redlock::model

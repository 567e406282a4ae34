#pragma once

#include <cstdint>
#include <type_traits>

namespace redlock::core {

/// The core's rules that the model's tests switch off one at a time, to see that a check notices
/// (docs/verification.md). In the library every rule always applies, at no cost.
enum class rule : std::uint8_t {
    more_than_half,
    one_token_at_a_majority,
    late_vote_at_the_token,
    clock_under_the_token,
    drift_is_left_out,
    keys_outlive_the_lease,
    boot_clock_counts,
    raw_clock_counts,
    own_late_votes_prove_nothing,
    nothing_is_learned_after_the_deadline,
    extension_within_its_validity,
    extension_counts_from_its_sending,
    repair_before_the_old_deadline,
    lost_keys_are_forgotten,
    definite_loss,
    loss_is_told_in_time,
    the_deadline_is_final,
    the_end_is_final,
    max_hold,
    a_change_frees,
    who_does_not_vote_is_not_free,
    not_free_while_the_first_is_taken,
    a_passed_end_is_no_reason,
    hand_over_keeps_the_deadline,
    others_get_their_turn,
    a_promotion_hides_its_moment,
};

#ifdef REDLOCK_SWITCHABLE_RULES
inline std::uint64_t rules_off = 0;

constexpr std::uint64_t bit(rule r)
{
    return std::uint64_t{1} << static_cast<unsigned>(r);
}

constexpr bool applies(rule r)
{
    return std::is_constant_evaluated() || (rules_off & bit(r)) == 0;
}
#else
constexpr bool applies(rule)
{
    return true;
}
#endif

} // namespace redlock::core

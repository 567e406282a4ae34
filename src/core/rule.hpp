// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <type_traits> // IWYU pragma: keep

namespace redlock::core {

/// The core's rules that the searches' tests switch off one at a time, to see that a search notices
/// (docs/verification.md). In the library every rule always applies, at no cost.
enum class rule : std::uint8_t {
    more_than_half,
    one_token_at_a_majority,
    late_vote_at_the_token,
    drift_is_left_out,
    keys_outlive_the_lease,
    own_late_votes_prove_nothing,
    nothing_is_learned_after_the_deadline,
    extension_counts_from_its_sending,
    repair_before_the_old_deadline,
    definite_loss,
    the_deadline_is_final,
    the_end_is_final,
    only_refusals_are_asked_again,
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

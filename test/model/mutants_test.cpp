#include "model/rules.hpp"
#include "model/schedules.hpp"
#include "model/scopes.hpp"
#include "model/search.hpp"
#include "model/settings.hpp"

#include <boost/test/unit_test.hpp>

#include <iostream>
#include <string>

namespace redlock::model {

namespace {

/// A rule that is left out, and who has to notice: a search, or else the random schedules.
struct mutant {
    mutant(char const* its_name, core::rule r, scope const* s = nullptr)
        : mutant(its_name, core::bit(r), 0, s)
    {}
    mutant(char const* its_name, rule r, scope const* s = nullptr) : mutant(its_name, 0, bit(r), s) {}
    mutant(char const* its_name, std::uint64_t core_bits, std::uint64_t model_bits, scope const* s)
        : name(its_name), core_rules(core_bits), model_rules(model_bits), searched(s)
    {}

    char const* name;
    std::uint64_t core_rules;
    std::uint64_t model_rules;
    scope const* searched;
};

mutant const mutants[] = {
    {"more than half", core::rule::more_than_half, &scopes::renewal},
    {"drift is left out", core::rule::drift_is_left_out, &scopes::renewal},
    {"one token at a majority", core::rule::one_token_at_a_majority},
    {"late vote at the token", core::rule::late_vote_at_the_token, &scopes::raising},
    {"clock under the token", core::rule::clock_under_the_token},
    {"keys outlive the lease", core::rule::keys_outlive_the_lease},
    {"boot clock counts", core::rule::boot_clock_counts},
    {"raw clock counts", core::rule::raw_clock_counts},
    {"own late votes prove nothing", core::rule::own_late_votes_prove_nothing, &scopes::own_late_vote},
    {"nothing is learned after the deadline", core::rule::nothing_is_learned_after_the_deadline,
     &scopes::own_late_vote},
    {"extension within its validity", core::rule::extension_within_its_validity},
    {"extension counts from its sending", core::rule::extension_counts_from_its_sending,
     &scopes::slow_extension},
    {"definite loss", core::rule::definite_loss},
    {"loss is told in time", core::rule::loss_is_told_in_time},
    {"the deadline is final", core::rule::the_deadline_is_final},
    {"the end is final", core::rule::the_end_is_final},
    {"max hold", core::rule::max_hold},
    {"vote only if free", rule::vote_only_if_free, &scopes::renewal},
    {"vote expires", rule::vote_expires},
    {"vote counts up", rule::vote_counts_up},
    {"proposal is clamped", rule::proposal_is_clamped},
    {"release compares", rule::release_compares},
    {"extend compares", rule::extend_compares},
    {"raise only while ours", rule::raise_only_while_ours, &scopes::counters},
    {"extension bows to a higher fence", rule::extension_bows_to_a_higher_fence, &scopes::forgotten_vote},
    {"strangers do not vote", rule::strangers_do_not_vote},
    {"clock before the first byte", rule::clock_before_the_first_byte},
    {"fresh nonce", rule::fresh_nonce},
    {"release behind the vote", rule::release_behind_the_vote},
    {"release goes everywhere", rule::release_goes_everywhere},
    {"vote is never resent", rule::vote_is_never_resent},
    {"no extension after the end", rule::no_extension_after_the_end},
    {"quarantine after a restart", rule::quarantine_after_a_restart, &scopes::restart},
    {"quarantine covers the longest key", rule::quarantine_covers_the_longest_key},
    {"quarantine binds the holder", rule::quarantine_binds_the_holder, &scopes::stale_grant},
    {"checked when handed out", rule::checked_when_handed_out},
    {"valid reads the clock", rule::valid_reads_the_clock},
    {"answers to past attempts", rule::answers_to_past_attempts},
    {"cancelling takes back", rule::cancelling_takes_back},
    {"only ok is a grant", rule::only_ok_is_a_grant},
    {"token is what was granted", rule::token_is_what_was_granted},
    {"fencing", rule::fencing},
    // As one public library extends: what is gone is set again, whoever came meanwhile.
    {"repair is guarded", core::bit(core::rule::repair_before_the_old_deadline),
     bit(rule::extension_bows_to_a_higher_fence) | bit(rule::repair_only_what_is_gone),
     &scopes::forgotten_vote},
};

void is_caught_by_search(mutant const& m)
{
    auto const found = search(*m.searched);
    std::cout << m.name << ": " << small_steps::name(found.flaw) << ", " << found.states << " states, "
              << found.took.count() << " ms, " << found.depth << " steps" << std::endl;
    BOOST_TEST((found.flaw != small_world::flaw::none), m.name);
}

void is_caught_by_schedules(mutant const& m)
{
    auto const found = run_schedules(1, setting("MODEL_MUTANT_SCHEDULES", 300'000));
    std::cout << m.name << ": " << name(found.flaw) << ", " << found.schedules << " schedules, "
              << found.took.count() << " ms" << std::endl;
    BOOST_TEST((found.flaw != breach::none), m.name);
}

} // namespace

BOOST_AUTO_TEST_SUITE(mutants_test)

BOOST_AUTO_TEST_CASE(every_rule_is_needed)
{
    for (mutant const& m : mutants) {
        without const left_out(m.core_rules, m.model_rules);
        m.searched ? is_caught_by_search(m) : is_caught_by_schedules(m);
    }
    std::cout << std::size(mutants) << " mutants" << std::endl;
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::model

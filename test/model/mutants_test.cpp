#include "model/rules.hpp"
#include "model/schedules.hpp"
#include "model/scopes.hpp"
#include "model/search.hpp"
#include "model/settings.hpp"
#include "model/waiting_world.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

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
    theme about = theme::faults;
    waiting_scope const* waiting_searched = nullptr;
    std::uint64_t first_seed = 1;
};

/// Noticed by schedules in which clients wait, or by the search through all orders of their events.
mutant waits(mutant m, waiting_scope const* s = nullptr, std::uint64_t first_seed = 1)
{
    m.about = theme::waiting;
    m.waiting_searched = s;
    m.first_seed = first_seed;
    return m;
}

/// Noticed by schedules in which clients come that know nothing.
mutant newcomers(mutant m)
{
    m.about = theme::newcomers;
    return m;
}

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
    newcomers({"a promotion hides its moment", core::rule::a_promotion_hides_its_moment}),
    newcomers({"absence proves nothing", rule::absence_proves_nothing}),
    newcomers({"another lineage is a loss", rule::another_lineage_is_a_loss}),
    newcomers({"a word is its giver's own", rule::word_is_its_givers_own}),
    newcomers({"settings excuse nothing", rule::settings_excuse_nothing}),
    newcomers({"quarantine covers the slack", rule::quarantine_covers_the_slack}),
    newcomers({"who comes lifts nothing", rule::who_comes_lifts_nothing}),
    newcomers({"others' longer locks count", rule::others_longer_locks_count}),
    newcomers({"durability does not excuse promotion", rule::durability_does_not_excuse_promotion}),
    waits({"a change frees", core::rule::a_change_frees}, &waiting_scopes::two_nodes),
    waits({"who does not vote is not free", core::rule::who_does_not_vote_is_not_free}),
    waits({"not free while the first is taken", core::rule::not_free_while_the_first_is_taken}),
    waits({"a passed end is no reason", core::rule::a_passed_end_is_no_reason}, nullptr, 54428),
    waits({"hand-over keeps the deadline", core::rule::hand_over_keeps_the_deadline}),
    waits({"others get their turn", core::rule::others_get_their_turn}),
    waits({"contenders meet", rule::contenders_meet}),
    waits({"silent is not free", rule::silent_is_not_free}),
    waits({"silent is passed over", rule::silent_is_passed_over}),
    waits({"the first's refusal is final", rule::first_refusal_is_final}),
    waits({"word ends with its connection", rule::word_ends_with_its_connection}),
    waits({"own change ends the word", rule::own_change_ends_the_word}, &waiting_scopes::two_nodes),
    waits({"the answer counts, too", rule::the_answer_counts_too}, &waiting_scopes::two_nodes),
    waits({"all nodes are heard", rule::all_nodes_are_heard}, &waiting_scopes::two_nodes),
    waits({"a timer is always armed", rule::a_timer_is_always_armed}, &waiting_scopes::two_nodes),
    waits({"word wakes", rule::word_wakes}, &waiting_scopes::two_nodes),
    waits({"who comes back wakes", rule::come_back_wakes}),
    waits({"the next of the queue asks", rule::next_of_the_queue_asks}),
    waits({"the turn is offered", rule::the_turn_is_offered}),
    waits({"every change is told", rule::every_change_is_told}, &waiting_scopes::two_nodes),
    waits({"a pause ends", rule::a_pause_ends}, &waiting_scopes::two_nodes),
    waits({"a pause is kept", rule::a_pause_is_kept}),
};

void is_caught_by_search(mutant const& m)
{
    auto const found = search(*m.searched);
    std::cout << m.name << ": " << small_steps::name(found.flaw) << ", " << found.states << " states, "
              << found.took.count() << " ms, " << found.depth << " steps" << std::endl;
    BOOST_TEST((found.flaw != small_world::flaw::none), m.name);
}

void is_caught_by_search_of_waiting(mutant const& m)
{
    auto const found = search(*m.waiting_searched);
    std::cout << m.name << ": " << name(found.flaw) << ", " << found.states << " states, "
              << found.took.count() << " ms, " << found.depth << " steps" << std::endl;
    BOOST_TEST((found.flaw != waiting_world::flaw::none), m.name);
}

void is_caught_by_schedules(mutant const& m)
{
    std::uint64_t const most = m.about == theme::waiting ? 20'000 : 300'000;
    auto const found = run_schedules(m.first_seed, setting("MODEL_MUTANT_SCHEDULES", most), m.about);
    std::cout << m.name << ": " << name(found.flaw) << ", " << found.schedules << " schedules, "
              << found.took.count() << " ms" << std::endl;
    BOOST_TEST((found.flaw != breach::none), m.name);
}

} // namespace

BOOST_AUTO_TEST_SUITE(mutants_test)

/// MODEL_MUTANTS: only those in whose names this stands.
BOOST_AUTO_TEST_CASE(every_rule_is_needed)
{
    char const* const named =
        std::getenv("MODEL_MUTANTS"); // NOLINT(concurrency-mt-unsafe): nobody changes the environment
    for (mutant const& m : mutants) {
        if (named && std::string_view(m.name).find(named) == std::string_view::npos)
            continue;
        without const left_out(m.core_rules, m.model_rules);
        m.searched           ? is_caught_by_search(m)
        : m.waiting_searched ? is_caught_by_search_of_waiting(m)
                             : is_caught_by_schedules(m);
    }
    std::cout << std::size(mutants) << " mutants" << std::endl;
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::model

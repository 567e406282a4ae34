// SPDX-License-Identifier: BSL-1.0
#include "model/rules.hpp"
#include "model/scopes.hpp"
#include "model/search.hpp"
#include "model/settings.hpp"
#include "model/without.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <iostream>
#include <span>
#include <string_view>

namespace redlock::model {

namespace {

/// A rule that is left out, and the search that has to notice.
struct mutant {
    mutant(char const* its_name, core::rule r, scope const& s) : mutant(its_name, core::bit(r), 0, s) {}
    mutant(char const* its_name, rule r, scope const& s) : mutant(its_name, 0, bit(r), s) {}
    mutant(char const* its_name, std::uint64_t core_bits, std::uint64_t model_bits, scope const& s)
        : name(its_name), core_rules(core_bits), model_rules(model_bits), searched(&s)
    {}

    char const* name;
    std::uint64_t core_rules;
    std::uint64_t model_rules;
    scope const* searched;
};

mutant const mutants[] = {
    {"more than half", core::rule::more_than_half, scopes::renewal},
    {"drift is left out", core::rule::drift_is_left_out, scopes::renewal},
    {"one token at a majority", core::rule::one_token_at_a_majority, scopes::forgotten_vote},
    {"keys outlive the lease", core::rule::keys_outlive_the_lease, scopes::suspect},
    {"definite loss", core::rule::definite_loss, scopes::counters_extension},
    {"the deadline is final", core::rule::the_deadline_is_final, scopes::stale_grant},
    {"the end is final", core::rule::the_end_is_final, scopes::renewal},
    {"vote only if free", rule::vote_only_if_free, scopes::renewal},
    {"vote counts up", rule::vote_counts_up, scopes::counters},
    {"release compares", rule::release_compares, scopes::retry},
    {"extend compares", rule::extend_compares, scopes::own_late_vote},
    {"valid reads the clock", rule::valid_reads_the_clock, scopes::renewal},
    {"checked when handed out", rule::checked_when_handed_out, scopes::restart},
    {"clock before the first byte", rule::clock_before_the_first_byte, scopes::restart},
    {"quarantine after a restart", rule::quarantine_after_a_restart, scopes::restart},
    {"quarantine covers the longest key", rule::quarantine_covers_the_longest_key, scopes::restart},
    {"quarantine binds the holder", rule::quarantine_binds_the_holder, scopes::stale_grant},
    // One public library extends like this: a missing key is set again, whoever had it meanwhile.
    {"repair is guarded", core::bit(core::rule::repair_before_the_old_deadline),
     bit(rule::extension_bows_to_a_higher_fence) | bit(rule::repair_only_what_is_gone),
     scopes::forgotten_vote},
};

/// Only after more than 100 000 states.
mutant const found_late[] = {
    {"late vote at the token", core::rule::late_vote_at_the_token, scopes::raising},
    {"own late votes prove nothing", core::rule::own_late_votes_prove_nothing, scopes::own_late_vote},
    {"nothing is learned after the deadline", core::rule::nothing_is_learned_after_the_deadline,
     scopes::own_late_vote},
    {"extension counts from its sending", core::rule::extension_counts_from_its_sending,
     scopes::slow_extension},
    {"raise only while ours", rule::raise_only_while_ours, scopes::counters},
    {"extension bows to a higher fence", rule::extension_bows_to_a_higher_fence, scopes::forgotten_vote},
};

/// MODEL_MUTANTS: only those in whose names this stands.
char const* chosen()
{
    return std::getenv("MODEL_MUTANTS"); // NOLINT(concurrency-mt-unsafe): nobody changes the environment
}

void leave_out(std::span<mutant const> rules)
{
    for (mutant const& m : rules) {
        if (chosen() && std::string_view(m.name).find(chosen()) == std::string_view::npos)
            continue;
        without const left_out(m.core_rules, m.model_rules);
        auto const found = breadth_first<small_steps>(*m.searched).run();
        std::cout << m.name << ": " << (found.flaw ? found.flaw : "no flaw") << ", " << found.states
                  << " states, " << found.took.count() << " ms, " << found.depth << " steps" << std::endl;
        BOOST_TEST(found.flaw != nullptr, m.name);
    }
    std::cout << rules.size() << " mutants" << std::endl;
}

} // namespace

BOOST_AUTO_TEST_SUITE(model_mutants)

BOOST_AUTO_TEST_CASE(every_rule_left_out_breaks_a_promise)
{
    leave_out(mutants);
}

BOOST_AUTO_TEST_CASE(every_rule_left_out_breaks_a_promise_in_larger_searches)
{
    if (setting("MODEL_THOROUGH", 0) != 0 || chosen())
        leave_out(found_late);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::model

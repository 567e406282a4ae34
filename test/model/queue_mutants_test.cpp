// SPDX-License-Identifier: BSL-1.0
#include "model/queue_scopes.hpp"
#include "model/queue_steps.hpp"
#include "model/rules.hpp"
#include "model/schedules.hpp"
#include "model/search.hpp"
#include "model/settings.hpp"
#include "model/without.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string_view>

namespace redlock::model {

namespace {

/// A rule that is left out, and the scope in which a search has to notice: through all states, or along random schedules.
struct queue_mutant {
    queue_mutant(char const* its_name, core::rule r, queue_scope const& s)
        : name(its_name), core_rules(core::bit(r)), searched(s)
    {}
    queue_mutant(char const* its_name, rule r, queue_scope const& s, std::uint64_t its_seed = 0)
        : name(its_name), model_rules(bit(r)), searched(s), seed(its_seed)
    {}

    char const* name;
    std::uint64_t core_rules = 0;
    std::uint64_t model_rules = 0;
    queue_scope searched;
    std::uint64_t seed = 0; ///< the first of random schedules; 0: all states
};

constexpr queue_scope two_ticks(queue_scope s)
{
    s.lease = s.horizon = 2;
    return s;
}

constexpr queue_scope with_restart(queue_scope s)
{
    s.restarts = 1;
    return s;
}

constexpr queue_scope writer_two_readers_deaf{.name = "",
                                              .attempts = "WRR",
                                              .lease = 2,
                                              .horizon = 2,
                                              .repeats = 0,
                                              .deaf = 1,
                                              .votes = false,
                                              .late = false};
constexpr queue_scope called_twice{.name = "",
                                   .attempts = "WR",
                                   .lease = 2,
                                   .horizon = 4,
                                   .extensions = 1,
                                   .repeats = 0,
                                   .votes = false,
                                   .late = false};
constexpr queue_scope two_writers_long_window{
    .name = "", .attempts = "WWR", .lease = 2, .window = 2, .horizon = 2, .late = false};
constexpr queue_scope two_beside_a_downgrade{
    .name = "", .attempts = "DRW", .extensions = 1, .repeats = 0, .votes = false, .late = false};
constexpr queue_scope downgrade_writer{
    .name = "", .attempts = "DW", .lease = 2, .horizon = 2, .extensions = 1};
constexpr queue_scope writer_two_permits{
    .name = "", .attempts = "WPP", .repeats = 0, .votes = false, .late = false};
constexpr queue_scope set_and_both_names{.name = "", .attempts = "Sab", .late = false};
constexpr queue_scope three_permits{.name = "", .attempts = "PPP"};

using does = queue_action::kind;
/// W0 has asked nodes 1 and 2, and gives up. They refuse W1, which was called at node 0 and sends its claim again.
constexpr std::array refused_claim{queue_action{does::vote, 0},
                                   queue_action{does::enter, 1, 0},
                                   queue_action{does::execute_vote, 0, 1},
                                   queue_action{does::execute_vote, 0, 1},
                                   queue_action{does::give_up, 0},
                                   queue_action{does::read_call, 1},
                                   queue_action{does::execute_vote, 1, 1},
                                   queue_action{does::execute_release, 0, 2},
                                   queue_action{does::execute_vote, 1, 2},
                                   queue_action{does::send_again, 1}};
constexpr queue_scope repeated_claim{.name = "",
                                     .attempts = "WWR",
                                     .lease = 2,
                                     .horizon = 2,
                                     .extensions = 1,
                                     .late = false,
                                     .situation = refused_claim};

using namespace queue_scopes;

queue_mutant const rules_left_out[] = {
    {"vote only if free: exclusive", rule::vote_only_if_free, two_writers},
    {"vote only if free: reader", rule::vote_only_if_free, writer_and_reader},
    // rule Q6
    {"claim compares owners", rule::claim_compares_owners, writer_and_two_readers},
    {"claim compares all owners: permits", rule::claim_compares_all_owners, writer_two_permits},
    // rule Q14
    {"exact vote compares owners", rule::exact_vote_compares_owners, three_permits, 1},
    // rule Q5
    {"lease ends before its release", rule::lease_ends_before_its_release, writer_and_reader},
    // rule Q5
    {"late vote is taken back without a name", rule::late_vote_is_taken_back_without_a_name, two_writers},
    // rules Q6 and K2
    {"call is no vote", rule::call_is_no_vote, two_writers_and_reader},
    // rule Q8
    {"only refusals are asked again", core::rule::only_refusals_are_asked_again, repeated_claim},
    // rule Q5
    {"downgrade names nobody", rule::downgrade_names_nobody, two_beside_a_downgrade},
    // rules Q20 and S12
    {"downgrade counts once confirmed", rule::downgrade_counts_once_confirmed, downgrade_writer},
    {"lease reads from its downgrade on", rule::lease_reads_from_its_downgrade_on, downgrade},
    // rules Q6 and S1
    {"each reader has its own end", rule::each_reader_has_its_own_end, two_ticks(writer_and_two_readers), 1},
    // rule Q5
    {"shared nonce ends with its last lease", rule::shared_nonce_ends_with_its_last_lease,
     writer_and_two_readers},
    // rules Q6 and K6
    {"nonce belongs to one position", rule::nonce_belongs_to_one_position, two_writers_and_reader, 1},
    // rule Q14
    {"grants of one set count", rule::grants_of_one_set_count, two_permits},
    // rule Q14
    {"first answer counts no more", rule::first_answer_counts_no_more, three_permits, 1},
    {"node counts with all names", rule::node_counts_with_all_names, set_and_both_names},
    // rule Q17
    {"quarantine after a restart", rule::quarantine_after_a_restart, restart},
    {"quarantine after a restart: permits", rule::quarantine_after_a_restart, with_restart(two_permits)},
    {"keys outlive the lease", core::rule::keys_outlive_the_lease, clock_step},
    {"more than half", core::rule::more_than_half, two_writers},
};

/// Only after more than 100 000 states, or 50 000 schedules.
queue_mutant const rules_found_late[] = {
    // rule Q6
    {"claim compares all owners: readers", rule::claim_compares_all_owners, writer_and_two_readers},
    {"other permits are taken back without a name", rule::late_vote_is_taken_back_without_a_name,
     three_permits, 3},
    // rule Q3
    {"late call is void: shorter entry", rule::late_call_is_void, writer_two_readers_deaf},
    {"late call is void: extension", rule::late_call_is_void, called_twice},
    // rule Q8
    {"repeated claim keeps its sending", rule::repeated_claim_keeps_its_sending, two_writers_long_window},
    {"extension adds no reader", rule::extension_adds_no_reader, extension},
    {"known before the round", rule::known_before_the_round, extension},
};

search_result search_for(queue_mutant const& m)
{
    constexpr std::uint64_t most_schedules = 500'000;
    return m.seed == 0 ? breadth_first<queue_steps>(m.searched).run()
                       : random_schedules<queue_steps>(m.searched, m.seed).run(most_schedules);
}

/// MODEL_MUTANTS selects mutants by a part of their names, and prints the ways to their flaws.
char const* named()
{
    return std::getenv("MODEL_MUTANTS"); // NOLINT(concurrency-mt-unsafe): nobody changes the environment
}

void leave_out_of_queue(std::span<queue_mutant const> rules)
{
    for (queue_mutant const& m : rules) {
        if (named() && std::string_view(m.name).find(named()) == std::string_view::npos)
            continue;
        without const left_out(m.core_rules, m.model_rules);
        auto const found = search_for(m);
        std::cout << m.name << ": " << (found.flaw ? found.flaw : "no flaw") << ", " << found.states
                  << " states, " << found.schedules << " schedules, " << found.depth << " steps, "
                  << found.took.count() << " ms" << std::endl;
        if (named())
            std::cout << found.trace;
        BOOST_TEST(found.flaw != nullptr, m.name);
    }
    std::cout << rules.size() << " mutants" << std::endl;
}

} // namespace

BOOST_AUTO_TEST_SUITE(queue_mutants)

BOOST_AUTO_TEST_CASE(every_rule_of_the_queue_left_out_breaks_a_promise)
{
    leave_out_of_queue(rules_left_out);
}

BOOST_AUTO_TEST_CASE(every_rule_of_the_queue_left_out_breaks_a_promise_in_larger_searches)
{
    if (setting("MODEL_THOROUGH", 0) != 0 || named())
        leave_out_of_queue(rules_found_late);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::model

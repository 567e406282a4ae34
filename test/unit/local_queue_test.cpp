#include "core/local_queue.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

using next = batch_policy::next;

constexpr instant start{100s, 100s};
constexpr duration turn = 1ms;
constexpr batch_policy::terms three_in_a_row{3, 1s};

struct local_queue_fixture {
    local_queue q;

    start_mode ask(next who, instant now = start) { return q.ask(three_in_a_row, who, now, turn); }
    /// The first in the queue asks, and has the lock.
    void win(instant now = start)
    {
        (void)ask(next::coming, now);
        q.won(true, false, now);
    }
    /// \return how many leases follow the present one without the network
    unsigned hand_over_all(instant now = start)
    {
        unsigned length = 0;
        for (; length != 1000 && q.may_hand_over(three_in_a_row, now); ++length)
            q.hold(now);
        return length;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(local_queue_, local_queue_fixture)

BOOST_AUTO_TEST_CASE(a_lock_is_busy_from_the_first_question_to_the_end_of_the_lease)
{
    BOOST_TEST(!q.busy());
    BOOST_TEST((ask(next::coming) == start_mode::at_once));
    BOOST_TEST(q.asking());
    BOOST_TEST(q.busy());
    q.won(true, false, start);
    BOOST_TEST(!q.asking());
    BOOST_TEST(q.held());
    BOOST_TEST(q.busy());
    q.vacated(start);
    BOOST_TEST(!q.busy());
}

BOOST_AUTO_TEST_CASE(a_question_that_nobody_needs_any_more_ends_without_a_lease)
{
    (void)ask(next::coming);
    q.stop_asking();
    BOOST_TEST(!q.busy());
}

BOOST_AUTO_TEST_CASE(a_win_of_one_that_did_not_wait_leaves_the_question_open)
{
    (void)ask(next::coming);
    q.won(false, false, start);
    BOOST_TEST(q.held());
    BOOST_TEST(q.asking());
}

BOOST_AUTO_TEST_CASE(a_lease_passes_on_until_its_batch_is_over)
{
    win();
    BOOST_TEST(hand_over_all() == 2U);
    q.vacated(start);
    BOOST_TEST((ask(next::waiting) == start_mode::in_turn));
}

BOOST_AUTO_TEST_CASE(a_lease_passes_on_until_its_period_is_over)
{
    win();
    BOOST_TEST(q.may_hand_over(three_in_a_row, start + 1s - 1ns));
    BOOST_TEST(!q.may_hand_over(three_in_a_row, start + 1s));
}

BOOST_AUTO_TEST_CASE(a_lease_does_not_pass_on_while_the_nodes_are_asked)
{
    (void)ask(next::coming);
    q.won(false, false, start);
    BOOST_TEST(!q.may_hand_over(three_in_a_row, start));
    q.stop_asking();
    BOOST_TEST(q.may_hand_over(three_in_a_row, start));
}

BOOST_AUTO_TEST_CASE(a_pause_as_long_as_a_turn_ends_the_batch)
{
    win();
    BOOST_TEST(hand_over_all() == 2U);
    q.vacated(start);
    BOOST_TEST((ask(next::waiting, start + turn) == start_mode::at_once));
}

BOOST_AUTO_TEST_CASE(a_turn_that_nobody_took_makes_the_next_batch_longer)
{
    win();
    BOOST_TEST(hand_over_all() == 2U);
    q.vacated(start);
    BOOST_TEST((ask(next::waiting) == start_mode::in_turn));
    q.won(true, true, start + turn);
    BOOST_TEST(hand_over_all(start + turn) == 5U);
}

BOOST_AUTO_TEST_CASE(a_newcomer_lets_known_rivals_go_first)
{
    (void)ask(next::coming);
    q.refused();
    q.won(true, false, start);
    q.vacated(start);
    BOOST_TEST((ask(next::coming) == start_mode::after_rivals));
}

BOOST_AUTO_TEST_CASE(a_waiter_does_not_let_known_rivals_go_first)
{
    (void)ask(next::coming);
    q.refused();
    q.won(true, false, start);
    q.vacated(start);
    BOOST_TEST((ask(next::waiting) == start_mode::at_once));
}

BOOST_AUTO_TEST_CASE(a_turn_that_nobody_took_lets_rivals_be_forgotten)
{
    (void)ask(next::coming);
    q.refused();
    q.won(true, true, start);
    q.vacated(start);
    BOOST_TEST((ask(next::coming) == start_mode::at_once));
}

/// It has met two owners before this lease, and expects to meet two before the next one.
BOOST_AUTO_TEST_CASE(a_client_that_met_fewer_owners_than_the_last_time_yields)
{
    q.met(1);
    q.met(2);
    win();
    BOOST_TEST((q.yield_delay(16ms) == 16ms));
    q.met(3);
    BOOST_TEST((q.yield_delay(16ms) == 15ms));
    q.met(4);
    BOOST_TEST((q.yield_delay(16ms) == 0ms));
}

BOOST_AUTO_TEST_CASE(an_owner_that_is_met_twice_in_a_row_counts_once)
{
    q.met(1);
    q.met(2);
    win();
    q.met(3);
    q.met(3);
    BOOST_TEST((q.yield_delay(16ms) == 15ms));
    q.met(4);
    q.met(3);
    BOOST_TEST((q.yield_delay(16ms) == 0ms));
}

BOOST_AUTO_TEST_CASE(a_win_of_one_that_did_not_wait_does_not_begin_the_count_anew)
{
    q.met(1);
    q.met(2);
    (void)ask(next::coming);
    q.won(false, false, start);
    BOOST_TEST((q.yield_delay(16ms) == 0ms));
}

BOOST_AUTO_TEST_SUITE_END()

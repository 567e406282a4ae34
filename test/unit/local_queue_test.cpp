// SPDX-License-Identifier: BSL-1.0
#include "core/local_queue.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

using next = batch_policy::next;

constexpr instant start{100s, 100s};
constexpr duration window = 1ms;
constexpr batch_policy::terms three_in_a_row{3, 1s};

struct local_queue_fixture {
    local_queue q;

    start_mode ask(next who, instant now = start) { return q.ask(three_in_a_row, who, now, window); }
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

BOOST_FIXTURE_TEST_SUITE(local_queues, local_queue_fixture)

BOOST_AUTO_TEST_CASE(queue_is_busy_from_first_attempt_to_end_of_lease)
{
    BOOST_TEST(!q.busy());
    BOOST_TEST((ask(next::coming) == start_mode::at_once));
    BOOST_TEST(q.asking());
    BOOST_TEST(q.busy());
    q.won(true, false, start);
    BOOST_TEST(!q.asking());
    BOOST_TEST(q.held());
    BOOST_TEST(q.busy());
    q.lease_ended(start);
    BOOST_TEST(!q.busy());
}

BOOST_AUTO_TEST_CASE(queue_that_stops_asking_is_not_busy)
{
    (void)ask(next::coming);
    q.stop_asking();
    BOOST_TEST(!q.busy());
}

BOOST_AUTO_TEST_CASE(win_outside_the_queue_leaves_queue_asking)
{
    (void)ask(next::coming);
    q.won(false, false, start);
    BOOST_TEST(q.held());
    BOOST_TEST(q.asking());
}

BOOST_AUTO_TEST_CASE(lease_is_handed_over_until_batch_is_over)
{
    win();
    BOOST_TEST(hand_over_all() == 2U);
    q.lease_ended(start);
    BOOST_TEST((ask(next::waiting) == start_mode::others_first));
}

BOOST_AUTO_TEST_CASE(lease_is_handed_over_until_period_is_over)
{
    win();
    BOOST_TEST(q.may_hand_over(three_in_a_row, start + 1s - 1ns));
    BOOST_TEST(!q.may_hand_over(three_in_a_row, start + 1s));
}

BOOST_AUTO_TEST_CASE(lease_is_not_handed_over_while_queue_asks_nodes)
{
    (void)ask(next::coming);
    q.won(false, false, start);
    BOOST_TEST(!q.may_hand_over(three_in_a_row, start));
    q.stop_asking();
    BOOST_TEST(q.may_hand_over(three_in_a_row, start));
}

BOOST_AUTO_TEST_CASE(pause_as_long_as_a_window_ends_batch)
{
    win();
    BOOST_TEST(hand_over_all() == 2U);
    q.lease_ended(start);
    BOOST_TEST((ask(next::waiting, start + window) == start_mode::at_once));
}

BOOST_AUTO_TEST_CASE(unused_window_makes_next_batch_longer)
{
    win();
    BOOST_TEST(hand_over_all() == 2U);
    q.lease_ended(start);
    BOOST_TEST((ask(next::waiting) == start_mode::others_first));
    q.won(true, true, start + window);
    BOOST_TEST(hand_over_all(start + window) == 5U);
}

BOOST_AUTO_TEST_CASE(newcomer_starts_after_known_rivals)
{
    (void)ask(next::coming);
    q.refused();
    q.won(true, false, start);
    q.lease_ended(start);
    BOOST_TEST((ask(next::coming) == start_mode::others_first));
}

BOOST_AUTO_TEST_CASE(waiter_starts_at_once_despite_known_rivals)
{
    (void)ask(next::coming);
    q.refused();
    q.won(true, false, start);
    q.lease_ended(start);
    BOOST_TEST((ask(next::waiting) == start_mode::at_once));
}

BOOST_AUTO_TEST_CASE(unused_window_lets_rivals_be_forgotten)
{
    (void)ask(next::coming);
    q.refused();
    q.won(true, true, start);
    q.lease_ended(start);
    BOOST_TEST((ask(next::coming) == start_mode::at_once));
}

BOOST_AUTO_TEST_CASE(pause_and_refusal_end_passage)
{
    batch_policy::terms const terms{64, 250ms};
    instant const t0 = instant{} + 100s;
    q.hold(t0);
    q.lease_ended(t0 + 1s);
    (void)q.ask(terms, batch_policy::next::coming, t0 + 2s, 2ms);
    q.won(true, false, t0 + 2s);
    BOOST_TEST((q.passing().lasted(t0 + 3s) == 1s));
    q.lease_ended(t0 + 3s);
    q.refused();
    q.hold(t0 + 4s);
    BOOST_TEST((q.passing().lasted(t0 + 5s) == 1s));
}

BOOST_AUTO_TEST_SUITE_END()

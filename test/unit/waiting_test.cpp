// SPDX-License-Identifier: BSL-1.0
#include "core/waiting.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

constexpr random_fraction whole = ~random_fraction{0};
constexpr waiting::pace pace{.min_delay = 2ms, .max_delay = 200ms, .round_trip = 1ms};
constexpr waiting::chances longest{whole, whole};
constexpr waiting::chances none{0, 0};

/// Three nodes; contenders meet at the second one. All tell of changes, if not said otherwise.
struct waiting_fixture {
    waiting w{3};
    instant now = instant{} + 1h;
    node_set tracking = node_set::first(3);

    void lose(node_set refusing, bool crossed = false, waiting::chances const& chance = none)
    {
        if (!w.knows_nodes())
            w.meet(3, 1, refusing);
        for (unsigned node = 0; node != 3; ++node)
            if (refusing.contains(node))
                w.refused(node);
        w.attempt_lost(now);
        w.dodge(now, pace, crossed, chance);
        w.wait(now, pace, 1, chance);
    }
    waiting::step decide() { return w.decide(now, tracking); }
    /// Asks what is to be asked.
    waiting::step go_on()
    {
        auto const step = decide();
        for (unsigned node = 0; node != 3; ++node)
            if (step.peek.contains(node))
                w.peeked(node, tracking.contains(node));
        return step;
    }
    /// What was asked is answered: held for so long.
    void told(duration left)
    {
        for (unsigned node = 0; node != 3; ++node) {
            w.answered(node);
            w.found_held_until(node, now + left);
        }
    }
};

/// Within what the fraction is rounded by.
bool about(instant a, instant b)
{
    return remaining(a, b) < 1ms && remaining(b, a) < 1ms;
}

constexpr node_set all = node_set::first(3);

} // namespace

BOOST_FIXTURE_TEST_SUITE(waiting_rules, waiting_fixture)

BOOST_AUTO_TEST_CASE(lost_attempt_is_followed_by_peek_at_rendezvous_node_then_others)
{
    lose(all);
    auto step = go_on();
    BOOST_TEST(!step.vote);
    BOOST_TEST((step.peek == node_set(1)));
    BOOST_TEST((step.peek_owner == node_set(1)));
    BOOST_TEST((step.at == now + 2ms));
    now = step.at;
    step = go_on();
    BOOST_TEST(!step.vote);
    node_set others(0);
    others.insert(2);
    BOOST_TEST((step.peek == others));
    BOOST_TEST((go_on().peek == node_set()));
}

BOOST_AUTO_TEST_CASE(waiter_with_invalidations_waits_for_expiry_of_keys)
{
    lose(all);
    now = go_on().at;
    go_on();
    BOOST_TEST((decide().at == now + 198ms)); // nobody knows when the keys end
    told(5s);
    BOOST_TEST((decide().at == now + 5s + 2ms));
    BOOST_TEST(!decide().roughly);
}

BOOST_AUTO_TEST_CASE(waiter_without_invalidations_votes_after_pause_or_expiry)
{
    tracking = {};
    lose(all, false, longest);
    now = go_on().at;
    go_on();
    BOOST_TEST(about(decide().at, now));
    now = now + 1ms;
    BOOST_TEST(decide().vote);
    BOOST_TEST(decide().in_turn);
    w.attempt_began();
    w.wait(now, pace, 8, longest);
    BOOST_TEST(about(decide().at, now + 200ms));
    told(50ms);
    BOOST_TEST((decide().at == now + 52ms));
}

BOOST_AUTO_TEST_CASE(key_deleted_at_rendezvous_node_makes_waiter_vote)
{
    lose(all);
    now = go_on().at;
    go_on();
    told(5s);
    BOOST_TEST(!w.changed(0));
    BOOST_TEST(!decide().vote);
    BOOST_TEST(w.changed(1));
    BOOST_TEST(decide().vote);
    BOOST_TEST(decide().in_turn);
    BOOST_TEST(!w.changed(1)); // it was gone before
}

BOOST_AUTO_TEST_CASE(waiter_that_yields_votes_after_the_yield_delay)
{
    lose(all);
    now = go_on().at;
    go_on();
    (void)w.changed(0);
    (void)w.changed(1);
    w.leave_alone_until(now + 3ms, now);
    w.leave_alone_until(now + 1ms, now);
    BOOST_TEST((decide().at == now + 3ms));
    now = now + 3ms;
    BOOST_TEST(decide().vote);
}

/// Its answers will not be believed, so its server's word cannot be either.
BOOST_AUTO_TEST_CASE(peek_overtaken_by_attempt_is_repeated)
{
    lose(all);
    go_on();
    w.attempt_began();
    lose(all);
    BOOST_TEST((decide().peek_owner == node_set(1)));
}

BOOST_AUTO_TEST_CASE(split_votes_are_followed_by_pauses_growing_to_a_bound)
{
    node_set one(0);
    lose(one, true, longest);
    BOOST_TEST(about(decide().at, now + 2ms));
    for (int i = 0; i != 10; ++i)
        lose(one, true, longest);
    now = now + 2ms;
    go_on(); // looks around
    BOOST_TEST(about(decide().at, now + 30ms));
    lose(one, false, longest);
    BOOST_TEST(decide().vote);
}

BOOST_AUTO_TEST_CASE(offered_turn_ends_after_its_time)
{
    w.meet(3, 1, {});
    w.offer_turn(now + 6ms, false);
    w.wait(now, pace, 0, none);
    BOOST_TEST((decide().peek == node_set()));
    BOOST_TEST((decide().at == now + 6ms));
    BOOST_TEST(!decide().roughly);
    now = now + 6ms;
    BOOST_TEST(decide().vote);
}

BOOST_AUTO_TEST_CASE(turn_offered_to_rivals_ends_when_one_comes)
{
    w.meet(3, 1, {});
    w.offer_turn(now + 6ms, true);
    w.wait(now, pace, 0, none);
    auto const step = go_on();
    BOOST_TEST((step.peek_owner == node_set(1)));
    BOOST_TEST((step.at == now + 6ms));
    BOOST_TEST(step.roughly);
    BOOST_TEST(w.yields());
    BOOST_TEST(!w.changed(1));
    w.somebody_came(1);
    w.turn_taken(now);
    BOOST_TEST(!w.yields());
    BOOST_TEST((go_on().peek_owner == node_set(1)));
    BOOST_TEST(!decide().vote);
}

BOOST_AUTO_TEST_CASE(change_by_own_client_makes_waiter_peek)
{
    lose(all);
    now = go_on().at;
    go_on();
    told(5s);
    w.changed_here(node_set(0), true);
    auto const step = go_on();
    BOOST_TEST((step.peek == node_set(0)));
    BOOST_TEST((step.peek_owner == node_set()));
    w.changed_here(node_set(1), true);
    BOOST_TEST(decide().vote);
}

BOOST_AUTO_TEST_CASE(change_during_attempt_makes_its_answers_outdated)
{
    lose(all);
    now = go_on().at;
    go_on();
    told(5s);
    w.attempt_began();
    w.changed_here(node_set(1), false);
    lose(all);
    BOOST_TEST((decide().peek_owner == node_set(1)));
}

/// What came before the connection ended is not heard, and the next server in the ring takes its place.
BOOST_AUTO_TEST_CASE(unusable_rendezvous_node_is_replaced_by_next_in_ring)
{
    lose(all, false, longest);
    go_on();
    w.deaf(node_set(1));
    w.usable(1, false);
    w.wait(now, pace, 8, longest);
    w.nodes_changed();
    now = now + 2ms;
    BOOST_TEST((go_on().peek.contains(2)));
    (void)w.changed(2);
    (void)w.changed(0);
    BOOST_TEST(decide().vote);
}

BOOST_AUTO_TEST_CASE(change_before_lock_is_known_is_ignored)
{
    BOOST_TEST(!w.changed(1));
    w.changed_here(all, true);
    w.start();
    BOOST_TEST(!w.knows_nodes());
}

BOOST_AUTO_TEST_SUITE_END()

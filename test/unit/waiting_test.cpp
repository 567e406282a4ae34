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

BOOST_FIXTURE_TEST_SUITE(waiting_, waiting_fixture)

BOOST_AUTO_TEST_CASE(a_lost_attempt_is_followed_by_questions_first_where_all_meet_then_elsewhere)
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

BOOST_AUTO_TEST_CASE(whoever_is_told_waits_for_the_end_of_the_keys)
{
    lose(all);
    now = go_on().at;
    go_on();
    BOOST_TEST((decide().at == now + 198ms)); // nobody knows when the keys end
    told(5s);
    BOOST_TEST((decide().at == now + 5s + 2ms));
    BOOST_TEST(!decide().roughly);
}

BOOST_AUTO_TEST_CASE(whoever_is_not_told_asks_again_after_a_pause_or_at_the_end_of_the_keys)
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

BOOST_AUTO_TEST_CASE(a_key_that_goes_where_all_meet_is_a_reason_to_vote)
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

BOOST_AUTO_TEST_CASE(others_may_go_first)
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
BOOST_AUTO_TEST_CASE(what_an_attempt_has_overtaken_is_asked_again)
{
    lose(all);
    go_on();
    w.attempt_began();
    lose(all);
    BOOST_TEST((decide().peek_owner == node_set(1)));
}

BOOST_AUTO_TEST_CASE(votes_that_cross_are_followed_by_pauses_that_grow_up_to_a_bound)
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

BOOST_AUTO_TEST_CASE(a_turn_that_is_offered_ends_with_its_time)
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

BOOST_AUTO_TEST_CASE(a_turn_that_is_offered_to_rivals_ends_when_one_of_them_comes)
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

BOOST_AUTO_TEST_CASE(its_own_clients_change_is_not_told_so_it_asks_behind_it)
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

BOOST_AUTO_TEST_CASE(a_change_amid_an_attempt_makes_its_answers_old)
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
BOOST_AUTO_TEST_CASE(contenders_meet_elsewhere_where_the_first_cannot_be_used)
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

BOOST_AUTO_TEST_CASE(new_knowledge_is_nothing_before_a_lock_is_known)
{
    BOOST_TEST(!w.changed(1));
    w.changed_here(all, true);
    w.start();
    BOOST_TEST(!w.knows_nodes());
}

BOOST_AUTO_TEST_SUITE_END()

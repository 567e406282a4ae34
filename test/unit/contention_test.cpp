#include "core/contention.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

constexpr instant start{100s, 100s};

/// Three nodes whose contenders meet at the second.
struct three_nodes_fixture {
    three_nodes_fixture() { known.start(3, 1); }
    contention known;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(contention_, three_nodes_fixture)

BOOST_AUTO_TEST_CASE(it_may_be_free_when_a_majority_and_the_first_may_be)
{
    BOOST_TEST(known.may_be_free());
    known.refused(0);
    BOOST_TEST(known.may_be_free());
    known.refused(1);
    BOOST_TEST(!known.may_be_free());
    known.changed(0);
    BOOST_TEST(!known.may_be_free()); // somebody is at the first
    known.changed(1);
    BOOST_TEST(known.may_be_free());
    known.refused(0);
    known.refused(2);
    BOOST_TEST(!known.may_be_free()); // the first alone is no majority
    known.found_free(2);
    BOOST_TEST(known.may_be_free());
}

BOOST_AUTO_TEST_CASE(a_node_that_cannot_be_asked_is_not_free)
{
    known.usable(0, false);
    BOOST_TEST(known.may_be_free());
    known.usable(2, false);
    BOOST_TEST(!known.may_be_free());
    known.usable(2, true);
    BOOST_TEST(known.may_be_free());
}

BOOST_AUTO_TEST_CASE(a_node_that_neither_granted_nor_refused_is_not_free)
{
    known.votes(0, false);
    BOOST_TEST(known.may_be_free());
    known.refused(2);
    BOOST_TEST(!known.may_be_free());
    BOOST_TEST(known.lacks_votes());
    known.found_free(0); // its key is gone, and it votes as little as before
    BOOST_TEST(!known.may_be_free());
    known.refused(1);
    BOOST_TEST(!known.lacks_votes());
    known.found_held_until(1, start + 1s);
    known.found_held_until(2, start + 2s);
    BOOST_TEST((known.free_at()->boot == (start + 2s).boot));
    known.found_free(1);
    known.votes(0, true);
    BOOST_TEST(known.may_be_free());
    BOOST_TEST(!known.lacks_votes());
}

BOOST_AUTO_TEST_CASE(what_was_known_of_a_node_is_forgotten_with_its_connection)
{
    known.refused(1);
    known.usable(1, false);
    known.usable(1, true);
    BOOST_TEST(!known.taken(1));
}

BOOST_AUTO_TEST_CASE(it_is_free_when_the_keys_of_a_majority_have_expired)
{
    for (unsigned node : {0U, 1U, 2U})
        known.refused(node);
    BOOST_TEST(!known.free_at().has_value()); // nobody has told how long
    known.found_held_until(0, start + 5s);
    BOOST_TEST(!known.free_at().has_value());
    known.found_held_until(1, start + 9s);
    BOOST_TEST((known.free_at() == start + 9s));
    known.found_held_until(2, start + 7s);
    BOOST_TEST((known.free_at() == start + 7s));
    known.found_free(0);
    BOOST_TEST((known.free_at() == start + 7s));
}

/// The nodes' clocks are not the same: where contenders meet the key may be the last to go.
BOOST_AUTO_TEST_CASE(a_majority_that_is_free_is_had_when_the_first_is_free_too)
{
    known.found_held_until(0, start + 5s);
    known.found_held_until(1, start + 9s);
    known.found_free(2);
    BOOST_TEST((known.free_at() == start + 5s));
    known.found_free(0);
    BOOST_TEST(!known.may_be_free());
    BOOST_TEST((known.free_at() == start + 9s));
    known.refused(1);
    BOOST_TEST(!known.free_at().has_value());
}

/// Word of the renewal was lost, and who is refused by another node does not ask this one.
BOOST_AUTO_TEST_CASE(an_end_that_passed_before_a_lost_attempt_is_no_reason_for_another)
{
    known.found_held_until(0, start + 1s);
    known.found_held_until(1, start + 9s);
    known.lost(start);
    BOOST_TEST((known.free_at() == start + 1s));
    known.lost(start + 2s);
    BOOST_TEST((known.free_at() == start + 9s));
    BOOST_TEST(known.taken(0));
}

BOOST_AUTO_TEST_CASE(keys_on_nodes_that_cannot_be_asked_free_nobody)
{
    known.found_held_until(0, start + 5s);
    known.found_held_until(1, start + 9s);
    known.found_held_until(2, start + 7s);
    known.usable(2, false);
    BOOST_TEST((known.free_at() == start + 9s));
    known.usable(0, false);
    BOOST_TEST(!known.free_at().has_value());
}

BOOST_AUTO_TEST_CASE(contenders_meet_at_the_first_node_that_can_be_asked)
{
    BOOST_TEST(known.rendezvous_node().value() == 1U);
    known.usable(1, false);
    BOOST_TEST(known.rendezvous_node().value() == 2U);
    known.usable(2, false);
    BOOST_TEST(known.rendezvous_node().value() == 0U);
    known.usable(0, false);
    BOOST_TEST(!known.rendezvous_node().has_value());
}

BOOST_AUTO_TEST_CASE(the_next_one_in_the_ring_stands_in_for_a_silent_one)
{
    BOOST_TEST(known.after(1).value() == 2U);
    BOOST_TEST(known.after(2).value() == 0U);
    known.usable(0, false);
    BOOST_TEST(known.after(2).value() == 1U);
}

/// Of five nodes the first cannot vote, and the one that is asked in its place has refused.
BOOST_AUTO_TEST_CASE(it_is_not_free_while_the_first_that_votes_is_taken)
{
    known.start(5, 0);
    known.votes(0, false);
    known.refused(1);
    BOOST_TEST(!known.may_be_free());
    BOOST_TEST(known.lacks_votes());
    known.changed(1);
    BOOST_TEST(known.may_be_free());
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
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

BOOST_FIXTURE_TEST_SUITE(contention_of_clients, three_nodes_fixture)

BOOST_AUTO_TEST_CASE(lock_may_be_free_if_majority_and_rendezvous_node_may_be)
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

BOOST_AUTO_TEST_CASE(unusable_node_does_not_count_as_free)
{
    known.usable(0, false);
    BOOST_TEST(known.may_be_free());
    known.usable(2, false);
    BOOST_TEST(!known.may_be_free());
    known.usable(2, true);
    BOOST_TEST(known.may_be_free());
}

BOOST_AUTO_TEST_CASE(node_without_vote_does_not_count_as_free)
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

BOOST_AUTO_TEST_CASE(knowledge_of_node_is_forgotten_with_its_connection)
{
    known.refused(1);
    known.usable(1, false);
    known.usable(1, true);
    BOOST_TEST(!known.taken(1));
}

BOOST_AUTO_TEST_CASE(lock_is_free_when_keys_of_majority_have_expired)
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
BOOST_AUTO_TEST_CASE(free_majority_waits_for_rendezvous_node_to_be_free)
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
BOOST_AUTO_TEST_CASE(expiry_before_lost_attempt_causes_no_further_attempt)
{
    known.found_held_until(0, start + 1s);
    known.found_held_until(1, start + 9s);
    known.lost(start);
    BOOST_TEST((known.free_at() == start + 1s));
    known.lost(start + 2s);
    BOOST_TEST((known.free_at() == start + 9s));
    BOOST_TEST(known.taken(0));
}

BOOST_AUTO_TEST_CASE(expiry_on_unusable_node_is_ignored)
{
    known.found_held_until(0, start + 5s);
    known.found_held_until(1, start + 9s);
    known.found_held_until(2, start + 7s);
    known.usable(2, false);
    BOOST_TEST((known.free_at() == start + 9s));
    known.usable(0, false);
    BOOST_TEST(!known.free_at().has_value());
}

BOOST_AUTO_TEST_CASE(rendezvous_node_is_first_usable_node)
{
    BOOST_TEST(known.rendezvous_node().value() == 1U);
    known.usable(1, false);
    BOOST_TEST(known.rendezvous_node().value() == 2U);
    known.usable(2, false);
    BOOST_TEST(known.rendezvous_node().value() == 0U);
    known.usable(0, false);
    BOOST_TEST(!known.rendezvous_node().has_value());
}

BOOST_AUTO_TEST_CASE(next_usable_node_in_ring_replaces_silent_node)
{
    BOOST_TEST(known.after(1).value() == 2U);
    BOOST_TEST(known.after(2).value() == 0U);
    known.usable(0, false);
    BOOST_TEST(known.after(2).value() == 1U);
}

/// Of five nodes the first cannot vote, and the one that is asked in its place has refused.
BOOST_AUTO_TEST_CASE(lock_is_not_free_while_first_voting_node_is_taken)
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

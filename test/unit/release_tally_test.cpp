// SPDX-License-Identifier: BSL-1.0
#include "core/release_tally.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock::core;

namespace {

using result = release_tally::result;

/// \param ours nodes that say the key was ours
/// \param refused nodes that say it was not
/// \param missed nodes that do not answer
release_tally counted(unsigned nodes, unsigned ours, unsigned refused, unsigned missed)
{
    release_tally t(node_set::first(nodes));
    unsigned node = 0;
    for (unsigned i = 0; i != ours; ++i)
        t.answered(node++, true);
    for (unsigned i = 0; i != refused; ++i)
        t.answered(node++, false);
    for (unsigned i = 0; i != missed; ++i)
        t.missed(node++);
    return t;
}

} // namespace

BOOST_AUTO_TEST_SUITE(release_tallies)

BOOST_AUTO_TEST_CASE(release_is_confirmed_by_majority_of_answers)
{
    for (unsigned nodes : {1U, 2U, 3U, 4U, 5U, 63U}) {
        BOOST_TEST_CONTEXT(nodes << " nodes")
        {
            auto const enough = counted(nodes, majority(nodes), 0, 0);
            BOOST_TEST(enough.decided());
            BOOST_TEST(enough.confirmed());
            BOOST_TEST((enough.verdict() == result::confirmed));
            auto const one_less = counted(nodes, majority(nodes) - 1, 0, 0);
            BOOST_TEST(!one_less.decided());
            BOOST_TEST(!one_less.confirmed());
        }
    }
}

// rule R2
BOOST_AUTO_TEST_CASE(release_is_not_confirmed_by_half_of_the_nodes)
{
    for (unsigned nodes : {2U, 4U, 6U}) {
        BOOST_TEST_CONTEXT(nodes << " nodes")
        {
            auto const half = counted(nodes, nodes / 2, 0, nodes / 2);
            BOOST_TEST(!half.confirmed());
            BOOST_TEST((half.verdict() == result::unconfirmed));
        }
    }
}

BOOST_AUTO_TEST_CASE(release_is_decided_when_every_node_answered_or_failed)
{
    BOOST_TEST(!counted(3, 1, 0, 1).decided());
    BOOST_TEST(counted(3, 1, 0, 2).decided());
    BOOST_TEST((counted(3, 1, 0, 2).verdict() == result::unconfirmed));
    BOOST_TEST(counted(3, 0, 0, 3).decided());
    BOOST_TEST((counted(3, 0, 0, 3).verdict() == result::unconfirmed));
}

BOOST_AUTO_TEST_CASE(release_counts_refusal_as_answer)
{
    auto const t = counted(3, 1, 1, 0);
    BOOST_TEST(t.answers() == 2U);
    BOOST_TEST(t.decided());
    BOOST_TEST((t.verdict() == result::confirmed));
}

// rule R2
BOOST_AUTO_TEST_CASE(release_refused_by_majority_means_keys_were_gone)
{
    BOOST_TEST((counted(3, 1, 1, 1).verdict() == result::confirmed));
    BOOST_TEST((counted(3, 1, 2, 0).verdict() == result::was_gone));
    BOOST_TEST((counted(5, 1, 2, 2).verdict() == result::confirmed));
    BOOST_TEST((counted(5, 0, 3, 2).verdict() == result::was_gone));
    BOOST_TEST((counted(1, 0, 1, 0).verdict() == result::was_gone));
}

/// A release that was repeated is answered twice.
// rule R2
BOOST_AUTO_TEST_CASE(node_that_answers_a_release_twice_counts_once)
{
    release_tally t(node_set::first(3));
    for (int i = 0; i != 2; ++i)
        t.answered(0, true);
    BOOST_TEST(t.answers() == 1U);
    BOOST_TEST(!t.decided());
    t.missed(0); // as is the same node's silence to the other command
    BOOST_TEST(!t.decided());
    t.missed(1);
    t.missed(2);
    BOOST_TEST((t.verdict() == result::unconfirmed));
    t.answered(1, false);
    t.answered(2, false);
    BOOST_TEST((t.verdict() == result::unconfirmed));
}

/// Only refusals that were told before.
// rules R2 and M3
BOOST_AUTO_TEST_CASE(call_excuses_earlier_refusals)
{
    release_tally t(node_set::first(2));
    t.answered(0, false);
    t.excuse();
    t.answered(1, true);
    BOOST_TEST((t.verdict() == result::confirmed));
    release_tally other(node_set::first(2));
    other.excuse();
    other.answered(0, false);
    other.answered(1, true);
    BOOST_TEST((other.verdict() == result::was_gone));
}

/// Two of four leave no majority that can have held the keys, and are no majority themselves.
BOOST_AUTO_TEST_CASE(release_refused_by_half_of_the_nodes_means_keys_were_gone)
{
    auto const t = counted(4, 0, 2, 2);
    BOOST_TEST(!t.confirmed());
    BOOST_TEST((t.verdict() == result::was_gone));
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "core/tally.hpp"

#include <boost/test/unit_test.hpp>
#include <rapidcheck.h>
#include <rapidcheck/boost_test.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace redlock::core;

namespace {

vote parse_vote(char letter)
{
    return letter == 'g' ? vote::granted : letter == 'd' ? vote::denied : vote::failed;
}

char letter(verdict v)
{
    return v == verdict::won ? 'W' : v == verdict::lost ? 'L' : '.';
}

/// Tries all of them.
bool all_majorities_meet(unsigned one, unsigned other, unsigned all)
{
    // The first list has the first servers, the other one the last ones.
    auto const sets = [](unsigned count, unsigned first) {
        std::vector<unsigned> found;
        for (unsigned bits = 0; bits != 1U << count; ++bits)
            if (static_cast<unsigned>(std::popcount(bits)) == majority(count))
                found.push_back(bits << first);
        return found;
    };
    for (unsigned const a : sets(one, 0))
        for (unsigned const b : sets(other, all - other))
            if ((a & b) == 0)
                return false;
    return true;
}

/// "0g 1d 2f": votes by node, in order. One letter for the verdict before the first vote and after each.
std::string verdicts(tally& votes, std::string const& script)
{
    std::string told(1, letter(votes.result()));
    std::istringstream words(script);
    for (std::string word; words >> word;) {
        auto const before = votes.result();
        bool const decided = votes.record(static_cast<unsigned>(word[0] - '0'), parse_vote(word[1]));
        BOOST_TEST(decided == (before == verdict::pending && votes.result() != verdict::pending), script);
        told += letter(votes.result());
    }
    return told;
}

/// The definition: decided as soon as every way in which the missing nodes could vote ends the same.
verdict by_definition(unsigned nodes, unsigned granted, unsigned missing)
{
    bool some_way_wins = false;
    bool some_way_loses = false;
    for (unsigned more = 0; more <= missing; ++more)
        (2 * (granted + more) > nodes ? some_way_wins : some_way_loses) = true;
    return !some_way_loses ? verdict::won : !some_way_wins ? verdict::lost : verdict::pending;
}

using ballot = std::pair<unsigned, vote>;

/// Counts like somebody with pencil and paper, and compares after every vote.
bool counts_by_definition(unsigned nodes, std::vector<ballot> const& ballots)
{
    tally votes{nodes};
    std::vector<bool> answered(nodes);
    unsigned granted = 0;
    unsigned denied = 0;
    unsigned missing = nodes;
    verdict decided = by_definition(nodes, granted, missing);
    bool same = votes.result() == decided;
    for (auto const& [node, v] : ballots) {
        bool const counts = decided == verdict::pending && !answered[node];
        if (counts) {
            answered[node] = true;
            --missing;
            granted += v == vote::granted ? 1 : 0;
            denied += v == vote::denied ? 1 : 0;
            decided = by_definition(nodes, granted, missing);
        }
        same = votes.record(node, v) == (counts && decided != verdict::pending) && same;
        same = same && votes.result() == decided && votes.granted() == granted && votes.denied() == denied;
        same = same && votes.missing() == missing && votes.has_answered(node) == answered[node];
        same = same && votes.granted_by().size() == granted;
    }
    return same;
}

} // namespace

BOOST_AUTO_TEST_SUITE(tally_counts)

// rule A5
BOOST_AUTO_TEST_CASE(tally_is_decided_at_first_irrevocable_vote)
{
    struct row {
        unsigned nodes;
        std::string script;
        std::string expected; // before the first vote, then after each
    };
    row const rows[] = {
        {1, "0g", ".W"},
        {1, "0d", ".L"},
        {1, "0f", ".L"},
        // Two nodes tolerate no failure.
        {2, "0g 1g", "..W"},
        {2, "0g 1d", "..L"},
        {2, "0d", ".L"},
        {2, "1f", ".L"},
        {3, "0g 1g", "..W"},
        {3, "2g 0d 1g", "...W"},
        {3, "0f 1g 2g", "...W"},
        {3, "0d 1d", "..L"},
        {3, "0d 1f", "..L"},
        {3, "0g 1f 2d", "...L"},
        // Two of four are no majority, and the even split settles at its second refusal.
        {4, "0g 1g", "..."},
        {4, "0g 1g 2g", "...W"},
        {4, "0g 1g 2d 3g", "....W"},
        {4, "0g 1g 2d 3d", "....L"},
        {4, "0g 1d 2g 3f", "....L"},
        {4, "0d 1d", "..L"},
        {5, "0g 1g 2g", "...W"},
        {5, "0g 1d 2g 3d 4g", ".....W"},
        {5, "0g 1d 2g 3f 4d", ".....L"},
        {5, "0d 1f 2d", "...L"},
        {5, "4g 3f 2f 1g", "....."},
    };
    for (row const& r : rows) {
        tally votes{r.nodes};
        BOOST_TEST(verdicts(votes, r.script) == r.expected, r.nodes << " nodes: " << r.script);
    }
}

// rule A5
BOOST_AUTO_TEST_CASE(tally_ignores_second_votes_and_votes_after_verdict)
{
    struct row {
        unsigned nodes;
        std::string script;
        std::string expected;
        unsigned granted;
        unsigned denied;
        unsigned missing;
    };
    row const rows[] = {
        {3, "0g 0g 0g", "....", 1, 0, 2},
        {3, "0d 0g 1g 2g", "....W", 2, 1, 0},
        {3, "0f 0g 1g", "....", 1, 0, 1},
        {3, "0g 0d 1g", "...W", 2, 0, 1},
        {3, "0d 0d 0d", "....", 0, 1, 2},
        {3, "0g 1g 2g", "..WW", 2, 0, 1},
        {3, "0g 1g 2d", "..WW", 2, 0, 1},
        {3, "0d 1d 2g", "..LL", 0, 2, 1},
        {3, "0d 1f 2d", "..LL", 0, 1, 1},
        {5, "0g 1g 2g 3d 4d", "...WWW", 3, 0, 2},
        {5, "0f 1f 2f 0g 1g 2g 3g", "...LLLLL", 0, 0, 2},
    };
    for (row const& r : rows) {
        tally votes{r.nodes};
        BOOST_TEST_CONTEXT(r.nodes << " nodes: " << r.script)
        {
            BOOST_TEST(verdicts(votes, r.script) == r.expected);
            BOOST_TEST(votes.granted() == r.granted);
            BOOST_TEST(votes.denied() == r.denied);
            BOOST_TEST(votes.missing() == r.missing);
            BOOST_TEST(votes.nodes() == r.nodes);
        }
    }
}

// rule A4
BOOST_AUTO_TEST_CASE(tally_tells_contention_from_missing_nodes)
{
    struct row {
        unsigned nodes;
        std::string script;
        bool contended;
    };
    row const rows[] = {
        {1, "0d", true},
        {1, "0f", false},
        {2, "0d", true}, // decided by the first; the other may be well
        {2, "0g 1d", true},
        {2, "0f", false},
        {3, "0d 1d", true},
        {3, "0g 1d 2d", true},
        {3, "0g 1d 2f", true},
        {3, "0d 1f", true}, // one may fail, and the third was not waited for
        {3, "0f 1f", false},
        {3, "0g 1f 2f", false},
        {4, "0g 1g 2d 3d", true},
        {4, "0g 1d 2f", true},
        {4, "0d 1f", true},
        {4, "0g 1g 2d 3f", true},
        {5, "0d 1d 2d", true},
        {5, "0g 1d 2d 3f 4f", true},
        {5, "0g 1d 2f 3f 4f", true}, // decided before the fifth
        {5, "0g 1g 2f 3f 4f", false},
    };
    for (row const& r : rows) {
        tally votes{r.nodes};
        (void)verdicts(votes, r.script);
        BOOST_TEST(votes.contended(votes.missing()) == r.contended, r.nodes << " nodes: " << r.script);
    }
    tally silence{3};
    (void)verdicts(silence, "0d");
    BOOST_TEST(!silence.contended(0), "two of three nodes did not answer in time");
    tally won{3};
    (void)verdicts(won, "0g 1g");
    BOOST_TEST(!won.contended(1), "a won round without a refusal");
}

BOOST_AUTO_TEST_CASE(tally_remembers_which_nodes_granted)
{
    tally votes{5};
    (void)verdicts(votes, "4g 1d 0g 3f 0d 2g");
    node_set expected;
    for (unsigned node : {0U, 2U, 4U})
        expected.insert(node);
    BOOST_TEST((votes.granted_by() == expected));
    for (unsigned node = 0; node != 5; ++node)
        BOOST_TEST(votes.has_answered(node), "node " << node);
}

// rule A5
BOOST_AUTO_TEST_CASE(tally_is_right_for_every_order_of_up_to_five_votes)
{
    unsigned checked = 0;
    for (unsigned nodes = 1; nodes <= 5; ++nodes) {
        std::vector<unsigned> order(nodes);
        std::iota(order.begin(), order.end(), 0U);
        do {
            auto const combinations = static_cast<unsigned>(std::vector{1, 3, 9, 27, 81, 243}[nodes]);
            for (unsigned code = 0; code != combinations; ++code, ++checked) {
                std::vector<ballot> ballots;
                for (unsigned rest = code; unsigned node : order) {
                    ballots.emplace_back(node, static_cast<vote>(rest % 3));
                    rest /= 3;
                }
                BOOST_REQUIRE(counts_by_definition(nodes, ballots));
            }
        } while (std::next_permutation(order.begin(), order.end()));
    }
    BOOST_TEST(checked == 1U * 3 + 2U * 9 + 6U * 27 + 24U * 81 + 120U * 243);
}

RC_BOOST_PROP(tally_is_right_for_any_votes_of_any_number_of_nodes, ())
{
    auto const nodes = *rc::gen::inRange(1U, max_nodes + 1);
    // Twice as many ballots as nodes, so that second votes and votes after the verdict come up.
    auto const ballots = *rc::gen::container<std::vector<ballot>>(
        2 * nodes, rc::gen::pair(rc::gen::inRange(0U, nodes),
                                 rc::gen::weightedElement<vote>(
                                     {{5, vote::granted}, {2, vote::denied}, {2, vote::failed}})));
    RC_ASSERT(counts_by_definition(nodes, ballots));
}

// rule N1
BOOST_AUTO_TEST_CASE(majority_is_more_than_half_of_the_nodes)
{
    unsigned const expected[] = {1, 2, 2, 3, 3, 4, 4, 5, 5}; // for 1 to 9 nodes
    for (unsigned nodes = 1; nodes <= 9; ++nodes)
        BOOST_TEST(majority(nodes) == expected[nodes - 1], nodes << " nodes");
    for (unsigned nodes = 1; nodes <= max_nodes; ++nodes) {
        BOOST_TEST(2 * majority(nodes) > nodes);
        BOOST_TEST(2 * (majority(nodes) - 1) <= nodes);
    }
}

/// If a majority of one list has granted, no majority of the other list grants.
// rule N9
BOOST_AUTO_TEST_CASE(majorities_of_two_lists_meet_if_each_pair_does)
{
    for (unsigned one = 1; one <= 5; ++one)
        for (unsigned other = 1; other <= 5; ++other)
            for (unsigned all = std::max(one, other); all <= one + other; ++all)
                BOOST_TEST(majorities_meet(one, other, all) == all_majorities_meet(one, other, all),
                           one << ", " << other << ", " << all);
    for (unsigned nodes = 1; nodes != max_nodes; ++nodes)
        BOOST_TEST(majorities_meet(nodes, nodes + 1, nodes + 1), nodes);
}

BOOST_AUTO_TEST_CASE(node_set_holds_each_node_once)
{
    node_set nodes;
    BOOST_TEST(nodes.size() == 0U);
    for (unsigned node : {0U, 31U, 32U, max_nodes - 1, 31U})
        nodes.insert(node);
    BOOST_TEST(nodes.size() == 4U);
    BOOST_TEST(nodes.contains(32));
    BOOST_TEST(!nodes.contains(33));
    nodes.erase(32);
    nodes.erase(33);
    BOOST_TEST(!nodes.contains(32));
    BOOST_TEST(nodes.size() == 3U);

    node_set others;
    others.insert(0);
    others.insert(5);
    nodes.insert(others);
    BOOST_TEST(nodes.contains(5));
    BOOST_TEST(nodes.size() == 4U);
    BOOST_TEST((nodes != others));
}

BOOST_AUTO_TEST_SUITE_END()

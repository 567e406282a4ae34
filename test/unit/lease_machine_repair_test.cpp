// SPDX-License-Identifier: BSL-1.0
#include "lease_machine_script.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock::test;

namespace {

constexpr lease_terms fenced{.ttl = 9s, .slack = 900ms, .guarded = true};
constexpr lease_terms fenced_tolerant{.ttl = 9s, .slack = 900ms, .tolerate_suspect = true, .guarded = true};

} // namespace

BOOST_AUTO_TEST_SUITE(lease_repair)

// rule F5
BOOST_AUTO_TEST_CASE(repaired_node_counts_before_old_deadline)
{
    lease l(fenced, 3, "12");
    BOOST_TEST(l.machine.votes() == 2U);
    BOOST_TEST(l.round(3000ms, "0r 1m") == ".E");
    BOOST_TEST(l.machine.votes() == 3U);
}

// rule F5
BOOST_AUTO_TEST_CASE(repaired_node_does_not_count_after_old_deadline)
{
    struct {
        char const* script;
        char const* expected;
    } const rows[] = {{"0r 1m", ".F"}, {"0r 1r", ".F"}, {"0m 1m", ".E"}};
    for (auto const& r : rows) {
        lease l(fenced_tolerant);
        BOOST_TEST(l.due(8908ms) == 'S');
        BOOST_TEST(l.round(8950ms, r.script) == r.expected, r.script);
    }
    lease begun_before(fenced_tolerant);
    BOOST_TEST(begun_before.round(8900ms, "0r 1m", 8950ms) == ".F");
}

// rule F5
BOOST_AUTO_TEST_CASE(plain_lease_does_not_count_repaired_nodes)
{
    lease l;
    BOOST_TEST(l.round(3000ms, "0r 1m 2f") == "..F");
}

/// The fence says that nobody was granted since; a plain lease has only its memory for that.
// rule F4
BOOST_AUTO_TEST_CASE(fenced_lease_counts_nodes_not_known_as_holders)
{
    lease with_fence(fenced, 3, "01");
    BOOST_TEST(with_fence.round(3000ms, "2m 1m") == ".E");
    lease without(nine_seconds, 3, "01");
    BOOST_TEST(without.round(3000ms, "0f 2m 1m") == ".F.");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(lease_votes)

BOOST_AUTO_TEST_CASE(silent_node_is_no_holder_after_round_until_it_answers)
{
    lease l;
    BOOST_TEST(l.machine.votes() == 3U);
    BOOST_TEST(l.round(3000ms, "0m 1m") == ".E");
    BOOST_TEST(l.machine.votes() == 3U); // the third has not been given up yet
    BOOST_TEST(l.round(6000ms, "0m") == ".");
    BOOST_TEST(l.machine.votes() == 2U);
    BOOST_TEST(l.answers("1m 2m", 6000ms) == "E.");
    BOOST_TEST(l.machine.votes() == 3U); // its late answer
}

BOOST_AUTO_TEST_CASE(timed_out_extension_drops_votes_of_silent_nodes)
{
    lease l;
    BOOST_TEST(l.round(3000ms, "0m") == ".");
    BOOST_TEST((l.time_out(at(3500ms)) == lease_machine::outcome::failed));
    BOOST_TEST(l.machine.votes() == 1U);
    BOOST_TEST((l.time_out(at(3500ms)) == lease_machine::outcome::pending));
    BOOST_TEST(l.round(4000ms, "0m 1m") == ".E"); // known as holders all the same (rule H5)
    BOOST_TEST(l.machine.votes() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()

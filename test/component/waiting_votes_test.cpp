// SPDX-License-Identifier: BSL-1.0
#include "component/scripted_cluster.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr lock_options slow_lock{.ttl = 100s, .node_timeout = 20s};

/// Two nodes are asked while the third is being connected, and refuse after that.
struct connecting_third_node_fixture : scripted_cluster {
    config settings = defaults();

    connecting_third_node_fixture() { settings.admission.assume_fresh = false; }

    void expect_no_vote(lock_options const& options, std::string const& age_of_the_third)
    {
        connect_with(settings);
        nodes[0]->expect("SET", late(canned::nil));
        nodes[1]->expect("SET", late(canned::nil));
        nodes[2]->expect("HELLO", late(canned::hello));
        nodes[2]->expect("INFO", reply(info_reply({{"uptime_in_seconds", age_of_the_third}})));
        auto const result = std::make_shared<outcome>();
        lock("resource", options).try_acquire(keeps_outcome{result});
        run_until(context,
                  [&] { return nodes[0]->done() && nodes[1]->done() && nodes[2]->count("TIME") == 1; });
        nodes[2]->deliver_late();
        run_until(context, [&] { return locks->node_table().at(2).state == node_state::quarantined; });
        nodes[0]->deliver_late();
        nodes[1]->deliver_late();
        run_until(context, [&] { return result->done(); });
        BOOST_TEST(result->ec == errc::contended);
        locks->shutdown([](error_code) {}); // after which all has been said
        run_until(context, [&] { return nodes[2]->open() == 0; });
        BOOST_TEST(nodes[2]->count("SET") == 0U);
        BOOST_TEST(nodes[2]->count("EVAL") == 0U);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(waiting_votes, connecting_third_node_fixture)

// rule N2
BOOST_AUTO_TEST_CASE(vote_waiting_for_young_node_is_neither_sent_nor_undone)
{
    expect_no_vote(slow_lock, "3");
}

BOOST_AUTO_TEST_CASE(vote_is_not_sent_to_node_younger_than_ttl_and_slack)
{
    expect_no_vote({.ttl = 100s, .slack = 200s, .node_timeout = 20s}, "301");
}

BOOST_AUTO_TEST_CASE(vote_is_not_sent_to_node_younger_than_longest_ttl)
{
    settings.admission.longest_ttl = 600s;
    expect_no_vote(slow_lock, "301");
}

BOOST_AUTO_TEST_SUITE_END()

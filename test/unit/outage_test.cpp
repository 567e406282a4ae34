// SPDX-License-Identifier: BSL-1.0
#include "core/outage.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

constexpr instant began{100s, 100s};
constexpr instant before = began - 1h;
constexpr duration patience = 5s;
/// Three of five are away.
constexpr node_census away{.nodes = 5, .voting = 2};
/// Three of five would vote, but one of them may not yet.
constexpr node_census too_young{.nodes = 5, .voting = 2, .quarantined = 1};

} // namespace

BOOST_AUTO_TEST_SUITE(outages)

BOOST_AUTO_TEST_CASE(quarantine_is_in_the_way_only_if_majority_would_vote_without_it)
{
    BOOST_TEST(!(node_census{.nodes = 5, .voting = 2}.quarantine_is_in_the_way()));
    BOOST_TEST(!(node_census{.nodes = 5, .voting = 1, .quarantined = 1}.quarantine_is_in_the_way()));
    BOOST_TEST((node_census{.nodes = 5, .voting = 2, .quarantined = 1}.quarantine_is_in_the_way()));
    BOOST_TEST((node_census{.nodes = 5, .voting = 0, .quarantined = 5}.quarantine_is_in_the_way()));
    BOOST_TEST(!(node_census{.nodes = 4, .voting = 1, .quarantined = 1}.quarantine_is_in_the_way()));
}

BOOST_AUTO_TEST_CASE(census_is_hopeless_if_broken_nodes_leave_no_majority)
{
    BOOST_TEST(!(node_census{.nodes = 5, .broken = 2}.hopeless()));
    BOOST_TEST((node_census{.nodes = 5, .broken = 3}.hopeless()));
    BOOST_TEST(!(node_census{.nodes = 4, .broken = 1}.hopeless()));
    BOOST_TEST((node_census{.nodes = 4, .broken = 2}.hopeless()));
    BOOST_TEST((node_census{.nodes = 1, .broken = 1}.hopeless()));
}

BOOST_AUTO_TEST_CASE(operation_gives_up_when_outage_outlasts_outage_patience)
{
    outage o;
    o.go_on(away, began);
    BOOST_TEST(!o.gives_up(away, before, patience, began));
    BOOST_TEST(!o.gives_up(away, before, patience, began + patience - 1ns));
    BOOST_TEST(o.gives_up(away, before, patience, began + patience));
}

BOOST_AUTO_TEST_CASE(further_failed_attempt_does_not_restart_outage)
{
    outage o;
    for (int second = 0; second != 5; ++second)
        o.go_on(away, began + second * 1s);
    BOOST_TEST(o.gives_up(away, before, patience, began + patience));
}

BOOST_AUTO_TEST_CASE(attempt_with_quorum_ends_outage)
{
    outage o;
    o.go_on(away, began);
    o.end();
    o.go_on(away, began + 4s);
    BOOST_TEST(!o.gives_up(away, before, patience, began + patience));
    BOOST_TEST(o.gives_up(away, before, patience, began + 4s + patience));
}

BOOST_AUTO_TEST_CASE(operation_begun_later_counts_outage_from_its_own_start)
{
    outage o;
    o.go_on(away, began);
    BOOST_TEST(!o.gives_up(away, began + 3s, patience, began + patience));
    BOOST_TEST(o.gives_up(away, began + 3s, patience, began + 3s + patience));
}

BOOST_AUTO_TEST_CASE(quarantine_in_the_way_is_no_outage)
{
    outage o;
    o.go_on(away, began);
    BOOST_TEST(!o.gives_up(too_young, before, patience, began + 1h));
    constexpr node_census also_broken{.nodes = 5, .voting = 0, .quarantined = 3, .broken = 3};
    BOOST_TEST(!o.gives_up(also_broken, before, patience, began + 1h));
}

BOOST_AUTO_TEST_CASE(outage_after_quarantine_counts_from_the_first_attempt_without)
{
    outage o;
    o.go_on(away, began);
    o.go_on(too_young, began + 4s);
    o.go_on(away, began + 6s);
    BOOST_TEST(!o.gives_up(away, before, patience, began + 6s + patience - 1ns));
    BOOST_TEST(o.gives_up(away, before, patience, began + 6s + patience));
}

BOOST_AUTO_TEST_CASE(hopeless_operation_gives_up_at_once)
{
    constexpr node_census hopeless{.nodes = 3, .voting = 1, .broken = 2};
    outage o;
    o.go_on(hopeless, began);
    BOOST_TEST(o.gives_up(hopeless, before, duration::max(), began));
    BOOST_TEST(!o.gives_up(away, before, duration::max(), began + 24h));
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "core/gate_wait.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

constexpr instant t{100s, 100s};
constexpr gate_wait::pace how{1ms, 400ms};
constexpr random_fraction longest = 0xffffffff;

gate_wait refused(gate_wait::refusal const& said, random_fraction chance = 0)
{
    gate_wait wait;
    wait.start(3);
    wait.refused(t, how, said, chance);
    return wait;
}

/// How long it waits.
duration in(gate_wait const& wait)
{
    return wait.due().boot - t.boot;
}

} // namespace

BOOST_AUTO_TEST_SUITE(gate_waits)

BOOST_AUTO_TEST_CASE(mark_is_left_anew_in_half_of_its_time)
{
    BOOST_TEST((refused({}).due() == t + 100ms));
    BOOST_TEST((in(refused({}, longest)) <= 200ms));
    BOOST_TEST((in(refused({}, longest)) > 199ms));
    BOOST_TEST((refused({.free_in = 10s}).due() == t + 100ms));
}

BOOST_AUTO_TEST_CASE(keys_that_go_are_asked_for_behind_their_end)
{
    BOOST_TEST((refused({.free_in = 30ms}).due() == t + 32ms));
}

BOOST_AUTO_TEST_CASE(majority_of_changes_is_followed_at_once)
{
    auto wait = refused({});
    wait.changed(1, t + 20ms);
    wait.changed(1, t + 21ms);
    BOOST_TEST((wait.due() == t + 100ms));
    wait.changed(2, t + 21ms);
    BOOST_TEST((wait.due() == t + 21ms));
}

/// With one more the node that had granted it makes a majority.
BOOST_AUTO_TEST_CASE(node_that_granted_counts_as_one_that_changed)
{
    auto wait = refused({.granted = node_set(0)});
    wait.changed(0, t + 20ms);
    BOOST_TEST((wait.due() == t + 100ms));
    wait.changed(1, t + 21ms);
    BOOST_TEST((wait.due() == t + 21ms));
}

/// What has been heard before a refusal has led to it.
BOOST_AUTO_TEST_CASE(changes_are_counted_from_the_refusal_on)
{
    auto wait = refused({});
    wait.changed(0, t);
    wait.refused(t + 1ms, how, {}, 0);
    wait.changed(1, t + 20ms);
    BOOST_TEST((wait.due() == t + 101ms));
    wait.changed(2, t + 20ms);
    BOOST_TEST((wait.due() == t + 20ms));
}

BOOST_AUTO_TEST_CASE(votes_that_crossed_are_taken_apart)
{
    gate_wait wait;
    wait.start(3);
    wait.refused(t, how, {.granted = node_set(2)}, longest);
    wait.changed(0, t);
    wait.changed(1, t);
    BOOST_TEST((in(wait) > 1ms));
    BOOST_TEST((in(wait) <= 2ms));
    wait.refused(t, how, {.granted = node_set(2)}, longest);
    wait.changed(0, t);
    wait.changed(1, t);
    BOOST_TEST((in(wait) > 3ms));
    wait.refused(t, how, {}, longest);
    wait.changed(0, t);
    wait.changed(1, t);
    BOOST_TEST((wait.due() == t));
}

BOOST_AUTO_TEST_CASE(others_go_first_for_a_while)
{
    gate_wait wait;
    wait.start(3);
    wait.leave_alone(t + 5ms);
    BOOST_TEST((wait.due() == t + 5ms));
    wait.changed(0, t);
    wait.changed(1, t);
    BOOST_TEST((wait.due() == t + 5ms));
}

BOOST_AUTO_TEST_SUITE_END()

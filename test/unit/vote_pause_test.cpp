// SPDX-License-Identifier: BSL-1.0
#include "core/vote_pause.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

constexpr instant t{100s, 100s};
constexpr random_fraction half = 1U << 31U;
constexpr vote_pause::pace pace{10ms, 200ms, 4ms};

vote_pause begun(unsigned refusals, random_fraction chance)
{
    vote_pause pause;
    pause.begin(t, pace, refusals, chance);
    return pause;
}

} // namespace

BOOST_AUTO_TEST_SUITE(vote_pauses)

// rule W2
BOOST_AUTO_TEST_CASE(bound_of_pause_doubles_with_each_refusal)
{
    BOOST_TEST((begun(1, half).at() == t + 5ms));
    BOOST_TEST((begun(3, half).at() == t + 20ms));
    BOOST_TEST((begun(30, half).at() == t + 100ms));
    BOOST_TEST((begun(30, 0).at() == t));
}

// rule W2
BOOST_AUTO_TEST_CASE(change_of_the_key_ends_pause_within_a_round_trip)
{
    auto pause = begun(30, half);
    pause.changed(t + 10ms, half);
    BOOST_TEST((pause.at() == t + 12ms));
    pause.changed(t + 11ms, half);
    BOOST_TEST((pause.at() == t + 12ms));
}

// rule W2
BOOST_AUTO_TEST_CASE(pause_ends_when_key_has_expired)
{
    auto pause = begun(30, half);
    pause.found_held(30ms, t + 10ms, half);
    BOOST_TEST((pause.at() == t + 10ms + 30ms + 2ms + 2ms));
    pause.found_held(10s, t + 10ms, half);
    BOOST_TEST((pause.at() == t + 44ms));
}

// rule W2
BOOST_AUTO_TEST_CASE(key_that_lives_on_does_not_lengthen_pause)
{
    auto pause = begun(1, half);
    pause.found_held(10s, t, half);
    BOOST_TEST((pause.at() == t + 5ms));
}

// rule W5
BOOST_AUTO_TEST_CASE(time_for_others_has_its_length)
{
    vote_pause pause;
    pause.begin(t, pace, 3ms);
    BOOST_TEST((pause.at() == t + 3ms));
}

BOOST_AUTO_TEST_SUITE_END()

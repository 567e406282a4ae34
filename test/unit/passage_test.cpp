// SPDX-License-Identifier: BSL-1.0
#include "core/passage.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

constexpr instant t{100s, 100s};
constexpr duration window = 2ms;

} // namespace

BOOST_AUTO_TEST_SUITE(passages)

// rule Q19
BOOST_AUTO_TEST_CASE(lock_passes_from_first_lease_on)
{
    passage passing;
    BOOST_TEST((passing.lasted(t) == 0ms));
    passing.granted(t);
    passing.granted(t + 30ms);
    BOOST_TEST((passing.lasted(t + 40ms) == 40ms));
}

// rule Q19
BOOST_AUTO_TEST_CASE(next_owner_goes_on_counting)
{
    passage passing;
    passing.continued(200ms, t);
    passing.granted(t + 1ms);
    BOOST_TEST((passing.lasted(t + 50ms) == 250ms));
}

// rule Q19
BOOST_AUTO_TEST_CASE(another_owner_meanwhile_ends_passage)
{
    passage passing;
    passing.granted(t);
    passing.interrupted();
    BOOST_TEST((passing.lasted(t + 1s) == 0ms));
    passing.granted(t + 1s);
    BOOST_TEST((passing.lasted(t + 2s) == 1s));
}

// rule Q19
BOOST_AUTO_TEST_CASE(window_is_owed_when_it_costs_less_than_a_hundredth)
{
    passage passing;
    passing.granted(t);
    BOOST_TEST(!passing.owes_window(250ms, window, t + 255ms));
    BOOST_TEST(passing.owes_window(250ms, window, t + 256ms));
    BOOST_TEST(!passing.owes_window(1s, window, t + 999ms));
    BOOST_TEST(passing.owes_window(1s, window, t + 1s));
}

// rule Q19
BOOST_AUTO_TEST_CASE(lock_is_left_free_for_its_time_and_counts_anew)
{
    passage passing;
    passing.granted(t);
    BOOST_TEST(!passing.is_left_free(t));
    passing.left_free(t + window);
    BOOST_TEST(passing.is_left_free(t + 1ms));
    BOOST_TEST(!passing.is_left_free(t + window));
    BOOST_TEST((passing.free_for(t + 1ms) == window - 1ms));
    passing.interrupted(); // another client came: no position asks sooner for that
    BOOST_TEST(passing.is_left_free(t + 1ms));
    BOOST_TEST(!passing.owes_window(1ms, 1us, t + 10s));
    passing.granted(t + 10s);
    BOOST_TEST((passing.lasted(t + 11s) == 1s));
}

BOOST_AUTO_TEST_SUITE_END()

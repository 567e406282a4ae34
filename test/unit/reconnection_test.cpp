// SPDX-License-Identifier: BSL-1.0
#include "core/reconnection.hpp"

#include <boost/test/unit_test.hpp>
#include <rapidcheck.h>
#include <rapidcheck/boost_test.h>

#include <chrono>
#include <cstdint>

using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

duration any_time()
{
    return duration{*rc::gen::inRange<std::int64_t>(0, std::chrono::nanoseconds{24h}.count())};
}

} // namespace

BOOST_AUTO_TEST_SUITE(reconnection)

BOOST_AUTO_TEST_CASE(pace_of_holder_follows_what_is_left)
{
    auto const pace = pace_of_holder(8s, 500ms);
    BOOST_TEST((pace.pause == 500ms));
    BOOST_TEST((pace.attempt == 2s));
    BOOST_TEST((pace.silence == 2s));
    BOOST_TEST((pace_of_holder(2s, 500ms).silence == 1s));
    BOOST_TEST((pace_of_holder(-1s, 20ms).attempt == 0s));
    BOOST_TEST((pace_of_holder(-1s, 20ms).pause == shortest_pause));
}

BOOST_AUTO_TEST_CASE(pace_of_waiter_follows_the_ttl)
{
    auto const pace = pace_of_waiter(16s);
    BOOST_TEST((pace.pause == 1s));
    BOOST_TEST((pace.attempt == 4s));
    BOOST_TEST((pace.silence == duration::max()));
}

BOOST_AUTO_TEST_CASE(shortest_lease_sets_the_pace)
{
    auto const pace = sooner(pace_of_holder(8s, 100ms), pace_of_holder(4s, 2s));
    BOOST_TEST((pace.pause == 250ms));
    BOOST_TEST((pace.attempt == 1s));
    BOOST_TEST((pace.silence == 2s));
    BOOST_TEST((sooner({}, pace).pause == pace.pause));
    BOOST_TEST((sooner({}, pace).silence == pace.silence));
}

// rule H10
RC_BOOST_PROP(several_attempts_fit_into_what_is_left, ())
{
    auto const left = any_time();
    auto const pace = pace_of_holder(left, any_time());
    RC_ASSERT(pace.pause == shortest_pause || 16 * pace.pause <= left);
    RC_ASSERT(4 * pace.attempt <= left);
}

RC_BOOST_PROP(nodes_are_never_tried_more_often_than_the_bound, ())
{
    auto const pace = sooner(pace_of_holder(any_time(), any_time()), pace_of_waiter(any_time()));
    RC_ASSERT(pace.pause >= shortest_pause);
}

// rule H10
BOOST_AUTO_TEST_CASE(slow_server_gets_time_to_be_connected)
{
    least_attempt least;
    BOOST_TEST((least.value() == duration::max()));
    least.given_up();
    BOOST_TEST((least.value() == duration::max()));
    least.succeeded(1ms);
    BOOST_TEST((least.value() == shortest_pause));
    least.succeeded(100ms);
    BOOST_TEST((least.value() == 200ms));
    least.given_up();
    BOOST_TEST((least.value() == 250ms));
    for (int i = 0; i != 1000; ++i)
        least.given_up();
    BOOST_TEST((least.value() > 24h));
    BOOST_TEST((least.value() < 48h));
}

BOOST_AUTO_TEST_SUITE_END()

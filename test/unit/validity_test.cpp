// SPDX-License-Identifier: BSL-1.0
#include "core/validity.hpp"

#include <boost/test/unit_test.hpp>
#include <rapidcheck.h>
#include <rapidcheck/boost_test.h>

#include <cstdint>

using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t us(duration d)
{
    return std::chrono::duration_cast<std::chrono::microseconds>(d).count();
}

constexpr instant clocks(duration boot, duration raw)
{
    return {boot, raw};
}

duration any_span()
{
    return duration{*rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 60)};
}

} // namespace

BOOST_AUTO_TEST_SUITE(validity_of_a_lease)

// rule H2
BOOST_AUTO_TEST_CASE(elapsed_time_is_that_of_clock_that_ran_further)
{
    struct row {
        instant from;
        instant to;
        duration elapsed;
    };
    row const rows[] = {
        {clocks(0s, 0s), clocks(0s, 0s), 0s},
        {clocks(7s, 3s), clocks(9s, 5s), 2s},         // their origins differ, and mean nothing
        {clocks(7s, 3s), clocks(3607s, 4s), 1h},      // suspended for an hour: raw stood still
        {clocks(7s, 3s), clocks(8s, 4100ms), 1100ms}, // slewed: boot was slowed down
        {clocks(9s, 5s), clocks(7s, 3s), -2s},
    };
    for (row const& r : rows) {
        BOOST_TEST(us(elapsed(r.from, r.to)) == us(r.elapsed));
        BOOST_TEST(us(remaining(r.from + 10s, r.to)) == us(10s - r.elapsed));
    }
}

// rule H2
BOOST_AUTO_TEST_CASE(deadline_is_reached_when_either_clock_reaches_it)
{
    instant const deadline = clocks(100s, 50s);
    BOOST_TEST(!reached(deadline, clocks(100s - 1ns, 50s - 1ns)));
    BOOST_TEST(reached(deadline, clocks(100s, 50s - 1ns)));
    BOOST_TEST(reached(deadline, clocks(100s - 1ns, 50s)));
    BOOST_TEST(reached(deadline, clocks(100s, 50s)));
    BOOST_TEST(reached(deadline, clocks(200s, 0s)));
    BOOST_TEST(us(remaining(deadline, clocks(130s, 49s))) == us(-30s));
}

// rule V2
BOOST_AUTO_TEST_CASE(validity_is_ttl_less_one_percent_and_two_milliseconds)
{
    struct row {
        duration ttl;
        duration validity;
    };
    row const rows[] = {
        {10s, 9898ms},  {1s, 988ms},  {100ms, 97ms},     {200ms, 196ms},
        {1ms, -1010us}, {3ms, 970us}, {24h, 85535998ms},
    };
    for (row const& r : rows)
        BOOST_TEST(us(validity(r.ttl)) == us(r.validity), us(r.ttl) << " us");
}

// rule V1
BOOST_AUTO_TEST_CASE(deadline_counts_from_sending_of_the_votes)
{
    instant const d = deadline(clocks(1000s, 400s), 10s);
    BOOST_TEST(us(d.boot) == us(1009898ms));
    BOOST_TEST(us(d.raw) == us(409898ms));
    BOOST_TEST((clocks(3s, 1s) + 500ms == clocks(3500ms, 1500ms)));
    BOOST_TEST((clocks(3s, 1s) - 500ms == clocks(2500ms, 500ms)));
}

// rules V3 and V4
BOOST_AUTO_TEST_CASE(slack_and_node_timeout_default_to_fractions_of_ttl)
{
    struct row {
        milliseconds ttl;
        milliseconds slack;        // a tenth, at least 50 ms
        milliseconds node_timeout; // a twentieth, from 20 to 500 ms
    };
    row const rows[] = {
        {1ms, 50ms, 20ms},    {100ms, 50ms, 20ms},    {399ms, 50ms, 20ms},  {400ms, 50ms, 20ms},
        {420ms, 50ms, 21ms},  {500ms, 50ms, 25ms},    {509ms, 50ms, 25ms},  {510ms, 51ms, 25ms},
        {5s, 500ms, 250ms},   {9980ms, 998ms, 499ms}, {10s, 1000ms, 500ms}, {10020ms, 1002ms, 500ms},
        {30s, 3000ms, 500ms}, {24h, 8640s, 500ms},
    };
    for (row const& r : rows) {
        BOOST_TEST_CONTEXT("ttl " << r.ttl.count() << " ms")
        {
            BOOST_TEST(default_slack(r.ttl).count() == r.slack.count());
            BOOST_TEST(key_ttl(r.ttl, default_slack(r.ttl)).count() == (r.ttl + r.slack).count());
            BOOST_TEST(default_node_timeout(r.ttl).count() == r.node_timeout.count());
        }
    }
}

RC_BOOST_PROP(elapsed_and_remaining_time_agree, ())
{
    instant const from{any_span(), any_span()};
    instant const to{any_span(), any_span()};
    auto const span = any_span();
    RC_ASSERT(elapsed(from, to) >= to.boot - from.boot);
    RC_ASSERT(elapsed(from, to) >= to.raw - from.raw);
    RC_ASSERT(remaining(from + span, to) == span - elapsed(from, to));
    RC_ASSERT(reached(from + span, to) == (elapsed(from, to) >= span));
    RC_ASSERT(elapsed(from, from + span) == span);
    RC_ASSERT(from + span - span == from);
}

RC_BOOST_PROP(longer_ttl_gives_longer_validity_below_ttl, ())
{
    duration const ttl = any_span();
    duration const longer = ttl + any_span();
    RC_ASSERT(validity(ttl) <= ttl - 2ms);
    RC_ASSERT(validity(ttl) >= ttl - ttl / 100 - 2ms);
    RC_ASSERT(validity(ttl) <= validity(longer));
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "core/backoff.hpp"

#include <boost/test/unit_test.hpp>
#include <rapidcheck.h>
#include <rapidcheck/boost_test.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

constexpr random_fraction lowest = 0;
constexpr random_fraction middle = random_fraction{1} << 31;
constexpr random_fraction highest = std::numeric_limits<random_fraction>::max();
constexpr unsigned countless = std::numeric_limits<unsigned>::max();

duration any_delay()
{
    return duration{*rc::gen::inRange<std::int64_t>(1, std::chrono::nanoseconds{24h}.count())};
}

random_fraction any_fraction()
{
    return *rc::gen::arbitrary<random_fraction>();
}

} // namespace

BOOST_AUTO_TEST_SUITE(backoff)

// rule A8
BOOST_AUTO_TEST_CASE(backoff_bound_doubles_from_first_to_cap)
{
    struct row {
        unsigned failures;
        duration first;
        duration cap;
        duration bound;
    };
    row const rows[] = {
        {0, 50ms, 5s, 50ms},   {1, 50ms, 5s, 50ms},        {2, 50ms, 5s, 100ms}, {3, 50ms, 5s, 200ms},
        {7, 50ms, 5s, 3200ms}, {8, 50ms, 5s, 5s},          {9, 50ms, 5s, 5s},    {countless, 50ms, 5s, 5s},
        {1, 7s, 5s, 5s},       {countless, 7s, 5s, 5s},    {2, 5s, 5s, 5s},      {2, 2ns, 5ns, 4ns},
        {3, 1ns, 3ns, 3ns},    {countless, 1ns, 24h, 24h},
    };
    for (row const& r : rows)
        BOOST_TEST(backoff_bound(r.failures, r.first, r.cap).count() == r.bound.count(),
                   r.failures << " failures, from " << r.first.count() << " to " << r.cap.count());
}

BOOST_AUTO_TEST_CASE(backoff_bound_reaches_largest_cap_without_overflow)
{
    BOOST_TEST(backoff_bound(62, 1ns, duration::max()).count() == std::int64_t{1} << 61);
    BOOST_TEST(backoff_bound(63, 1ns, duration::max()).count() == std::int64_t{1} << 62);
    BOOST_TEST(backoff_bound(64, 1ns, duration::max()).count() == duration::max().count());
    BOOST_TEST(backoff_bound(1000, 1ns, duration::max()).count() == duration::max().count());
}

// rule A8
BOOST_AUTO_TEST_CASE(jitter_takes_given_fraction_of_bound)
{
    struct row {
        random_fraction fraction;
        duration full;
        duration half;
    };
    constexpr duration bound{1 << 30};
    constexpr duration grain{1 << 10}; // a millionth
    row const rows[] = {
        {lowest, 0ns, bound / 2},
        {middle / 2, bound / 4, bound / 2 + bound / 8},
        {middle, bound / 2, bound / 2 + bound / 4},
        {highest, bound - grain, bound - grain / 2},
    };
    for (row const& r : rows) {
        BOOST_TEST(full_jitter(1, bound, bound, r.fraction).count() == r.full.count(), r.fraction);
        BOOST_TEST(half_jitter(1, bound, bound, r.fraction).count() == r.half.count(), r.fraction);
    }
    BOOST_TEST(half_jitter(1, 5ns, 5ns, lowest).count() == 2);
    BOOST_TEST(full_jitter(1, 0ns, 5ns, highest).count() == 0);
}

BOOST_AUTO_TEST_CASE(scaling_of_largest_duration_does_not_overflow)
{
    BOOST_TEST(scale(duration::max(), lowest).count() == 0);
    BOOST_TEST(scale(duration::max(), middle).count() == (std::int64_t{1} << 62) - 1);
    BOOST_TEST(scale(duration::max(), highest).count() < duration::max().count());
    BOOST_TEST(scale(duration::max(), highest).count() > duration::max().count() / 1000 * 999);
}

RC_BOOST_PROP(backoff_bound_never_falls_and_stays_between_first_and_cap, ())
{
    auto const cap = any_delay();
    auto const first = any_delay();
    auto const failures = *rc::gen::oneOf(rc::gen::inRange(0U, 70U), rc::gen::just(countless - 1));
    auto const bound = backoff_bound(failures, first, cap);
    RC_ASSERT(bound >= std::min(first, cap));
    RC_ASSERT(bound <= cap);
    auto const next = backoff_bound(failures + 1, first, cap);
    RC_ASSERT(next == (failures == 0 ? bound : std::min(2 * bound, cap)));
}

RC_BOOST_PROP(jitter_stays_in_range_and_grows_with_fraction, ())
{
    auto const cap = any_delay();
    auto const first = any_delay();
    auto const failures = *rc::gen::inRange(0U, 70U);
    auto const bound = backoff_bound(failures, first, cap);
    auto const less = any_fraction();
    auto const more = std::max(less, any_fraction());
    auto const full = full_jitter(failures, first, cap, less);
    auto const half = half_jitter(failures, first, cap, less);
    RC_ASSERT(full >= duration::zero());
    RC_ASSERT(full < bound);
    RC_ASSERT(half >= bound / 2);
    RC_ASSERT(half < bound);
    RC_ASSERT(full <= full_jitter(failures, first, cap, more));
    RC_ASSERT(half <= half_jitter(failures, first, cap, more));
}

RC_BOOST_PROP(scaling_is_exact_to_a_millionth, ())
{
    auto const whole = any_delay();
    auto const fraction = any_fraction();
    auto const exact = static_cast<long double>(whole.count()) * fraction / 4294967296.0L;
    auto const error = exact - static_cast<long double>(scale(whole, fraction).count());
    RC_ASSERT(error >= 0.0L);
    RC_ASSERT(error <= 2.0L + static_cast<long double>(whole.count()) / 1048576.0L);
}

BOOST_AUTO_TEST_SUITE_END()

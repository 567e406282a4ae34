// SPDX-License-Identifier: BSL-1.0
#include "core/batch_policy.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

using next = batch_policy::next;

constexpr instant start{100s, 100s};
constexpr duration window = 1ms;
constexpr batch_policy::terms three_in_a_row{3, 1s};

/// Leases in a row until other clients can get the lock.
unsigned length_of_row(batch_policy& t, batch_policy::terms const& terms, instant now)
{
    unsigned length = 0;
    for (; t.may_go_on(terms, next::waiting, now); ++length)
        t.granted(now);
    t.ended(now);
    return length;
}

} // namespace

BOOST_AUTO_TEST_SUITE(batch_policies)

// rule W5
BOOST_AUTO_TEST_CASE(batch_at_its_size_ends_until_others_had_a_window)
{
    batch_policy t;
    BOOST_TEST(length_of_row(t, three_in_a_row, start) == 3U);
    BOOST_TEST(!t.look(start + window - 1ns, window));
    BOOST_TEST(!t.may_go_on(three_in_a_row, next::waiting, start + window - 1ns));
    BOOST_TEST(t.look(start + window, window));
    BOOST_TEST(length_of_row(t, three_in_a_row, start + window) == 3U);
}

BOOST_AUTO_TEST_CASE(batch_ends_after_its_period)
{
    batch_policy t;
    t.granted(start);
    BOOST_TEST(t.may_go_on(three_in_a_row, next::waiting, start + 1s - 1ns));
    BOOST_TEST(!t.may_go_on(three_in_a_row, next::waiting, start + 1s));
}

// rule W5
BOOST_AUTO_TEST_CASE(batch_grows_when_nobody_uses_the_open_window)
{
    batch_policy t;
    for (unsigned stretch = 1; stretch != 2 * batch_policy::max_stretch; stretch *= 2) {
        BOOST_TEST(length_of_row(t, three_in_a_row, start) == 3U * stretch);
        t.nobody_came();
    }
    BOOST_TEST(length_of_row(t, three_in_a_row, start) == 3U * batch_policy::max_stretch);
}

BOOST_AUTO_TEST_CASE(batch_of_largest_size_grows_without_overflow)
{
    constexpr batch_policy::terms half_of_all_numbers{1U << 31U, 1s};
    batch_policy t;
    t.nobody_came();
    t.granted(start);
    BOOST_TEST(t.may_go_on(half_of_all_numbers, next::waiting, start));
}

BOOST_AUTO_TEST_CASE(batch_shrinks_when_somebody_uses_the_open_window)
{
    batch_policy t;
    t.nobody_came();
    t.somebody_came();
    BOOST_TEST(length_of_row(t, three_in_a_row, start) == 3U);
}

// rule W5
BOOST_AUTO_TEST_CASE(newcomer_lets_known_rivals_go_first)
{
    constexpr batch_policy::terms sixteen_in_a_row{16, 1s};
    batch_policy t;
    BOOST_TEST(t.may_go_on(sixteen_in_a_row, next::coming, start));
    t.somebody_came();
    BOOST_TEST(t.may_go_on(sixteen_in_a_row, next::coming, start));
    t.granted(start);
    BOOST_TEST(!t.may_go_on(sixteen_in_a_row, next::coming, start));
    BOOST_TEST(t.may_go_on(sixteen_in_a_row, next::waiting, start));
    t.nobody_came();
    t.granted(start);
    t.granted(start);
    BOOST_TEST(t.may_go_on(sixteen_in_a_row, next::coming, start));
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "core/contention.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

constexpr instant start{100s, 100s};
constexpr duration window = 2ms;

struct contention_fixture {
    contention known;

    start_mode ask(instant now) { return known.ask({64, 250ms}, batch_policy::next::coming, now, window); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(contentions, contention_fixture)

BOOST_AUTO_TEST_CASE(lock_left_free_for_a_window_ends_batch_and_passage)
{
    known.granted(start);
    known.batch.ended(start + 1s);
    BOOST_TEST((ask(start + 1s + window - 1ns) == start_mode::others_first));
    BOOST_TEST((known.passing.lasted(start + 2s) == 2s));
    BOOST_TEST((ask(start + 1s + window) == start_mode::at_once));
    BOOST_TEST((known.passing.lasted(start + 2s) == 0s));
}

BOOST_AUTO_TEST_CASE(met_others_end_batch_and_passage)
{
    known.granted(start);
    known.met_others();
    BOOST_TEST(known.batch.has_rivals());
    BOOST_TEST((known.passing.lasted(start + 1s) == 0s));
    known.granted(start + 1s);
    BOOST_TEST((known.passing.lasted(start + 2s) == 1s));
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "core/claim.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

constexpr instant at(duration since)
{
    return {since, since};
}

} // namespace

BOOST_AUTO_TEST_SUITE(claims)

// rule Q8
BOOST_AUTO_TEST_CASE(refused_claim_is_sent_again_after_pauses_that_double)
{
    claim refused(at(100ms), 100ms, 4ms);
    BOOST_TEST((refused.send_again(at(104ms)) == at(106ms)));
    BOOST_TEST((refused.send_again(at(110ms)) == at(114ms)));
    BOOST_TEST((refused.send_again(at(118ms)) == at(126ms)));
    BOOST_TEST((refused.send_again(at(130ms)) == at(146ms)));
}

BOOST_AUTO_TEST_CASE(claim_is_not_sent_again_if_its_window_ends_before_the_answers)
{
    claim refused(at(0ms), 20ms, 4ms);
    BOOST_TEST((refused.send_again(at(13ms)) == at(15ms)));
    BOOST_TEST(!refused.send_again(at(13ms)));
    BOOST_TEST((refused.send_again(at(11ms)) == at(15ms))); // the pause has not grown
    BOOST_TEST(!claim(at(0ms), 4ms, 4ms).send_again(at(0ms)));
}

BOOST_AUTO_TEST_CASE(window_counts_on_the_clock_that_ran_further)
{
    claim refused({0ms, 0ms}, 20ms, 2ms);
    BOOST_TEST(!refused.send_again({5ms, 19ms}));
    BOOST_TEST(!refused.send_again({19ms, 5ms}));
}

BOOST_AUTO_TEST_SUITE_END()

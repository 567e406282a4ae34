// SPDX-License-Identifier: BSL-1.0
#include "kind/queue.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

using namespace redlock::kind;
using namespace std::chrono_literals;

namespace {

std::string const nonce(32, 'a');

} // namespace

BOOST_AUTO_TEST_SUITE(queue_positions)

// rule Q1
BOOST_AUTO_TEST_CASE(position_has_fixed_columns)
{
    BOOST_TEST(position(nonce, waiter_kind::exclusive, 500ms, {}, "redlock-to:1") ==
               nonce + "x000050000000000redlock-to:1");
    BOOST_TEST(position(nonce, waiter_kind::permits, 1ms, "1000 16", "c") == nonce + "p000000100161000c");
    BOOST_TEST(position(nonce, waiter_kind::shared, longest_window, {}, "c") == nonce + "r999999900000000c");
}

BOOST_AUTO_TEST_CASE(position_of_a_polling_waiter_ends_with_the_columns)
{
    BOOST_TEST(position(nonce, waiter_kind::shared, 50ms, {}, "").size() == 48U);
}

BOOST_AUTO_TEST_SUITE_END()

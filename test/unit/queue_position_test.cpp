// SPDX-License-Identifier: BSL-1.0
#include "kind/queue.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

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

BOOST_AUTO_TEST_CASE(position_is_read_as_it_was_written)
{
    auto const exclusive = read_position(position(nonce, waiter_kind::exclusive, 500ms, {}, "c"));
    BOOST_REQUIRE(exclusive.has_value());
    BOOST_TEST((exclusive->kind == waiter_kind::exclusive));
    auto const two = read_position(position(nonce, waiter_kind::permits, 1ms, "10 2", "c"));
    BOOST_REQUIRE(two.has_value());
    BOOST_TEST((two->kind == waiter_kind::permits));
    BOOST_TEST((two->wanted == permits{.limit = 10, .count = 2}));
}

BOOST_AUTO_TEST_CASE(text_that_is_no_position_is_not_read)
{
    std::string const good = position(nonce, waiter_kind::shared, 50ms, {}, "c");
    BOOST_TEST(read_position(good).has_value());
    BOOST_TEST(!read_position("").has_value());
    BOOST_TEST(!read_position(good.substr(0, 40)).has_value());
    for (auto const& [at, letter] : {std::pair(32, 'q'), std::pair(41, 'x'), std::pair(45, ' ')}) {
        std::string bad = good;
        bad[static_cast<std::size_t>(at)] = letter;
        BOOST_TEST(!read_position(bad).has_value(), bad);
    }
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0

#include "../examples/fenced_register.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(fenced_registers)

BOOST_AUTO_TEST_CASE(holder_with_older_token_can_neither_read_nor_write)
{
    fenced_register<int> balance(100);
    BOOST_TEST(balance.read(5).value_or(0) == 100);
    BOOST_TEST(balance.write(5, 110));
    BOOST_TEST(balance.read(6).value_or(0) == 110);
    BOOST_TEST(!balance.write(5, 90));
    BOOST_TEST(!balance.read(5).has_value());
    BOOST_TEST(balance.read(6).value_or(0) == 110);
    BOOST_TEST(balance.fence() == 6U);
}

/// Reading alone shuts earlier holders out: otherwise their write would come between our reading and our writing.
BOOST_AUTO_TEST_CASE(read_with_newer_token_shuts_out_older_writer)
{
    fenced_register<int> balance(100);
    BOOST_TEST(balance.write(5, 100));
    int const seen = balance.read(6).value_or(0);
    BOOST_TEST(!balance.write(5, 0));
    BOOST_TEST(balance.write(6, seen + 1));
    BOOST_TEST(balance.read(6).value_or(0) == 101);
}

BOOST_AUTO_TEST_SUITE_END()

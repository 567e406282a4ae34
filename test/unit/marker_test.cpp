// SPDX-License-Identifier: BSL-1.0
#include "redis/marker.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace redlock::redis;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(marker_replies)

// rule F6
BOOST_AUTO_TEST_CASE(marker_reply_of_script_is_parsed)
{
    auto const found = read_marker("2000 run:data/0a1b2c3d/500/1500");
    BOOST_TEST_REQUIRE(found.has_value());
    BOOST_TEST(found->text == "run:data/0a1b2c3d/500/1500");
    BOOST_TEST((found->now == 2000ms));
    BOOST_TEST((found->since == 500ms));
    BOOST_TEST((found->placed == 1500ms));
    BOOST_TEST(lineage(found->text) == "0a1b2c3d");
    BOOST_TEST(lineage(read_marker("7 /ab/0/7")->text) == "ab"); // a server without an identity
}

// rule F6
BOOST_AUTO_TEST_CASE(malformed_marker_reply_is_no_marker)
{
    for (std::string const said :
         {"", "0", "2000", "2000 ", "2000 run", "2000 run/ab", "2000 run/ab/1", "2000 run/ab/1/",
          "2000 run/ab//1", "2000 run/ab/1/x", "2000 run/ab/-1/1", "-2000 run/ab/0/0", "x run/ab/0/0",
          "2000 run/ab/2001/1", "2000 run/ab/1/2001", "9223372036854775807 run/ab/0/0", "2000 run/ab/1/1/1"})
        BOOST_TEST(!read_marker(said).has_value(), said);
    BOOST_TEST(!read_marker("1 " + std::string(300, 'a') + "/b/0/0").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

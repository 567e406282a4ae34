// SPDX-License-Identifier: BSL-1.0
#include "redis/command.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace redlock::redis;

BOOST_AUTO_TEST_SUITE(command)

BOOST_AUTO_TEST_CASE(command_is_appended_to_buffer_as_resp_array)
{
    std::string out = "before";
    append_command(out, {"PING", ""});
    BOOST_TEST(out == "before*2\r\n$4\r\nPING\r\n$0\r\n\r\n");
}

BOOST_AUTO_TEST_SUITE_END()

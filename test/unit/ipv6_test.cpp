// SPDX-License-Identifier: BSL-1.0
#include "redis/ipv6.hpp"

#include <boost/test/unit_test.hpp>
#include <rapidcheck.h>
#include <rapidcheck/boost_test.h>

#include <arpa/inet.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

using namespace redlock::redis;

namespace {

std::optional<ipv6_bytes> by_system(std::string const& text)
{
    ipv6_bytes bytes{};
    if (inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1)
        return std::nullopt;
    return bytes;
}

} // namespace

BOOST_AUTO_TEST_SUITE(ipv6)

BOOST_AUTO_TEST_CASE(addresses_are_read_as_by_inet_pton)
{
    constexpr std::string_view texts[] = {"::",
                                          "::1",
                                          "1::",
                                          "1:2:3:4:5:6:7:8",
                                          "1::8",
                                          "1:2:3:4:5:6:7::",
                                          "::2:3:4:5:6:7:8",
                                          "FE80::aBcD",
                                          "::ffff:10.0.0.1",
                                          "1:2:3:4:5:6:7.8.9.255",
                                          "64:ff9b::1.2.3.4"};
    for (std::string_view const text : texts) {
        BOOST_TEST_CONTEXT(text)
        {
            auto const read = parse_ipv6(text);
            BOOST_REQUIRE(read);
            BOOST_TEST(*read == *by_system(std::string(text)), boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(other_texts_are_no_addresses)
{
    constexpr std::string_view texts[] = {"",
                                          ":",
                                          ":::",
                                          "1",
                                          "1:",
                                          ":1",
                                          "1:2:3:4:5:6:7",
                                          "1:2:3:4:5:6:7:8:9",
                                          "1:2:3:4:5:6:7:8::",
                                          "1::2::3",
                                          "::12345",
                                          "::g",
                                          "::0x1",
                                          "::-1",
                                          "::1.2.3",
                                          "::1.2.3.4.5",
                                          "::1.2.3.256",
                                          "::01.2.3.4",
                                          "::1.2.3.4:5",
                                          "1.2.3.4",
                                          "1:2:3:4:5:6:7:1.2.3.4",
                                          "::1%eth0",
                                          " ::1",
                                          "::1 "};
    for (std::string_view const text : texts)
        BOOST_TEST(!parse_ipv6(text), text);
}

RC_BOOST_PROP(any_text_is_read_as_by_inet_pton, ())
{
    static constexpr std::array parts{"::",   ":",    ":",     ":",       ":",        ":",   "0", "1",
                                      "00ff", "ABCD", "10000", "1.2.3.4", "0.0.0.00", "256", ".", "g"};
    std::string text;
    for (int i = *rc::gen::inRange(0, 18); i > 0; --i)
        text += *rc::gen::elementOf(parts);
    RC_ASSERT(parse_ipv6(text) == by_system(text));
}

BOOST_AUTO_TEST_CASE(canonical_text_is_one_for_each_address)
{
    auto const text = [](std::string_view address) { return canonical(parse_ipv6(address).value()); };
    BOOST_TEST(text("2001:DB8::a") == text("2001:0db8:0::000A"));
    BOOST_TEST(text("::1") != text("::2"));
    BOOST_TEST(text("::ffff:10.0.0.1") == "10.0.0.1");
    BOOST_TEST(text("::fffe:10.0.0.1") != "10.0.0.1");
}

BOOST_AUTO_TEST_SUITE_END()

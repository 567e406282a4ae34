// SPDX-License-Identifier: BSL-1.0
#include "handshake_script.hpp"
#include "redis/sentinel.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <vector>

using namespace redlock::test;

namespace {

endpoint group(std::string_view options = {})
{
    return std::get<endpoint>(parse_url("redis+sentinel://h/main" + std::string(options)));
}

constexpr std::string_view address_reply = "*2\r\n$9\r\n127.0.0.1\r\n$4\r\n7001\r\n";
constexpr std::string_view state_reply = "*4\r\n$4\r\nname\r\n$4\r\nmain\r\n$10\r\nnum-slaves\r\n$1\r\n2\r\n";

step answer(sentinel_talk& talk, std::string_view wire)
{
    resp_parser parser;
    step last = step::more;
    while (!wire.empty() && last == step::more) {
        auto const result = parser.next(wire);
        BOOST_TEST_REQUIRE((result.status == parse_status::complete));
        last = talk.on_reply(parser.message());
        wire.remove_prefix(result.consumed);
    }
    return last;
}

std::string refused(std::string_view reply, std::string_view options = {})
{
    sentinel_talk talk(group(options));
    BOOST_TEST((answer(talk, reply) == step::failed));
    return talk.failure_text();
}

} // namespace

BOOST_AUTO_TEST_SUITE(sentinel_answers)

BOOST_AUTO_TEST_CASE(sentinel_is_asked_for_address_and_replicas)
{
    sentinel_talk talk(group());
    std::vector<std::string> const asked{"SENTINEL GET-MASTER-ADDR-BY-NAME main", "SENTINEL MASTER main"};
    BOOST_TEST(commands(talk.take_output()) == asked);
    BOOST_TEST(talk.take_output().empty());
    BOOST_TEST((answer(talk, std::string(address_reply).append(state_reply)) == step::ready));
    BOOST_TEST(talk.view().master.host == "127.0.0.1");
    BOOST_TEST(talk.view().master.port == 7001);
    BOOST_TEST(talk.view().replicas == 2U);
}

BOOST_AUTO_TEST_CASE(sentinel_gets_its_own_credentials)
{
    sentinel_talk plain(group("?sentinel_password=secret"));
    BOOST_TEST(commands(plain.take_output()).front() == "AUTH secret");
    BOOST_TEST(
        (answer(plain, std::string("+OK\r\n").append(address_reply).append(state_reply)) == step::ready));
    sentinel_talk named(group("?sentinel_password=secret&sentinel_username=me"));
    BOOST_TEST(commands(named.take_output()).front() == "AUTH me secret");
}

// rule N8
BOOST_AUTO_TEST_CASE(sentinel_that_cannot_tell_the_master_is_refused_with_reason)
{
    BOOST_TEST(refused("*-1\r\n") == "it knows no group 'main'");
    BOOST_TEST(refused("-NOAUTH Authentication required.\r\n") == "NOAUTH Authentication required.");
    for (std::string_view const odd :
         {"*1\r\n$1\r\nh\r\n", "*2\r\n$0\r\n\r\n$1\r\n1\r\n", "*2\r\n$3\r\na b\r\n$1\r\n1\r\n",
          "*2\r\n$1\r\nh\r\n$1\r\n0\r\n", "*2\r\n$1\r\nh\r\n$5\r\n65536\r\n", "$1\r\nh\r\n"})
        BOOST_TEST(refused(odd) == "it does not tell the master's address as a Sentinel does");
    BOOST_TEST(refused(std::string(address_reply) + "*0\r\n") ==
               "it does not tell how many replicas there are");
    std::string const many = "*4\r\n$4\r\nname\r\n$4\r\nmain\r\n$10\r\nnum-slaves\r\n$10\r\n4294967295\r\n";
    BOOST_TEST(refused(std::string(address_reply) + many) == "it does not tell how many replicas there are");
    std::string const long_host = "*2\r\n$256\r\n" + std::string(256, 'h') + "\r\n$1\r\n1\r\n";
    BOOST_TEST(refused(long_host) == "it does not tell the master's address as a Sentinel does");
}

BOOST_AUTO_TEST_CASE(sentinel_that_repeats_the_password_is_not_quoted)
{
    BOOST_TEST(refused("-ERR unknown command 'AUTH', with args beginning with: 'secret'\r\n",
                       "?sentinel_password=secret") == "unknown command");
    std::string const long_one(160, 'p');
    BOOST_TEST(refused("-ERR AUTH " + long_one + "\r\n", "?sentinel_password=" + long_one) == "error");
    BOOST_TEST(refused("+OK\r\n-ERR you said secret\r\n", "?sentinel_password=secret") == "error");
    BOOST_TEST(refused("-WRONGPASS invalid username-password pair\r\n", "?sentinel_password=secret") ==
               "WRONGPASS invalid username-password pair");
}

BOOST_AUTO_TEST_SUITE_END()

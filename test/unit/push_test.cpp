// SPDX-License-Identifier: BSL-1.0
#include "redis/push.hpp"
#include "redis/resp_parser.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>
#include <span>
#include <string_view>

using namespace redlock::redis;

namespace {

/// A push as a node sees it.
class parsed {
public:
    explicit parsed(std::string_view wire)
    {
        BOOST_TEST_REQUIRE((parser_.next(wire).status == parse_status::complete));
    }
    [[nodiscard]] std::span<resp_node const> push() const { return body(parser_.message()); }

private:
    resp_parser parser_;
};

bool is_message(std::string_view wire)
{
    return read_message(parsed(wire).push()).has_value();
}

bool is_subscription(std::string_view wire)
{
    return redlock::redis::is_subscription(parsed(wire).push());
}

} // namespace

BOOST_AUTO_TEST_SUITE(pushes)

// rule Q3
BOOST_AUTO_TEST_CASE(message_is_read_with_channel_and_text)
{
    parsed const from(">3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n");
    auto const said = read_message(from.push());
    BOOST_TEST_REQUIRE(said.has_value());
    BOOST_TEST(said->channel == "news");
    BOOST_TEST(said->text == "hello");
    BOOST_TEST(!redlock::redis::is_subscription(from.push()));
    BOOST_TEST(!read_invalidation(from.push()).has_value());
}

BOOST_AUTO_TEST_CASE(empty_message_is_read)
{
    parsed const from("|1\r\n+ttl\r\n:3\r\n>3\r\n+message\r\n$0\r\n\r\n$0\r\n\r\n");
    auto const said = read_message(from.push());
    BOOST_TEST_REQUIRE(said.has_value());
    BOOST_TEST(said->channel == "");
    BOOST_TEST(said->text == "");
}

BOOST_AUTO_TEST_CASE(other_pushes_are_no_messages)
{
    BOOST_TEST(!is_message(">0\r\n"));
    BOOST_TEST(!is_message(">1\r\n+message\r\n"));
    BOOST_TEST(!is_message(">2\r\n+message\r\n$1\r\nc\r\n"));
    BOOST_TEST(!is_message(">4\r\n+message\r\n$1\r\nc\r\n$1\r\nt\r\n$1\r\nu\r\n"));
    BOOST_TEST(!is_message(">4\r\n+pmessage\r\n$1\r\n*\r\n$1\r\nc\r\n$1\r\nt\r\n"));
    BOOST_TEST(!is_message(">3\r\n+smessage\r\n$1\r\nc\r\n$1\r\nt\r\n"));
    BOOST_TEST(!is_message(">3\r\n+subscribe\r\n$1\r\nc\r\n:1\r\n"));
    BOOST_TEST(!is_message(">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n"));
}

BOOST_AUTO_TEST_CASE(message_is_two_strings)
{
    BOOST_TEST(!is_message(">3\r\n+message\r\n$1\r\nc\r\n:1\r\n"));
    BOOST_TEST(!is_message(">3\r\n+message\r\n$1\r\nc\r\n_\r\n"));
    BOOST_TEST(!is_message(">3\r\n+message\r\n_\r\n$1\r\nt\r\n"));
    BOOST_TEST(!is_message(">3\r\n+message\r\n$1\r\nc\r\n*0\r\n"));
    BOOST_TEST(!is_message(">2\r\n+message\r\n*1\r\n$1\r\nt\r\n"));
}

BOOST_AUTO_TEST_CASE(reply_in_a_pushs_words_is_neither)
{
    BOOST_TEST(!is_message("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nt\r\n"));
    BOOST_TEST(!is_subscription("*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"));
}

BOOST_AUTO_TEST_CASE(subscription_is_known_by_its_name)
{
    BOOST_TEST(is_subscription(">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"));
    BOOST_TEST(is_subscription(">1\r\n+subscribe\r\n"));
    BOOST_TEST(!is_subscription(">0\r\n"));
    BOOST_TEST(!is_subscription(">3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n"));
    BOOST_TEST(!is_subscription(">3\r\n$10\r\nssubscribe\r\n$1\r\nc\r\n:1\r\n"));
    BOOST_TEST(!is_subscription(">2\r\n$10\r\ninvalidate\r\n_\r\n"));
}

BOOST_AUTO_TEST_SUITE_END()

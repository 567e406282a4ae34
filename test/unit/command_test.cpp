#include "redis/command.hpp"
#include "redis/resp_parser.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace redlock::redis;
using namespace std::chrono_literals;

namespace {

std::string const nonce = "0123456789abcdef0123456789abcdef";

std::vector<std::string> arguments(std::string_view wire)
{
    resp_parser parser;
    auto const result = parser.next(wire);
    BOOST_TEST_REQUIRE((result.status == parse_status::complete));
    BOOST_TEST_REQUIRE(result.consumed == wire.size());
    std::vector<std::string> words;
    for (auto const& node : parser.message().subspan(1)) {
        BOOST_TEST((node.type == resp_type::bulk_string));
        words.emplace_back(node.text);
    }
    BOOST_TEST(parser.message().front().size == words.size());
    return words;
}

using words = std::vector<std::string>;

} // namespace

BOOST_AUTO_TEST_SUITE(command)

BOOST_AUTO_TEST_CASE(appends_a_command)
{
    std::string out = "before";
    append_command(out, {"PING", ""});
    BOOST_TEST(out == "before*2\r\n$4\r\nPING\r\n$0\r\n\r\n");
}

BOOST_AUTO_TEST_CASE(votes)
{
    std::string out = "+";
    lock_commands{10500ms}.append_vote(out, {"", "seat:42"}, nonce);
    BOOST_TEST(out == "+*6\r\n$3\r\nSET\r\n$7\r\nseat:42\r\n$32\r\n" + nonce +
                          "\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n10500\r\n");
}

BOOST_AUTO_TEST_CASE(releases_by_script)
{
    std::string hash;
    append_release(hash, {"seat:", "42"}, nonce, script_form::hash);
    auto const by_hash = arguments(hash);
    BOOST_TEST_REQUIRE(by_hash.size() == 5U);
    BOOST_TEST(by_hash[0] == "EVALSHA");
    BOOST_TEST(by_hash[1].size() == 40U);
    BOOST_TEST(by_hash[1].find_first_not_of("0123456789abcdef") == std::string::npos);
    BOOST_TEST((words{by_hash.begin() + 2, by_hash.end()} == words{"1", "seat:42", nonce}));

    std::string text;
    append_release(text, {"seat:", "42"}, nonce, script_form::text);
    auto const by_text = arguments(text);
    BOOST_TEST_REQUIRE(by_text.size() == 5U);
    BOOST_TEST(by_text[0] == "EVAL");
    BOOST_TEST(by_text[1].find("redis.call('del', KEYS[1])") != std::string::npos);
    BOOST_TEST((words{by_text.begin() + 2, by_text.end()} == words{"1", "seat:42", nonce}));
}

BOOST_AUTO_TEST_CASE(extends_by_script)
{
    lock_commands const lock{1ms};
    std::string hash;
    lock.append_extend(hash, {"", "seat:42"}, nonce, script_form::hash);
    auto const by_hash = arguments(hash);
    BOOST_TEST_REQUIRE(by_hash.size() == 6U);
    BOOST_TEST(by_hash[0] == "EVALSHA");
    BOOST_TEST((words{by_hash.begin() + 2, by_hash.end()} == words{"1", "seat:42", nonce, "1"}));

    std::string text;
    lock.append_extend(text, {"", "seat:42"}, nonce, script_form::text);
    auto const by_text = arguments(text);
    BOOST_TEST_REQUIRE(by_text.size() == 6U);
    BOOST_TEST(by_text[0] == "EVAL");
    BOOST_TEST(by_text[1].find("redis.call('pexpire', KEYS[1], ARGV[2])") != std::string::npos);
    BOOST_TEST((words{by_text.begin() + 2, by_text.end()} == words{"1", "seat:42", nonce, "1"}));

    std::string release;
    append_release(release, {"", "seat:42"}, nonce, script_form::hash);
    BOOST_TEST(arguments(release)[1] != by_hash[1]);
}

BOOST_AUTO_TEST_CASE(keys_and_nonces_hold_any_byte)
{
    std::string key;
    for (int byte = 0; byte < 256; ++byte)
        key.push_back(static_cast<char>(byte));
    std::string const strange("\0\r\n$*\xff", 6);
    auto const wild = strange + std::string(nonce_length - strange.size(), '\n');
    std::string vote;
    lock_commands{10s}.append_vote(vote, {"", key}, wild);
    BOOST_TEST((arguments(vote) == words{"SET", key, wild, "NX", "PX", "10000"}));
    std::string release;
    append_release(release, {"", key}, wild, script_form::hash);
    auto const released = arguments(release);
    BOOST_TEST((words{released.begin() + 2, released.end()} == words{"1", key, wild}));
}

BOOST_AUTO_TEST_CASE(an_empty_key_is_a_key)
{
    std::string out;
    lock_commands{1s}.append_vote(out, {"", ""}, nonce);
    BOOST_TEST((arguments(out) == words{"SET", "", nonce, "NX", "PX", "1000"}));
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kit/canned.hpp"
#include "redis/handshake.hpp"
#include "redis/resp_parser.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The common parts of the handshake's tests: texts of a server, and a peer that follows a script.
namespace redlock::test {

using namespace redlock::redis;
using step = handshake::step;

using canned::noauth;
using canned::ok;
using canned::wrongpass;
inline constexpr std::string_view no_setinfo = canned::unknown_setinfo;

inline constexpr std::string_view hello_ok =
    "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n"
    "$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:4\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n"
    "$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*2\r\n$4\r\nmode\r\n"
    "$7\r\ncluster\r\n";
inline constexpr std::string_view no_hello =
    "-ERR unknown command 'HELLO', with args beginning with: '3' \r\n";
inline constexpr std::string_view no_info =
    "-NOPERM this user has no permissions to run the 'info' command\r\n";
inline constexpr std::string_view no_config =
    "-NOPERM this user has no permissions to run the 'config|get' command\r\n";
inline constexpr std::string_view no_time =
    "-NOPERM this user has no permissions to run the 'time' command\r\n";

inline std::vector<std::string> commands(std::string_view wire)
{
    std::vector<std::string> lines;
    resp_parser parser;
    for (auto result = parser.next(wire); !wire.empty(); result = parser.next(wire)) {
        BOOST_TEST_REQUIRE((result.status == parse_status::complete));
        std::string line;
        for (auto const& node : parser.message().subspan(1))
            line.append(line.empty() ? "" : " ").append(node.text);
        lines.push_back(line);
        wire.remove_prefix(result.consumed);
    }
    return lines;
}

// The peer of the handshake: checks what is sent, answers with scripted replies.
struct conversation {
    handshake machine;
    step last = step::more;

    explicit conversation(handshake_settings settings) : machine{std::move(settings)} {}

    // Ignores the five commands that end every flight.
    conversation& sends(std::vector<std::string> const& expected)
    {
        auto sent = commands(machine.take_output());
        BOOST_TEST_REQUIRE(sent.size() == expected.size() + 5);
        BOOST_TEST(sent[sent.size() - 5] == "CLIENT SETINFO LIB-NAME asio-redlock");
        BOOST_TEST(sent[sent.size() - 4].starts_with("CLIENT SETINFO LIB-VER "));
        BOOST_TEST(sent[sent.size() - 3] == "INFO");
        BOOST_TEST(sent[sent.size() - 2] == "CONFIG GET *append*");
        BOOST_TEST(sent.back() == "TIME");
        sent.resize(expected.size());
        BOOST_TEST(sent == expected, boost::test_tools::per_element());
        return *this;
    }

    conversation& replies(std::vector<std::string_view> const& wires)
    {
        for (auto const wire : wires) {
            BOOST_TEST((last == step::more));
            resp_parser parser;
            BOOST_TEST_REQUIRE((parser.next(wire).consumed == wire.size()));
            last = machine.on_reply(parser.message());
        }
        return *this;
    }

    void is_ready(int protocol)
    {
        // INFO, CONFIG and TIME are refused where a test says nothing else.
        for (auto const refusal : {no_info, no_config, no_time})
            if (last == step::more)
                replies({refusal});
        BOOST_TEST((last == step::ready));
        BOOST_TEST(machine.facts().protocol == protocol);
        BOOST_TEST((machine.failure() == server_error::none));
        BOOST_TEST(machine.failure_text().empty());
        BOOST_TEST(machine.take_output().empty());
    }

    void has_failed(server_error error, std::string_view words)
    {
        BOOST_TEST((last == step::failed));
        BOOST_TEST((machine.failure() == error));
        BOOST_TEST(machine.failure_text() == words);
        BOOST_TEST(machine.take_output().empty());
    }
};

} // namespace redlock::test

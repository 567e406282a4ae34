// SPDX-License-Identifier: BSL-1.0
#include "component/lone_node.hpp"
#include "component/scripted_node.hpp"
#include "kit/running.hpp"
#include "net/process_page.hpp"
#include "redis/command.hpp"
#include "redis/url.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

using namespace redlock;
using namespace redlock::test;
namespace asio = boost::asio;

namespace {

/// One connected node. What is sent to it alone and what is sent to all nodes share its connection.
struct broadcast_fixture {
    asio::io_context context;
    scripted_node server{context};
    lone_node client{context, std::get<redis::endpoint>(redis::parse_url(server.url()))};

    broadcast_fixture()
    {
        say("first");
        run_until(context, [&] { return client.sink.replies == 1; });
    }
    ~broadcast_fixture()
    {
        client.node.close();
        while (context.poll() != 0)
            ;
    }
    broadcast_fixture(broadcast_fixture const&) = delete;
    broadcast_fixture& operator=(broadcast_fixture const&) = delete;

    static void append_vote(std::string& out, std::string_view name)
    {
        redis::append_command(out, {"SET", name, "nonce", "NX", "PX", "1000"});
    }
    void say(std::string_view name)
    {
        BOOST_TEST_REQUIRE(client.node.ensure_can_send());
        append_vote(client.node.output(), name);
        client.node.expect(client.sink, 0);
    }
    void say_to_all(std::string_view name)
    {
        BOOST_TEST_REQUIRE(client.shared.ensure_can_send());
        append_vote(client.shared.output(), name);
        client.shared.expect(client.sink, 0);
    }
    static constexpr std::size_t many = 1000;
    void say_often()
    {
        for (std::size_t i = 0; i != many; ++i)
            say_to_all("often");
    }
    [[nodiscard]] std::vector<std::string> names() const
    {
        std::vector<std::string> found;
        for (auto const& words : server.heard())
            if (words[0] == "SET")
                found.push_back(words.at(1));
        return found;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(broadcasts, broadcast_fixture)

// rule R1
BOOST_AUTO_TEST_CASE(commands_stand_in_their_order)
{
    say_to_all("second");
    say("third");
    say_to_all("fourth");
    run_until(context, [&] { return client.sink.replies == 4; });
    BOOST_TEST(names() == std::vector<std::string>({"first", "second", "third", "fourth"}));
}

BOOST_AUTO_TEST_CASE(many_commands_are_written_piece_by_piece)
{
    std::size_t most = 0;
    for (std::size_t i = 0; i != many; ++i) {
        say_to_all(std::to_string(i));
        most = std::max(most, client.shared.bytes());
    }
    BOOST_TEST(most < net::broadcast::piece);
    run_until(context, [&] { return client.sink.replies == 1 + many; });
    BOOST_TEST(names().at(many) == std::to_string(many - 1));
}

/// The process was forked in the middle of the turn.
// rule A3
BOOST_AUTO_TEST_CASE(copy_writes_nothing_early)
{
    struct dropping : net::fork_listener {
        explicit dropping(net::node& n) : its(n) {}
        void on_fork() noexcept override
        {
            its.drop_connection();
            its.close();
        }
        net::node& its;
    } listener(client.node);
    net::process_page::content page{};
    net::process_page const process({&page, [](net::process_page::content*) noexcept {}});
    say_often(); // takes the room for so many
    run_until(context, [&] { return client.sink.replies == 1 + many; });
    client.loop->made_in(process, listener);
    say_often();
    for (unsigned i = 0; i != 20; ++i) {
        context.restart();
        context.poll();
    }
    BOOST_TEST(names().size() == 1 + many);
}

// rule A7
BOOST_AUTO_TEST_CASE(unsent_broadcast_fails_with_its_connection)
{
    say_to_all("second");
    client.node.renew();
    BOOST_TEST(client.sink.failures == 1U);
}

// rule A7
BOOST_AUTO_TEST_CASE(unsent_broadcast_fails_with_its_client)
{
    say_to_all("second");
    client.node.close();
    BOOST_TEST(client.sink.failures == 1U);
}

// rule A7
BOOST_AUTO_TEST_CASE(node_that_has_gone_is_sent_nothing)
{
    BOOST_TEST(client.shared.ensure_can_send());
    client.node.renew();
    BOOST_TEST(!client.shared.ensure_can_send());
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "component/held_clock.hpp"
#include "component/lone_node.hpp"
#include "component/scripted_cluster.hpp"
#include "redis/command.hpp"
#include <redlock/multi_mutex.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using asio::ip::tcp;

namespace {

/// Bytes that complete no answer, however many of them come.
struct chatter {
    std::string_view begin;
    std::string_view more;
};
std::array<chatter, 2> const endless{{{"+", "a"}, {"", ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n"}}};

std::ostream& operator<<(std::ostream& out, chatter const& c)
{
    return out << c.more.size();
}

/// Reads the handshake, and after that only when it is told to.
class reluctant_server {
public:
    explicit reluctant_server(asio::io_context& context)
        : acceptor_(context, {asio::ip::address_v4::loopback(), 0})
    {
        accept();
    }

    [[nodiscard]] redis::endpoint endpoint() const
    {
        auto const port = std::to_string(acceptor_.local_endpoint().port());
        return std::get<redis::endpoint>(redis::parse_url("redis://127.0.0.1:" + port));
    }
    void read()
    {
        sessions_.back()->async_read_some(asio::buffer(chunk_), [this](error_code ec, std::size_t size) {
            if (ec)
                return;
            heard.append(chunk_.data(), size);
            if (shaken_ || !heard.ends_with("TIME\r\n"))
                return read();
            shaken_ = true;
            ++handshakes;
            heard.clear();
            say(std::string(canned::hello) + "+OK\r\n+OK\r\n" + info_reply({}) +
                std::string(canned::append_settings) + std::string(canned::time));
        });
    }
    void say(std::string_view bytes) { asio::write(*sessions_.back(), asio::buffer(bytes)); }
    void hang_up() { sessions_.back()->close(); }

    std::string heard;
    unsigned handshakes = 0;

private:
    void accept()
    {
        acceptor_.async_accept([this](error_code ec, tcp::socket socket) {
            if (ec)
                return;
            sessions_.push_back(std::make_unique<tcp::socket>(std::move(socket)));
            shaken_ = false;
            heard.clear();
            read();
            accept();
        });
    }

    tcp::acceptor acceptor_;
    bool shaken_ = false;
    std::vector<std::unique_ptr<tcp::socket>> sessions_;
    std::array<char, 65536> chunk_{};
};

/// One node and its server, without the engine.
struct hostile_node_fixture {
    asio::io_context context;
    reluctant_server server{context};
    lone_node client{context, server.endpoint()};
    net::node& node = client.node;
    counting_sink& sink = client.sink;

    hostile_node_fixture() = default;
    ~hostile_node_fixture() { node.close(); }
    hostile_node_fixture(hostile_node_fixture const&) = delete;
    hostile_node_fixture& operator=(hostile_node_fixture const&) = delete;

    void send(std::string_view command, std::string_view argument)
    {
        redis::append_command(node.output(), {command, argument});
        node.expect(sink, 0);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(hostile_node)

/// Otherwise the node would keep its connection, and all bytes that are sent to it, permanently.
// rule V4
BOOST_DATA_TEST_CASE(node_that_sends_without_answering_times_out, endless, said)
{
    held_clock clock; // otherwise a slow machine would give up the other nodes
    scripted_cluster three;
    config settings = settings_for({three[0].url(), three[1].url(), three[2].url()});
    settings.health.response_timeout = 100ms;
    settings.health.check_interval.reset(); // its answer would be one
    client locks(three.context.get_executor(), settings);
    three[0].expect("SET", reply(said.begin));
    auto const got = std::make_shared<outcome>();
    mutex(locks, "resource", unrenewed).try_acquire(keeps_outcome{got});
    run_until(three.context, [&] { return got->done() && three[0].done(); });
    BOOST_TEST(got->ec == error_code());
    node_status row;
    run_until(three.context, [&] {
        three[0].say(said.more);
        clock.advance(1ms);
        row = locks.node_table().at(0);
        return row.state == node_state::down;
    });
    BOOST_TEST(row.detail == "no answer within the response timeout");
}

/// A command that was answered before it was sent must not be sent to the next server at the address.
BOOST_FIXTURE_TEST_CASE(command_answered_too_early_is_not_sent_on_next_connection, hostile_node_fixture)
{
    node.keep_connected(true); // a lost connection is made again
    run_until(context, [&] { return node.state() == node_state::ready; });
    std::size_t const most = std::size_t{24} << 20U; // more than sockets hold
    send("ECHO", std::string(most, 'x'));
    run_until(context, [&] { return node.output().size() < most; });
    server.say(canned::ok);
    run_until(context, [&] { return sink.replies == 1; });
    server.hang_up();
    run_until(context,
              [&] { return node.ensure_can_send() && server.handshakes == 2 && node.ensure_can_send_now(); });
    send("ECHO", "new");
    server.read();
    std::string expected;
    redis::append_command(expected, {"ECHO", "new"});
    run_until(context, [&] { return server.heard.size() >= expected.size(); });
    BOOST_TEST(server.heard.substr(0, expected.size()) == expected);
}

/// A server whose connection is reset while it is about to answer reads no more, not even what was sent before: the
/// release with which a client ends, for example.
BOOST_FIXTURE_TEST_CASE(unread_answer_does_not_reset_closing_connection, hostile_node_fixture)
{
    node.keep_connected(true);
    run_until(context, [&] { return node.state() == node_state::ready; });
    send("ECHO", "first");
    send("ECHO", "second");
    run_until(context, [&] { return node.output().empty(); });
    server.say(canned::ok);
    send("ECHO", "last");
    node.close();
    BOOST_CHECK_NO_THROW(server.say(canned::ok));
    server.read();
    run_until(context, [&] { return server.heard.ends_with("last\r\n"); });
}

/// Few, but long: the bound is in bytes as well.
BOOST_FIXTURE_TEST_CASE(node_that_reads_nothing_has_bounded_output_buffer, hostile_node_fixture)
{
    constexpr std::size_t enough = std::size_t{256} << 20U;
    std::string const long_one(std::size_t{1} << 20U, 'x');
    while (node.ensure_can_send() && node.output().size() < enough)
        send("ECHO", long_one);
    BOOST_TEST(node.output().size() < enough / 4);
    BOOST_TEST(node.last_failure().detail == "queue is full");
    while (node.ensure_can_release() && node.output().size() < 2 * enough) // commands that release
        send("ECHO", long_one);
    BOOST_TEST(node.output().size() < enough);
}

/// No script counts so far. If the other nodes were raised to it, they could never count any more.
// rule F1
BOOST_AUTO_TEST_CASE(vote_with_fence_beyond_limit_is_not_counted)
{
    scripted_cluster three;
    three.expect_everywhere("EVAL", reply(canned::marker)); // the marker
    three[0].expect("EVAL", reply(":8796093022208\r\n"));
    three[1].expect("EVAL", reply(":5\r\n"));
    three[2].expect("EVAL", reply(":5\r\n"));
    fenced_mutex lock(*three.locks, "lock", unrenewed);
    auto const got = three.try_acquire(lock);
    BOOST_TEST(got->ec == error_code());
    BOOST_TEST((got->granted.fencing_token() >> 10U) == 5U);
    BOOST_TEST(!three.surprised());
}

/// A denied vote is no reason to propose such a fence, either.
// rule F1
BOOST_AUTO_TEST_CASE(denied_vote_with_fence_beyond_limit_is_an_error)
{
    scripted_cluster three;
    three.expect_everywhere("EVAL", reply(canned::marker));
    for (auto const& node : three.nodes)
        node->expect("EVAL", reply("+HELD 60000 18446744073709551614 abcdefgh\r\n"));
    fenced_mutex lock(*three.locks, "lock", unrenewed);
    BOOST_TEST(three.try_acquire(lock)->ec == errc::no_quorum);
    for (node_outcome const& row : lock.last_attempt())
        if (row.result != node_result::pending)
            BOOST_TEST(row.result == node_result::refused);
}

BOOST_AUTO_TEST_CASE(refusal_for_a_name_that_there_is_not_names_none)
{
    scripted_cluster three;
    for (auto const& node : three.nodes)
        node->expect("EVAL", reply("+HELD 60000 0 63 abcdefgh\r\n"));
    multi_mutex lock(*three.locks, {"a", "b"}, unrenewed);
    BOOST_TEST(three.try_acquire(lock)->ec == errc::contended);
    for (node_outcome const& row : lock.last_attempt())
        BOOST_TEST(row.resource == "");
}

BOOST_AUTO_TEST_SUITE_END()

#include "support/fault_proxy.hpp"
#include "support/probe.hpp"
#include "support/redis_server.hpp"

#include <boost/test/unit_test.hpp>

#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <string>

namespace {

using redlock::test::direction;
using redlock::test::fault_proxy;
using redlock::test::probe;
using redlock::test::redis_server;

constexpr auto to_server = direction::to_server;
constexpr auto to_client = direction::to_client;

/// Sends without waiting for replies, and tells a quiet, an ended and a reset connection apart.
class wire {
public:
    explicit wire(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        timeval const limit{10, 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        BOOST_REQUIRE(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    }

    ~wire() { ::close(socket_); }
    wire(wire const&) = delete;
    wire& operator=(wire const&) = delete;

    void send(std::string const& text)
    {
        BOOST_REQUIRE(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) ==
                      static_cast<ssize_t>(text.size()));
    }

    std::string receive(std::size_t count)
    {
        std::string text(count, '\0');
        auto const got = ::recv(socket_, text.data(), count, MSG_WAITALL);
        text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
        return text;
    }

    /// "bytes", "end", "reset" or "silence" (nothing within the time-out).
    std::string next()
    {
        char byte = 0;
        auto const got = ::recv(socket_, &byte, 1, 0);
        if (got > 0)
            return "bytes";
        if (got == 0)
            return "end";
        return errno == ECONNRESET ? "reset" : "silence";
    }

    bool quiet() const
    {
        pollfd watched{socket_, POLLIN, 0};
        return ::poll(&watched, 1, 0) == 0;
    }

    void end() { ::shutdown(socket_, SHUT_WR); }

    unsigned segments() const
    {
        tcp_info facts{};
        socklen_t size = sizeof facts;
        ::getsockopt(socket_, IPPROTO_TCP, TCP_INFO, &facts, &size);
        return facts.tcpi_data_segs_in;
    }

private:
    int socket_;
};

struct fixture {
    redis_server server;
    fault_proxy proxy{server.port()};
    probe direct{server.port()};
};

std::string const pong = "+PONG\r\n";

} // namespace

BOOST_FIXTURE_TEST_SUITE(proxy, fixture)

BOOST_AUTO_TEST_CASE(passes_and_counts)
{
    wire client(proxy.port());
    client.send("PING\r\n");
    BOOST_TEST(client.receive(7) == pong);
    BOOST_TEST(proxy.bytes(to_server) == 6U);
    BOOST_TEST(proxy.forwarded(to_server) == 6U);
    BOOST_TEST(proxy.bytes(to_client) == 7U);
    proxy.wait_forwarded(to_client, 7);
    BOOST_TEST(proxy.connections() == 1U);
    BOOST_TEST(proxy.accepted() == 1U);
}

BOOST_AUTO_TEST_CASE(large_values_arrive_whole_both_ways)
{
    probe through(proxy.port());
    std::string value;
    for (int i = 0; i < 200'000; ++i)
        value += std::to_string(i);
    BOOST_TEST(through.command({"SET", "k", value}) == "OK");
    BOOST_TEST((through.get("k").value() == value));
}

BOOST_AUTO_TEST_CASE(held_replies_are_released_in_order)
{
    proxy.hold(to_client);
    wire client(proxy.port());
    std::uint64_t expected = 0;
    for (auto const* word : {"a", "b", "c"}) {
        client.send(std::string("ECHO ") + word + "\r\n");
        proxy.wait_held(to_client, expected += 7);
    }
    BOOST_TEST(proxy.forwarded(to_client) == 0U);
    BOOST_TEST(client.quiet());
    proxy.release(to_client);
    BOOST_TEST(client.receive(21) == "$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n");
    BOOST_TEST(proxy.held(to_client) == 0U);
}

BOOST_AUTO_TEST_CASE(held_requests_do_not_reach_the_server)
{
    proxy.hold(to_server);
    wire client(proxy.port());
    client.send("SET k 1\r\n");
    proxy.wait_held(to_server, 9);
    BOOST_TEST(!direct.exists("k"));
    BOOST_TEST(proxy.forwarded(to_server) == 0U);
    proxy.release();
    BOOST_TEST(client.receive(5) == "+OK\r\n");
    BOOST_TEST(direct.exists("k"));
}

BOOST_AUTO_TEST_CASE(flush_lets_one_step_through_and_goes_on_holding)
{
    proxy.hold(to_client);
    wire client(proxy.port());
    client.send("PING\r\n");
    proxy.wait_held(to_client, 7);
    proxy.flush(to_client);
    BOOST_TEST(client.receive(7) == pong);
    client.send("PING\r\n");
    proxy.wait_held(to_client, 7);
    BOOST_TEST(proxy.forwarded(to_client) == 7U);
}

BOOST_AUTO_TEST_CASE(a_held_end_waits_behind_the_bytes)
{
    proxy.hold(to_client);
    wire client(proxy.port());
    client.send("PING\r\n");
    proxy.wait_held(to_client, 7);
    server.kill();
    BOOST_TEST(client.quiet());
    BOOST_TEST(proxy.connections() == 1U);
    proxy.release(to_client);
    BOOST_TEST(client.receive(7) == pong);
    BOOST_TEST(client.next() != "silence");
}

BOOST_AUTO_TEST_CASE(a_dropped_reply_is_lost_and_the_next_one_is_not)
{
    proxy.drop(to_client);
    wire client(proxy.port());
    client.send("SET k 1\r\n");
    proxy.wait_for_bytes(to_client, 5);
    BOOST_TEST(direct.exists("k"));
    proxy.pass(to_client);
    client.send("PING\r\n");
    BOOST_TEST(client.receive(7) == pong);
    proxy.wait_forwarded(to_client, 7);
    BOOST_TEST(proxy.forwarded(to_client) == 7U);
}

BOOST_AUTO_TEST_CASE(a_dropped_request_never_arrives)
{
    proxy.drop(to_server);
    wire client(proxy.port());
    client.send("INCR n\r\n");
    proxy.wait_for_bytes(to_server, 8);
    proxy.pass(to_server);
    client.send("INCR n\r\n");
    BOOST_TEST(client.receive(4) == ":1\r\n");
}

BOOST_AUTO_TEST_CASE(what_is_held_can_be_dropped)
{
    proxy.hold(to_client);
    wire client(proxy.port());
    client.send("INCR n\r\n");
    proxy.wait_held(to_client, 4);
    proxy.drop(to_client);
    BOOST_TEST(proxy.held(to_client) == 0U);
    proxy.pass(to_client);
    client.send("INCR n\r\n");
    BOOST_TEST(client.receive(4) == ":2\r\n");
}

BOOST_AUTO_TEST_CASE(a_delayed_reply_waits_and_can_be_hurried)
{
    proxy.delay(to_client, std::chrono::hours(1));
    wire client(proxy.port());
    client.send("PING\r\n");
    proxy.wait_held(to_client, 7);
    BOOST_TEST(client.quiet());
    client.send("ECHO a\r\n");
    proxy.wait_held(to_client, 14);
    proxy.delay(to_client, std::chrono::milliseconds(1));
    BOOST_TEST(client.receive(14) == pong + "$1\r\na\r\n");
}

BOOST_AUTO_TEST_CASE(dribbled_bytes_come_in_segments_of_one)
{
    wire client(proxy.port());
    client.send("PING\r\n");
    BOOST_TEST(client.receive(7) == pong);
    auto const before = client.segments();
    proxy.dribble(to_client);
    client.send("PING\r\n");
    BOOST_TEST(client.receive(7) == pong);
    BOOST_TEST(client.segments() - before >= 7U);
}

BOOST_AUTO_TEST_CASE(a_dribbled_request_is_understood)
{
    proxy.dribble(to_server);
    probe through(proxy.port());
    BOOST_TEST(through.command({"SET", "k", "value"}) == "OK");
    BOOST_TEST(direct.get("k").value() == "value");
}

BOOST_AUTO_TEST_CASE(one_chunk_is_duplicated)
{
    wire client(proxy.port());
    proxy.duplicate(to_server);
    client.send("INCR n\r\n");
    BOOST_TEST(client.receive(8) == ":1\r\n:2\r\n");
    proxy.duplicate(to_client);
    client.send("INCR n\r\n");
    BOOST_TEST(client.receive(8) == ":3\r\n:3\r\n");
    client.send("INCR n\r\n");
    BOOST_TEST(client.receive(4) == ":4\r\n");
    BOOST_TEST(direct.get("n").value() == "4");
}

BOOST_AUTO_TEST_CASE(a_cut_direction_is_silent_and_delivers_late_when_healed)
{
    wire client(proxy.port());
    client.send("PING\r\n");
    BOOST_TEST(client.receive(7) == pong);
    proxy.cut_one_way(to_client);
    client.send("LPUSH queue x\r\n");
    BOOST_TEST(direct.command({"BLPOP", "queue", "5"}) == "[queue, x]");
    // A second round of the server's loop: by now the reply to LPUSH is on its way.
    BOOST_TEST(direct.command({"PING"}) == "PONG");
    BOOST_TEST(proxy.bytes(to_client) == 7U);
    BOOST_TEST(client.quiet());
    server.kill();
    BOOST_TEST(client.quiet());
    BOOST_TEST(proxy.connections() == 1U);
    proxy.pass(to_client);
    BOOST_TEST(client.receive(4) == ":1\r\n");
}

BOOST_AUTO_TEST_CASE(garbage_replaces_one_reply)
{
    wire client(proxy.port());
    proxy.garbage("HTTP/1.1 400\r\n");
    client.send("PING\r\n");
    BOOST_TEST(client.receive(14) == "HTTP/1.1 400\r\n");
    client.send("PING\r\n");
    BOOST_TEST(client.receive(7) == pong);
}

BOOST_AUTO_TEST_CASE(reset_all_resets_both_sides)
{
    wire client(proxy.port());
    client.send("PING\r\n");
    BOOST_TEST(client.receive(7) == pong);
    proxy.reset_all();
    BOOST_TEST(proxy.connections() == 0U);
    BOOST_TEST(client.next() == "reset");
    wire again(proxy.port());
    again.send("PING\r\n");
    BOOST_TEST(again.receive(7) == pong);
    BOOST_TEST(proxy.accepted() == 2U);
}

BOOST_AUTO_TEST_CASE(reset_all_loses_what_is_held)
{
    proxy.hold(to_client);
    wire client(proxy.port());
    client.send("PING\r\n");
    proxy.wait_held(to_client, 7);
    proxy.reset_all();
    BOOST_TEST(proxy.held(to_client) == 0U);
    BOOST_TEST(client.next() == "reset");
}

BOOST_AUTO_TEST_CASE(close_all_ends_in_order)
{
    wire client(proxy.port());
    client.send("PING\r\n");
    BOOST_TEST(client.receive(7) == pong);
    proxy.close_all();
    proxy.wait_connections(0);
    BOOST_TEST(client.next() == "end");
}

BOOST_AUTO_TEST_CASE(close_all_ends_in_order_even_with_unread_bytes)
{
    proxy.cut_one_way(to_server);
    wire client(proxy.port());
    proxy.wait_connections(1);
    client.send("PING\r\n");
    proxy.close_all();
    BOOST_TEST(client.next() == "end");
}

BOOST_AUTO_TEST_CASE(a_refusing_proxy_keeps_what_it_has)
{
    wire client(proxy.port());
    proxy.wait_connections(1);
    proxy.refuse();
    auto const refused = [](std::system_error const& failure) {
        return failure.code() == std::errc::connection_refused;
    };
    BOOST_CHECK_EXCEPTION(probe(proxy.port()), std::system_error, refused);
    client.send("PING\r\n");
    BOOST_TEST(client.receive(7) == pong);
    proxy.accept();
    BOOST_TEST(probe(proxy.port()).command({"PING"}) == "PONG");
}

BOOST_AUTO_TEST_CASE(a_black_hole_accepts_and_swallows)
{
    wire before(proxy.port());
    before.send("PING\r\n");
    BOOST_TEST(before.receive(7) == pong);
    proxy.black_hole();
    wire inside(proxy.port());
    before.send("SET k 1\r\n");
    inside.send("SET k 1\r\n");
    proxy.wait_for_bytes(to_server, 6 + 9 + 9);
    BOOST_TEST(proxy.forwarded(to_server) == 6U);
    BOOST_TEST(!direct.exists("k"));
    BOOST_TEST(proxy.connections() == 2U);
    proxy.accept();
    BOOST_TEST(probe(proxy.port()).command({"PING"}) == "PONG");
    BOOST_TEST(before.quiet());
    BOOST_TEST(inside.quiet());
    inside.end();
    BOOST_TEST(inside.next() == "end");
}

BOOST_AUTO_TEST_CASE(a_redirected_proxy_takes_new_connections_elsewhere)
{
    redis_server other;
    probe(other.port()).command({"SET", "k", "other"});
    probe old(proxy.port());
    proxy.wait_connections(1);
    BOOST_TEST(!old.exists("k"));
    proxy.redirect(other.port());
    BOOST_TEST(probe(proxy.port()).get("k").value() == "other");
    BOOST_TEST(!old.exists("k"));
}

BOOST_AUTO_TEST_CASE(a_half_closed_client_still_gets_its_reply)
{
    wire client(proxy.port());
    client.send("PING\r\n");
    proxy.wait_forwarded(to_server, 6);
    client.end();
    BOOST_TEST(client.receive(7) == pong);
    BOOST_TEST(client.next() == "end");
    proxy.wait_connections(0);
}

BOOST_AUTO_TEST_CASE(a_dead_server_resets_the_client)
{
    server.kill();
    wire client(proxy.port());
    BOOST_TEST(client.next() == "reset");
    server.restart();
    BOOST_TEST(probe(proxy.port()).command({"PING"}) == "PONG");
}

BOOST_AUTO_TEST_CASE(a_wait_in_vain_throws)
{
    fault_proxy hasty(server.port(), std::chrono::milliseconds(20));
    BOOST_CHECK_THROW(hasty.wait_accepted(1), std::runtime_error);
    BOOST_CHECK_THROW(hasty.wait_held(to_client, 1), std::runtime_error);
}

BOOST_AUTO_TEST_SUITE_END()

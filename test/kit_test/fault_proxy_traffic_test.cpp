// SPDX-License-Identifier: BSL-1.0
#include "kit_test/proxied_server.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(fault_proxies, proxied_server)

BOOST_AUTO_TEST_CASE(proxy_passes_and_counts_bytes)
{
    wire client(proxy.port());
    ping(client);
    BOOST_TEST(proxy.bytes(to_server) == 6U);
    BOOST_TEST(proxy.forwarded(to_server) == 6U);
    BOOST_TEST(proxy.bytes(to_client) == 7U);
    proxy.wait_forwarded(to_client, 7);
    BOOST_TEST(proxy.connections() == 1U);
    BOOST_TEST(proxy.accepted() == 1U);
}

BOOST_AUTO_TEST_CASE(proxy_passes_large_values_both_ways)
{
    probe through(proxy.port());
    std::string value;
    for (int i = 0; i < 200'000; ++i)
        value += std::to_string(i);
    BOOST_TEST(through.command({"SET", "k", value}) == "OK");
    BOOST_TEST((through.get("k").value() == value));
}

BOOST_AUTO_TEST_CASE(proxy_releases_held_replies_in_order)
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

BOOST_AUTO_TEST_CASE(proxy_hold_keeps_requests_from_server)
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

BOOST_AUTO_TEST_CASE(proxy_flush_forwards_and_goes_on_holding)
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

BOOST_AUTO_TEST_CASE(proxy_hold_keeps_end_of_stream_behind_bytes)
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

BOOST_AUTO_TEST_CASE(proxy_drop_loses_replies_until_pass)
{
    proxy.drop(to_client);
    wire client(proxy.port());
    client.send("SET k 1\r\n");
    proxy.wait_for_bytes(to_client, 5);
    BOOST_TEST(direct.exists("k"));
    proxy.pass(to_client);
    ping(client);
    proxy.wait_forwarded(to_client, 7);
    BOOST_TEST(proxy.forwarded(to_client) == 7U);
}

BOOST_AUTO_TEST_CASE(proxy_drop_loses_requests)
{
    proxy.drop(to_server);
    wire client(proxy.port());
    client.send("INCR n\r\n");
    proxy.wait_for_bytes(to_server, 8);
    proxy.pass(to_server);
    client.send("INCR n\r\n");
    BOOST_TEST(client.receive(4) == ":1\r\n");
}

BOOST_AUTO_TEST_CASE(proxy_drop_discards_held_bytes)
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

BOOST_AUTO_TEST_CASE(proxy_delay_can_be_shortened)
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

BOOST_AUTO_TEST_CASE(proxy_dribble_sends_one_byte_per_segment)
{
    wire client(proxy.port());
    ping(client);
    auto const before = client.segments();
    proxy.dribble(to_client);
    ping(client);
    BOOST_TEST(client.segments() - before >= 7U);
}

BOOST_AUTO_TEST_CASE(proxy_dribble_of_request_is_understood)
{
    proxy.dribble(to_server);
    probe through(proxy.port());
    BOOST_TEST(through.command({"SET", "k", "value"}) == "OK");
    BOOST_TEST(direct.get("k").value() == "value");
}

BOOST_AUTO_TEST_CASE(proxy_duplicate_repeats_one_chunk)
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

BOOST_AUTO_TEST_CASE(proxy_cut_one_way_delivers_late_when_healed)
{
    wire client(proxy.port());
    ping(client);
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

BOOST_AUTO_TEST_CASE(proxy_garbage_replaces_one_reply)
{
    wire client(proxy.port());
    proxy.garbage("HTTP/1.1 400\r\n");
    client.send("PING\r\n");
    BOOST_TEST(client.receive(14) == "HTTP/1.1 400\r\n");
    ping(client);
}

BOOST_AUTO_TEST_CASE(proxy_wait_past_its_limit_throws)
{
    fault_proxy hasty(server.port(), std::chrono::milliseconds(20));
    BOOST_CHECK_THROW(hasty.wait_accepted(1), std::runtime_error);
    BOOST_CHECK_THROW(hasty.wait_held(to_client, 1), std::runtime_error);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "kit_test/proxied_server.hpp"

#include <boost/test/unit_test.hpp>

#include <system_error>

using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(fault_proxies, proxied_server)

BOOST_AUTO_TEST_CASE(proxy_reset_all_resets_both_sides)
{
    wire client(proxy.port());
    ping(client);
    proxy.reset_all();
    BOOST_TEST(proxy.connections() == 0U);
    BOOST_TEST(client.next() == "reset");
    wire again(proxy.port());
    ping(again);
    BOOST_TEST(proxy.accepted() == 2U);
}

BOOST_AUTO_TEST_CASE(proxy_reset_all_discards_held_bytes)
{
    proxy.hold(to_client);
    wire client(proxy.port());
    client.send("PING\r\n");
    proxy.wait_held(to_client, 7);
    proxy.reset_all();
    BOOST_TEST(proxy.held(to_client) == 0U);
    BOOST_TEST(client.next() == "reset");
}

BOOST_AUTO_TEST_CASE(proxy_close_all_ends_connections_in_order)
{
    wire client(proxy.port());
    ping(client);
    proxy.close_all();
    proxy.wait_connections(0);
    BOOST_TEST(client.next() == "end");
}

BOOST_AUTO_TEST_CASE(proxy_close_all_with_unread_bytes_ends_in_order)
{
    proxy.cut_one_way(to_server);
    wire client(proxy.port());
    proxy.wait_connections(1);
    client.send("PING\r\n");
    proxy.close_all();
    BOOST_TEST(client.next() == "end");
}

BOOST_AUTO_TEST_CASE(proxy_that_refuses_keeps_present_connections)
{
    wire client(proxy.port());
    proxy.wait_connections(1);
    proxy.refuse();
    auto const refused = [](std::system_error const& failure) {
        return failure.code() == std::errc::connection_refused;
    };
    BOOST_CHECK_EXCEPTION(probe(proxy.port()), std::system_error, refused);
    ping(client);
    proxy.accept();
    BOOST_TEST(probe(proxy.port()).command({"PING"}) == "PONG");
}

BOOST_AUTO_TEST_CASE(proxy_as_black_hole_accepts_and_swallows)
{
    wire before(proxy.port());
    ping(before);
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

BOOST_AUTO_TEST_CASE(proxy_redirect_affects_only_new_connections)
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

BOOST_AUTO_TEST_CASE(proxy_forwards_reply_to_half_closed_client)
{
    wire client(proxy.port());
    client.send("PING\r\n");
    proxy.wait_forwarded(to_server, 6);
    client.end();
    BOOST_TEST(client.receive(7) == pong);
    BOOST_TEST(client.next() == "end");
    proxy.wait_connections(0);
}

BOOST_AUTO_TEST_CASE(proxy_resets_client_of_dead_server)
{
    server.kill();
    wire client(proxy.port());
    BOOST_TEST(client.next() == "reset");
    server.restart();
    BOOST_TEST(probe(proxy.port()).command({"PING"}) == "PONG");
}

BOOST_AUTO_TEST_SUITE_END()

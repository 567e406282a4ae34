// SPDX-License-Identifier: BSL-1.0
#include "chaos/own_network.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace asio = boost::asio;
using asio::ip::tcp;
using redlock::chaos::own_network;
using redlock::test::direction;
using namespace std::chrono_literals;

namespace {

/// A connection over loopback, to a server's port.
struct connection {
    connection()
    {
        client.connect(acceptor.local_endpoint());
        acceptor.accept(server);
    }
    [[nodiscard]] std::uint16_t port() const { return acceptor.local_endpoint().port(); }
    /// Does one byte arrive in that time?
    bool arrives(tcp::socket& from, tcp::socket& to, std::chrono::milliseconds longest)
    {
        asio::write(from, asio::buffer("x", 1));
        return arrives(to, longest);
    }
    bool arrives(tcp::socket& to, std::chrono::milliseconds longest)
    {
        bool came = false;
        std::array<char, 1> byte{};
        to.async_read_some(asio::buffer(byte), [&](auto ec, std::size_t size) { came = !ec && size == 1; });
        context.restart();
        context.run_for(longest);
        to.cancel();
        context.restart();
        context.run(); // also a read that was cancelled
        return came;
    }

    asio::io_context context{};
    tcp::acceptor acceptor{context, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
    tcp::socket client{context};
    tcp::socket server{context};
};

} // namespace

BOOST_AUTO_TEST_SUITE(chaos_network)

/// In a thread of its own: the other tests stay in the machine's network.
BOOST_AUTO_TEST_CASE(packets_of_one_direction_are_lost_until_it_is_mended)
{
    std::thread([] {
        own_network const network;
        if (!network.entered()) {
            BOOST_TEST_MESSAGE("no right to a network namespace");
            return;
        }
        connection line;
        network.cut(line.port(), direction::to_server);
        BOOST_TEST(!line.arrives(line.client, line.server, 300ms));
        BOOST_TEST(line.arrives(line.server, line.client, 10s));
        network.mend(line.port(), direction::to_server);
        BOOST_TEST(line.arrives(line.server, 10s)); // the byte from before
        network.cut(line.port(), direction::to_client);
        BOOST_TEST(!line.arrives(line.server, line.client, 300ms));
        BOOST_TEST(line.arrives(line.client, line.server, 10s));
        network.mend(line.port(), direction::to_client);
    }).join();
}

BOOST_AUTO_TEST_SUITE_END()

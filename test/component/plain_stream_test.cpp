// SPDX-License-Identifier: BSL-1.0
// A connection without TLS.
#include "kit/running.hpp"
#include "net/coroutine.hpp"
#include "net/leaf/socket_stream.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

/// The system gives its near end this port.
class stream_from final : public net::socket_stream {
public:
    stream_from(asio::io_context& context, tcp::endpoint const& own_end) : socket_(context), near_(own_end) {}

    net::socket& transport() override
    {
        if (socket_.is_open() && !bound_) {
            bound_ = true;
            socket_.bind(near_);
        }
        return socket_;
    }
    void handshake(net::resumption) override {}
    void read(asio::mutable_buffer, net::resumption) override {}
    void write(asio::const_buffer, net::resumption) override {}
    void start_read(asio::mutable_buffer) override {}
    void flush(std::string&) override {}
    void finish(std::string) override {}

private:
    net::socket socket_;
    tcp::endpoint near_;
    bool bound_ = false;
};

tcp::endpoint nobody(asio::io_context& context)
{
    return tcp::acceptor(context, {asio::ip::address_v4::loopback(), 0}, false).local_endpoint();
}

struct nobody_listens final : net::stream_listener {
    void on_read(net::error_code, std::size_t) override {}
    void on_writable(net::error_code) override {}
};

} // namespace

BOOST_AUTO_TEST_SUITE(plain_stream)

/// A system that fills the buffer itself may do so until the handler runs (io_uring, Windows).
BOOST_AUTO_TEST_CASE(buffer_of_pending_read_outlives_its_owner)
{
    asio::io_context context;
    tcp::acceptor server(context, {asio::ip::address_v4::loopback(), 0});
    auto one = net::make_plain_stream(context.get_executor());
    net::completion told;
    one->connect(server.local_endpoint(), true, {told, nullptr});
    run_until(context, [&] { return told.done; });
    auto buffer = std::make_shared<std::vector<char>>(64);
    std::weak_ptr<void> const kept = buffer;
    nobody_listens listener;
    one->listen(listener, buffer);
    one->start_read(asio::buffer(*buffer));
    buffer.reset();
    std::exchange(one, nullptr)->close();
    BOOST_TEST(!kept.expired());
    run_until(context, [&] { return kept.expired(); });
}

/// If no server listens, a connection from the very port that is wanted meets itself, and TCP opens it.
// rule N2
BOOST_AUTO_TEST_CASE(connection_to_itself_is_refused)
{
    asio::io_context context;
    auto const where = nobody(context);
    auto const one = std::make_shared<stream_from>(context, where);
    net::completion told;
    one->connect(where, true, {told, nullptr});
    run_until(context, [&] { return told.done; });
    BOOST_TEST(told.ec == asio::error::connection_refused);
    BOOST_TEST(!one->transport().is_open());
}

BOOST_AUTO_TEST_SUITE_END()

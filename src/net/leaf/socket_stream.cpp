// SPDX-License-Identifier: BSL-1.0
#include "net/leaf/socket_stream.hpp"

#include "net/coroutine.hpp"
#include "net/executor.hpp"
#include "net/leaf/parting.hpp"
#include "net/leaf/platform.hpp"
#include "net/machine.hpp"

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::net {

namespace asio = boost::asio;

namespace {

/// As much as a socket holds; the peer may go on sending.
constexpr int most_discarded = 64;

/// With bytes unread, closing resets the connection (RFC 2525, section 2.17), and a server that is about to answer then
/// never reads what was written last.
void discard_unread(socket& from)
{
    std::array<char, 16384> nowhere{};
    error_code ec;
    for (int i = 0; i != most_discarded && from.available(ec) != 0 && !ec; ++i)
        from.read_some(asio::buffer(nowhere), ec);
}

/// Connections to addresses are for small, urgent messages.
void configure(socket& s, bool keep_alive)
{
    error_code ignored; // an option less is no reason to go without the node
    s.set_option(asio::ip::tcp::no_delay(true), ignored);
    s.set_option(asio::socket_base::keep_alive(keep_alive), ignored);
}

/// If no server listens on a port that the system also gives to near ends, the near end can get that very port. TCP then
/// opens the connection.
bool met_itself(socket const& s)
{
    error_code ec;
    auto const own_end = s.local_endpoint(ec);
    return !ec && s.remote_endpoint(ec) == own_end && !ec;
}

} // namespace

void socket_stream::connect(endpoint const& address, bool keep_alive, resumption done)
{
    error_code ec;
    transport().open(address.protocol(), ec);
    if (ec)
        return asio::post(transport().get_executor(), [ec, done = std::move(done)]() mutable { done(ec); });
    platform::close_on_exec(transport().native_handle());
    bool const local = address.protocol().family() == AF_UNIX;
    transport().async_connect(address, [this, self = shared_from_this(), local, keep_alive,
                                        done = std::move(done)](error_code failed) mutable {
        if (!failed && !transport().is_open()) // interrupted
            failed = asio::error::timed_out;
        if (!failed && !local && met_itself(transport())) {
            interrupt();
            failed = asio::error::connection_refused;
        }
        if (!failed && !local)
            configure(transport(), keep_alive);
        done(failed);
    });
}

void socket_stream::interrupt()
{
    error_code ignored;
    transport().close(ignored);
}

bool socket_stream::readable()
{
    return platform::readable(transport().native_handle());
}

bool socket_stream::hung_up()
{
    return platform::hung_up(transport().native_handle());
}

void socket_stream::close()
{
    discard_unread(transport());
    drop();
}

void socket_stream::drop()
{
    listener_ = nullptr;
    interrupt();
}

void socket_stream::stop_blocking(error_code& ec)
{
    if (!transport().non_blocking())
        transport().non_blocking(true, ec);
}

std::size_t socket_stream::write_some(std::string_view bytes, error_code& ec)
{
    stop_blocking(ec);
    std::size_t const written = transport().write_some(asio::buffer(bytes), ec);
    if (ec == asio::error::would_block || ec == asio::error::try_again)
        ec.clear();
    return written;
}

void socket_stream::await_room(error_code failed)
{
    writing_ = true;
    auto done = [this, self = shared_from_this(), failed](error_code waited) {
        writing_ = false;
        if (listener_)
            on_room(waited ? waited : failed);
    };
    transport().async_wait(socket::wait_write,
                           asio::bind_allocator(handler_allocator<void>(write_memory_), std::move(done)));
}

namespace {

class plain_stream final : public socket_stream {
public:
    explicit plain_stream(any_io_executor const& executor) : socket_(executor) {}

    socket& transport() override { return socket_; }

    void handshake(resumption) override {} // plain streams have none

    void read(asio::mutable_buffer into, resumption done) override
    {
        socket_.async_read_some(into, std::move(done));
    }

    void write(asio::const_buffer bytes, resumption done) override
    {
        asio::async_write(socket_, bytes, std::move(done));
    }

    void start_read(asio::mutable_buffer into) override
    {
        auto done = [this, self = shared_from_this()](error_code ec, std::size_t bytes) {
            if (listener_)
                listener_->on_read(ec, bytes);
        };
        socket_.async_read_some(into,
                                asio::bind_allocator(handler_allocator<void>(read_memory_), std::move(done)));
    }

    std::size_t peek(asio::mutable_buffer into) override
    {
        error_code ec;
        stop_blocking(ec);
        return socket_.receive(into, socket::message_peek, ec);
    }

    std::size_t write_now(std::string_view bytes) override
    {
        error_code ignored; // a flush of the rest finds it again
        return writing_ ? 0 : write_some(bytes, ignored);
    }

    void flush(std::string& out) override
    {
        if (writing_)
            return;
        error_code ec;
        std::size_t const written = write_some(out, ec);
        if (written == out.size()) {
            out.clear();
            return;
        }
        out.erase(0, written);
        await_room(ec);
    }

    void finish(std::string rest) override
    {
        listener_ = nullptr;
        error_code ignored;
        rest.erase(0, write_some(rest, ignored));
        part(std::static_pointer_cast<socket_stream>(shared_from_this()), std::move(rest));
    }

private:
    socket socket_;
};

} // namespace

std::shared_ptr<stream> make_plain_stream(any_io_executor const& executor)
{
    return std::make_shared<plain_stream>(executor);
}

} // namespace redlock::net

#include "net/connect.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>

#include <fcntl.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

namespace redlock::net {

namespace asio = boost::asio;

connector::connector(asio::any_io_executor const& executor, clock_reader clock,
                     std::shared_ptr<peer const> to, connect_listener& listener)
    : peer_(std::move(to)), listener_(&listener), executor_(executor), clock_(clock), resolver_(executor),
      timer_(executor), deadline_(std::chrono::steady_clock::now() + peer_->connect_timeout)
{}

void connector::start()
{
    limit(peer_->connect_timeout, true);
    // Never from here: where no socket can be opened it fails at once, and whoever started it is not ready for that.
    asio::post(executor_, [self = shared_from_this()] {
        if (!self->listener_)
            return;
        try {
            self->work_ = self->run();
            self->work_.start();
        } catch (std::bad_alloc const&) {
            self->starve();
        }
    });
}

void connector::abandon()
{
    listener_ = nullptr;
    ++phase_;
    timer_.cancel();
    try {
        resolver_.cancel();
    } catch (std::bad_alloc const&) { // what it finds, nobody waits for
    }
    if (stream_) // maybe in a forked child
        stream_->drop();
}

void connector::fail(failure why)
{
    connect_listener* const told = std::exchange(listener_, nullptr);
    abandon();
    if (told)
        told->on_connect_failed(std::move(why));
}

void connector::starve()
{
    fail({node_result::unreachable, server_error::none, "out of memory"});
}

void connector::fail(error_code ec, std::string const& doing)
{
    fail({node_result::unreachable, server_error::none, doing + ec.message()});
}

std::chrono::steady_clock::duration connector::time_left() const
{
    return std::max(deadline_ - std::chrono::steady_clock::now(),
                    std::chrono::steady_clock::duration::zero());
}

/// \param whole the time for everything is over with it; otherwise only this address had its share
void connector::limit(std::chrono::steady_clock::duration time, bool whole)
{
    timer_.expires_after(time);
    timer_.async_wait([self = shared_from_this(), phase = ++phase_, whole](error_code ec) {
        if (ec || phase != self->phase_)
            return;
        if (whole)
            self->time_out();
        else
            self->stream_->transport().close(ec);
    });
}

void connector::time_out()
{
    try {
        fail({node_result::timed_out, server_error::none,
              std::string(missing_) + " within the connect timeout"});
    } catch (std::bad_alloc const&) {
        fail({node_result::timed_out, server_error::none, {}});
    }
}

coroutine<void> connector::run()
{
    try {
        co_await make();
    } catch (std::bad_alloc const&) {
        starve();
    } catch (std::exception const& e) {
        fail({node_result::unreachable, server_error::none, e.what()});
    }
}

coroutine<void> connector::make()
{
    error_code ec;
    std::vector<endpoint> const addresses = co_await resolve(ec);
    if (!listener_)
        co_return;
    if (ec)
        co_return fail(ec, "cannot resolve the host name: ");
    ec = co_await connect_any(addresses);
    if (!listener_)
        co_return;
    if (ec)
        co_return fail(ec, {});
    limit(time_left(), true);
    if (peer_->tls && !co_await secure())
        co_return;
    if (!co_await introduce())
        co_return;
    ++phase_;
    timer_.cancel();
    std::exchange(listener_, nullptr)->on_connected(std::exchange(stream_, nullptr), std::move(told_));
}

/// Numeric hosts never meet the resolver, whose one thread a hung name server can hold up for every node.
coroutine<std::vector<connector::endpoint>> connector::resolve(error_code& ec)
{
    std::vector<endpoint> found;
    redis::endpoint const& where = peer_->where;
    if (where.transport == redis::endpoint::kind::unix_socket) {
        found.emplace_back(asio::local::stream_protocol::endpoint(where.path));
        co_return found;
    }
    auto const address = asio::ip::make_address(where.host, ec);
    if (!ec) {
        found.emplace_back(asio::ip::tcp::endpoint(address, where.port));
        co_return found;
    }
    asio::ip::tcp::resolver::results_type results;
    operation looked_up(weak_from_this(), [&](resumption done) {
        resolver_.async_resolve(where.host, std::to_string(where.port),
                                [&results, done = std::move(done)](error_code failed, auto all) mutable {
                                    results = std::move(all);
                                    done(failed);
                                });
    });
    ec = co_await looked_up;
    for (auto const& result : results)
        found.emplace_back(result.endpoint());
    if (!ec && found.empty())
        ec = asio::error::host_not_found;
    co_return found;
}

coroutine<error_code> connector::connect_any(std::vector<endpoint> const& addresses)
{
    error_code ec;
    for (std::size_t i = 0; i != addresses.size(); ++i) {
        if (i + 1 != addresses.size())
            limit(time_left() / static_cast<int>(addresses.size() - i), false);
        else
            limit(time_left(), true);
        ec = co_await connect_to(addresses[i]);
        if (!ec || !listener_)
            break;
    }
    co_return ec;
}

coroutine<error_code> connector::connect_to(endpoint const& address)
{
    stream_ = make_plain_stream(socket(executor_));
    auto const attempt = stream_;
    error_code ec;
    attempt->transport().open(address.protocol(), ec);
    if (ec)
        co_return ec;
    // A program that starts others does not hand them a connection that is logged in.
    ::fcntl(attempt->transport().native_handle(), F_SETFD, FD_CLOEXEC);
    operation connected(weak_from_this(), [&](resumption done) {
        attempt->transport().async_connect(address, std::move(done));
    });
    ec = co_await connected;
    if (!ec && !attempt->transport().is_open())
        ec = asio::error::timed_out;
    if (!ec)
        configure(attempt->transport());
    co_return ec;
}

void connector::configure(socket& s) const
{
    if (peer_->where.transport == redis::endpoint::kind::unix_socket)
        return;
    error_code ignored; // an option less is no reason to go without the node
    s.set_option(asio::ip::tcp::no_delay(true), ignored);
    s.set_option(asio::socket_base::keep_alive(peer_->keep_alive), ignored);
}

} // namespace redlock::net

#include "net/connect.hpp"

#include "net/executor.hpp"
#include <redlock/server_error.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <new>
#include <utility>

namespace redlock::net {

namespace asio = boost::asio;

connector::connector(any_io_executor const& executor, machine& m, std::shared_ptr<peer const> to,
                     connect_listener& listener)
    : peer_(std::move(to)), listener_(&listener), executor_(executor), machine_(m),
      resolver_(m.make_resolver(executor)), alarm_(m.make_alarm(executor, *this)),
      deadline_(m.read_clocks() + peer_->connect_timeout)
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
            self->fail_no_memory();
        }
    });
}

void connector::cancel()
{
    listener_ = nullptr;
    ++phase_;
    alarm_->cancel();
    try {
        resolver_->cancel();
    } catch (std::bad_alloc const&) { // what it finds, nobody waits for
    }
    if (stream_) // maybe in a forked child
        stream_->drop();
}

void connector::fail(failure why)
{
    connect_listener* const told = std::exchange(listener_, nullptr);
    cancel();
    if (told)
        told->on_connect_failed(std::move(why));
}

void connector::fail_no_memory()
{
    fail({node_result::unreachable, server_error::none, "out of memory"});
}

void connector::fail(error_code ec, std::string const& doing)
{
    fail({node_result::unreachable, server_error::none, doing + ec.message()});
}

core::duration connector::time_left() const
{
    return std::max(core::remaining(deadline_, machine_.read_clocks()), core::duration::zero());
}

void connector::limit(core::duration time, bool whole)
{
    whole_ = whole;
    alarm_->set(time, shared_from_this(), ++phase_);
}

void connector::on_alarm(error_code ec, unsigned phase)
{
    if (ec || phase != phase_)
        return;
    if (whole_)
        time_out();
    else
        stream_->interrupt();
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
        fail_no_memory();
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
    alarm_->cancel();
    std::exchange(listener_, nullptr)->on_connected(std::exchange(stream_, nullptr), std::move(told_));
}

/// Numeric hosts never meet the resolver, whose one thread a hung name server can hold up for every node.
coroutine<std::vector<endpoint>> connector::resolve(error_code& ec)
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
    operation looked_up(weak_from_this(), [&](resumption done) {
        resolver_->resolve(where.host, where.port, found, std::move(done));
    });
    ec = co_await looked_up;
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
    stream_ = machine_.make_stream(executor_);
    auto const attempt = stream_;
    operation connected(weak_from_this(), [&](resumption done) {
        attempt->connect(address, peer_->keep_alive, std::move(done));
    });
    co_return co_await connected;
}

} // namespace redlock::net

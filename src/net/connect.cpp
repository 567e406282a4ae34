// SPDX-License-Identifier: BSL-1.0
#include "net/connect.hpp"

#include "core/memory.hpp"
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
                     connect_listener& listener, core::duration limit)
    : peer_(std::move(to)), listener_(&listener), executor_(executor), machine_(m),
      resolver_(m.make_resolver(executor)), alarm_(m.make_alarm(executor, *this)),
      deadline_(m.read_clocks() + std::min<core::duration>(peer_->connect_timeout, limit)),
      hurried_(limit < peer_->connect_timeout)
{}

void connector::start()
{
    work_ = run();
    begin_phase(1);
    // The listener is not called from here: if no socket can be opened, connecting fails at once, and the caller of
    // `start` is not ready for that.
    asio::post(executor_, [self = shared_from_this()] {
        if (self->goes_on())
            self->work_.start();
    });
}

void connector::cancel()
{
    listener_ = nullptr;
    ++phase_;
    alarm_->cancel();
    core::if_memory_allows([this] { resolver_->cancel(); });
    if (stream_)
        stream_->drop(); // maybe in a forked child
}

void connector::fail(failure why)
{
    connect_listener* const told = std::exchange(listener_, nullptr);
    cancel();
    if (told)
        told->on_connect_failed(std::move(why));
}

bool connector::blame(failure why)
{
    problem_ = std::move(why);
    return false;
}

bool connector::blame(error_code ec, std::string const& doing)
{
    std::string const words = late_ ? std::string(missing_) + " in time" : ec.message();
    return blame({node_result::unreachable, server_error::none, doing + words});
}

core::duration connector::time_left() const
{
    return std::max(core::remaining(deadline_, machine_.read_clocks()), core::duration::zero());
}

/// The phase has one of so many equal shares of the time that is left.
void connector::begin_phase(std::size_t shares)
{
    whole_ = shares == 1;
    late_ = false;
    alarm_->set(time_left() / static_cast<int>(shares), shared_from_this(), ++phase_);
}

void connector::on_alarm(error_code ec, unsigned phase)
{
    if (ec || phase != phase_)
        return;
    if (whole_)
        return time_out();
    begin_phase(1); // a name server need not hear that
    late_ = true;
    if (stream_)
        stream_->interrupt();
}

void connector::time_out()
{
    failure why{node_result::timed_out};
    core::if_memory_allows([&] {
        why.detail =
            std::string(missing_) + (hurried_ ? " in time for a lease" : " within the connect timeout");
    });
    fail(std::move(why));
}

coroutine<void> connector::run()
{
    try {
        co_await make();
    } catch (std::bad_alloc const&) {
        fail({node_result::unreachable, server_error::none, "out of memory"});
    } catch (std::exception const& e) {
        fail({node_result::unreachable, server_error::none, e.what()});
    }
}

coroutine<void> connector::make()
{
    redis::endpoint const& where = peer_->where;
    redis::address const alone{where.host, where.port}; // no temporary: g++ 12 destroys it twice
    bool made = false;
    if (where.group.empty())
        made = co_await meet(alone, 1);
    else
        made = co_await meet_master();
    if (!goes_on())
        co_return;
    if (!made)
        co_return fail(std::move(problem_));
    ++phase_;
    alarm_->cancel();
    std::exchange(listener_, nullptr)->on_connected(std::exchange(stream_, nullptr), std::move(told_));
}

namespace {

failure no_master(redis::server_facts const& told)
{
    if (told.replica)
        return {node_result::refused, server_error::readonly, "a replica"};
    if (told.info && told.info->loading)
        return {node_result::refused, server_error::loading, "loading its data"};
    return {node_result::refused, server_error::noreplicas, "has fewer replicas than it needs"};
}

} // namespace

/// One Sentinel may be cut off from the other ones. If the server that it names is no master that takes writes, the
/// next Sentinel is asked. The failure is that of a master, if any was named.
// rule N8
coroutine<bool> connector::meet_master()
{
    std::optional<failure> with_master;
    std::size_t shares = peer_->where.sentinels.size();
    for (redis::address const& sentinel : peer_->where.sentinels) {
        redis::group_view group;
        bool const named = co_await ask(sentinel, group, 2 * shares);
        bool met = false;
        if (named)
            met = co_await meet(group.master, shares);
        if (!goes_on())
            co_return false;
        told_.facts.known_replicas = group.replicas;
        told_.facts.master = redis::display(group.master);
        if (met && redis::can_write(told_.facts))
            co_return true;
        if (met)
            blame(no_master(told_.facts));
        std::string const who =
            named ? "master " + told_.facts.master : "Sentinel " + redis::display(sentinel);
        problem_.detail = who + ": " + problem_.detail;
        if (named)
            with_master = problem_;
        --shares;
    }
    if (with_master)
        problem_ = std::move(*with_master);
    co_return false;
}

/// Connects, then does the handshake. Each may take one of `shares` equal parts of the time that is left when it begins.
/// False: `problem_` says why, or the connector was cancelled.
coroutine<bool> connector::meet(redis::address const& server, std::size_t shares)
{
    bool const reached = co_await reach(server, shares);
    if (reached) // not "co_await ... && co_await ...": g++ 12 runs both operands
        co_return co_await introduce();
    co_return false;
}

/// Connects, and secures the connection if that is wanted.
coroutine<bool> connector::reach(redis::address const& server, std::size_t shares)
{
    error_code ec;
    missing_ = "no connection";
    heard_ = late_ = false;
    std::vector<endpoint> const addresses = co_await resolve(server, ec);
    if (!goes_on())
        co_return false;
    if (ec)
        co_return blame(ec, "cannot resolve the host name: ");
    ec = co_await connect_any(addresses, shares);
    if (!goes_on())
        co_return false;
    if (ec)
        co_return blame(ec, {});
    begin_phase(shares);
    if (peer_->tls) // no "||", see above
        co_return co_await secure(server.host);
    co_return true;
}

/// Numeric hosts never meet the resolver, whose one thread a hung name server can hold up for every node.
coroutine<std::vector<endpoint>> connector::resolve(redis::address const& server, error_code& ec)
{
    std::vector<endpoint> found;
    if (peer_->where.transport == redis::endpoint::kind::unix_socket) {
        found.emplace_back(asio::local::stream_protocol::endpoint(peer_->where.path));
        co_return found;
    }
    auto const address = asio::ip::make_address(server.host, ec);
    if (!ec) {
        found.emplace_back(asio::ip::tcp::endpoint(address, server.port));
        co_return found;
    }
    operation looked_up;
    resolver_->resolve(server.host, server.port, found, looked_up.handler(shared_from_this()));
    ec = co_await looked_up;
    if (!ec && found.empty())
        ec = asio::error::host_not_found;
    co_return found;
}

/// Each address gets an equal part of the share, so that a silent one leaves time for the others. The share itself is
/// one of `shares` equal parts of the time that is left.
coroutine<error_code> connector::connect_any(std::vector<endpoint> const& addresses, std::size_t shares)
{
    error_code ec;
    for (std::size_t i = 0; i != addresses.size(); ++i) {
        begin_phase(shares * (addresses.size() - i));
        ec = co_await connect_to(addresses[i]);
        if (!ec || !goes_on())
            break;
    }
    co_return ec;
}

coroutine<error_code> connector::connect_to(endpoint const& address)
{
    stream_ = machine_.make_stream(executor_);
    auto const attempt = stream_;
    operation connected;
    attempt->connect(address, peer_->keep_alive, connected.handler(shared_from_this()));
    co_return co_await connected;
}

} // namespace redlock::net

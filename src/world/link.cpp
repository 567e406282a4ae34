// SPDX-License-Identifier: BSL-1.0
#include "world/link.hpp"

#include "core/memory.hpp"
#include "net/coroutine.hpp"
#include "net/machine.hpp"
#include "world/timeline.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/errc.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <utility>

namespace redlock::world {

namespace asio = boost::asio;

namespace {

/// The time between two processes of one machine.
constexpr duration at_home = std::chrono::microseconds{20};
/// The longest time until the rest of a write is taken.
constexpr duration longest_stall = std::chrono::milliseconds{2};

/// Converts a generic endpoint.
template <class Endpoint>
Endpoint from_generic(net::endpoint const& generic)
{
    Endpoint made;
    std::memcpy(made.data(), generic.data(), std::min(made.capacity(), generic.size()));
    made.resize(generic.size());
    return made;
}

} // namespace

/// The arrival time. The order is kept, and bytes that a cut holds up are sent again when it is over, as TCP does.
duration link::arrival(duration& last, duration cut_until)
{
    if (local())
        return last = std::max(last, net_.time().now() + at_home);
    path const& p = net_.between(host_, node_);
    duration const trip = p.latency + net_.between_zero_and(p.jitter);
    last = std::max(last, std::max(net_.time().now(), cut_until) + trip);
    return last;
}

/// In a network with `pieces`, bytes that were written together may arrive separately.
void link::in_pieces(std::string bytes, void (link::*on)(std::string))
{
    if (bytes.size() < 2 || net_.dice()() % 100 >= net_.pieces)
        return (this->*on)(std::move(bytes));
    std::size_t const first = 1 + net_.dice()() % (bytes.size() - 1);
    (this->*on)(bytes.substr(0, first));
    (this->*on)(bytes.substr(first));
}

bool link::cut_off() const
{
    return !local() && !net_.at(node_).reachable;
}

void link::send(std::string bytes)
{
    if (net_.buried(host_) || bytes.empty())
        return;
    net_.touch(host_);
    in_pieces(std::move(bytes), &link::carry);
}

void link::carry(std::string bytes)
{
    auto const there = arrival(last_there_, net_.between(host_, node_).cut_there_until);
    net_.time().at(there, [this, self = shared_from_this(), bytes = std::move(bytes)] {
        if (!ended || still_arrives_)
            net_.run_server(node_, self, bytes);
    });
}

void link::send_back(std::string bytes)
{
    in_pieces(std::move(bytes), &link::carry_back);
}

void link::carry_back(std::string bytes)
{
    auto const back = arrival(last_back_, net_.between(host_, node_).cut_back_until);
    net_.time().at(back, [this, self = shared_from_this(), bytes = std::move(bytes)] {
        if (cut_off())
            lose();
        if (ended || lost())
            return;
        arrived += bytes;
        if (heard_)
            heard_();
    });
}

void link::close()
{
    heard_ = nullptr;
    auto const there = arrival(last_there_, net_.between(host_, node_).cut_there_until);
    net_.time().at(there, [this, self = shared_from_this()] { net_.hang_up(node_, self); });
}

void link::end(net::error_code ec)
{
    if (cut_off())
        lose();
    if (lost_ || ended)
        return;
    ended = ec;
    if (heard_)
        heard_();
}

void link::reset()
{
    end(asio::error::connection_reset);
}

void link::reset_client()
{
    still_arrives_ = true;
    reset();
}

void link::end_behind(net::error_code ec)
{
    auto const back = arrival(last_back_, net_.between(host_, node_).cut_back_until);
    net_.time().at(back, [this, self = shared_from_this(), ec] { end(ec); });
}

/// `run()` of an executor does not return before `busy` is released.
sim_stream::completion sim_stream::under_way(completion done) const
{
    return [done = std::move(done), busy = busy_.lock()](net::error_code ec, std::size_t bytes) {
        done(ec, bytes);
    };
}

void sim_stream::connect(net::endpoint const& address, bool, net::resumption done)
{
    if (net_.buried(host_))
        return;
    net_.touch(host_);
    if (address.protocol().family() == AF_UNIX)
        return connect_by_path(from_generic<asio::local::stream_protocol::endpoint>(address).path(),
                               std::move(done));
    connecting_ = under_way(std::move(done));
    auto const to = from_generic<asio::ip::tcp::endpoint>(address);
    connect_to(to.address().to_v4(), to.port());
}

/// The system knows at once.
void sim_stream::connect_by_path(std::string const& path, completion const& done)
{
    for (unsigned n = 0; n != net_.size(); ++n)
        if (path == network::path_of(n))
            return net_.at(n).up ? connected(n, {.local = true}, done)
                                 : complete(done, asio::error::connection_refused);
    complete(done, boost::system::errc::make_error_code(boost::system::errc::no_such_file_or_directory));
}

void sim_stream::connect_to(asio::ip::address_v4 address, std::uint16_t port)
{
    constexpr duration to_nobody = std::chrono::milliseconds{1};
    auto const node = net_.at_address(address);
    path const p = node ? net_.between(host_, *node) : path{.latency = to_nobody};
    duration const there = std::max(net_.time().now(), p.cut_there_until) + p.latency;
    net_.time().at(std::max(there, p.cut_back_until) + p.latency,
                   [this, self = std::static_pointer_cast<sim_stream>(shared_from_this()), address, port] {
                       if (auto const waiting = std::exchange(connecting_, nullptr))
                           arrived(address, port, waiting);
                   });
}

void sim_stream::arrived(asio::ip::address_v4 address, std::uint16_t port, completion const& done)
{
    auto const node = net_.at_address(address);
    bool const silent = node ? !net_.at(*node).reachable : address.to_uint() == network::nowhere;
    bool const secure = port == network::tls_port;
    if (silent)
        connecting_ = done;
    else if (!node || !net_.at(*node).up || (port != network::port && !secure))
        complete(done, asio::error::connection_refused);
    else
        connected(*node, {.secure = secure}, done);
}

void sim_stream::connected(unsigned node, entrance by, completion const& done)
{
    link_ = net_.join(host_, node, by);
    link_->open([weak = weak_from_this()] {
        if (auto const self = std::static_pointer_cast<sim_stream>(weak.lock()))
            self->heard();
    });
    complete(done, {});
}

void sim_stream::interrupt()
{
    if (auto done = std::exchange(connecting_, nullptr))
        complete(std::move(done), asio::error::operation_aborted);
    if (auto done = std::exchange(reading_, nullptr))
        complete(std::move(done), asio::error::operation_aborted);
    if (link_ && !std::exchange(closed_, true))
        link_->close();
}

void sim_stream::handshake(net::resumption done)
{
    complete(std::move(done), {});
}

void sim_stream::read(asio::mutable_buffer into, net::resumption done)
{
    read_some(into, std::move(done));
}

void sim_stream::write(asio::const_buffer bytes, net::resumption done)
{
    send(std::string(static_cast<char const*>(bytes.data()), bytes.size()), std::move(done));
}

void sim_stream::send(std::string bytes, completion done)
{
    if (closed_ || link_->broken())
        return complete(std::move(done), closed_ ? asio::error::bad_descriptor : link_->ended);
    std::size_t const first = taken_of(bytes.size());
    link_->send(bytes.substr(0, first));
    if (first == bytes.size())
        return complete(std::move(done), {}, first);
    net_.time().after(net_.between_zero_and(longest_stall),
                      [this, self = shared_from_this(), done = under_way(std::move(done)),
                       bytes = std::move(bytes), first] {
                          net::error_code const ec = closed_ ? asio::error::operation_aborted : link_->ended;
                          if (!closed_ && !link_->broken())
                              link_->send(bytes.substr(first));
                          complete(done, !closed_ && !link_->broken() ? net::error_code() : ec, bytes.size());
                      });
}

/// In a network with `pieces`, a write may be taken in part.
std::size_t sim_stream::taken_of(std::size_t size)
{
    bool const part = net_.dice()() % 100 < net_.pieces;
    return part ? net_.dice()() % (size + 1) : size;
}

void sim_stream::start_read(asio::mutable_buffer into)
{
    read_some(into, [this](net::error_code ec, std::size_t bytes) {
        if (listener_)
            listener_->on_read(ec, bytes);
    });
}

std::size_t sim_stream::write_now(std::string_view bytes)
{
    if (writing_ || !link_ || link_->broken())
        return 0;
    std::size_t const size = taken_of(bytes.size());
    return core::if_memory_allows([&] { link_->send(std::string(bytes.substr(0, size))); }) ? size : 0;
}

void sim_stream::flush(std::string& out)
{
    if (writing_ || !link_)
        return;
    std::size_t const size = taken_of(out.size());
    bool const failed = link_->broken();
    if (!failed)
        link_->send(out.substr(0, size));
    out.erase(0, failed ? 0 : size);
    if (out.empty())
        return;
    writing_ = true;
    net_.time().after(net_.between_zero_and(longest_stall),
                      [this, self = shared_from_this(), busy = busy_.lock(),
                       ec = failed ? link_->ended : net::error_code()] {
                          complete(
                              [this](net::error_code why, std::size_t) {
                                  writing_ = false;
                                  if (listener_)
                                      listener_->on_writable(why);
                              },
                              ec);
                      });
}

std::size_t sim_stream::peek(asio::mutable_buffer into)
{
    std::size_t const size = std::min(into.size(), link_ ? link_->arrived.size() : 0);
    if (size != 0)
        std::memcpy(into.data(), link_->arrived.data(), size);
    return size;
}

/// Unread bytes are read and dropped.
void sim_stream::close()
{
    if (link_ && !closed_ && !link_->arrived.empty())
        net_.touch(host_);
    drop();
}

void sim_stream::drop()
{
    listener_ = nullptr;
    interrupt();
}

void sim_stream::finish(std::string rest)
{
    listener_ = nullptr;
    if (link_ && !closed_ && !link_->broken())
        link_->send(std::move(rest));
    interrupt();
}

void sim_stream::read_some(asio::mutable_buffer into, completion done)
{
    if (closed_)
        return complete(std::move(done), asio::error::bad_descriptor);
    into_ = into;
    reading_ = under_way(std::move(done));
    heard();
}

void sim_stream::heard()
{
    if (!reading_ || !readable())
        return;
    std::string& arrived = link_->arrived;
    std::size_t size = std::min(arrived.size(), into_.size());
    if (size > 1 && net_.dice()() % 100 < net_.pieces)
        size = 1 + net_.dice()() % size;
    if (size != 0) {
        net_.touch(host_);
        std::memcpy(into_.data(), arrived.data(), size);
    }
    arrived.erase(0, size);
    complete(std::exchange(reading_, nullptr), size == 0 ? link_->ended : net::error_code(), size);
}

void sim_stream::complete(completion done, net::error_code ec, std::size_t bytes)
{
    asio::post(executor_,
               [self = shared_from_this(), done = std::move(done), ec, bytes] { done(ec, bytes); });
}

} // namespace redlock::world

#include "world/link.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace redlock::world {

namespace asio = boost::asio;

/// In order, and what a cut holds up is said again when it is over, as TCP does.
duration link::arrival(duration& last, duration cut_until)
{
    path const& p = net_.between(host_, node_);
    duration const trip = p.latency + net_.between_zero_and(p.jitter);
    last = std::max(last, std::max(net_.time().now(), cut_until) + trip);
    return last;
}

/// Where there are pieces, bytes that were written together may come apart.
void link::in_pieces(std::string bytes, void (link::*on)(std::string))
{
    if (bytes.size() < 2 || net_.dice()() % 100 >= net_.pieces)
        return (this->*on)(std::move(bytes));
    std::size_t const first = 1 + net_.dice()() % (bytes.size() - 1);
    (this->*on)(bytes.substr(0, first));
    (this->*on)(bytes.substr(first));
}

void link::send(std::string bytes)
{
    if (net_.buried(host_))
        return;
    in_pieces(std::move(bytes), &link::carry);
}

void link::carry(std::string bytes)
{
    auto const there = arrival(last_there_, net_.between(host_, node_).cut_there_until);
    net_.time().at(there, [this, self = shared_from_this(), bytes = std::move(bytes)] {
        if (!ended)
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
        if (!net_.at(node_).reachable)
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

void link::reset()
{
    if (!net_.at(node_).reachable)
        lose();
    if (lost_)
        return;
    if (std::exchange(ended, asio::error::connection_reset))
        return;
    if (heard_)
        heard_();
}

void link::reset_behind()
{
    auto const back = arrival(last_back_, net_.between(host_, node_).cut_back_until);
    net_.time().at(back, [this, self = shared_from_this()] { reset(); });
}

/// run() of an executor does not return before it has ended.
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
    asio::ip::tcp::endpoint to;
    std::memcpy(to.data(), address.data(), std::min(to.capacity(), address.size()));
    to.resize(address.size());
    unsigned const node = to.address().to_v4().to_uint() % 256 - 1;
    connecting_ = under_way(std::move(done));
    path const& p = net_.between(host_, node);
    duration const there = std::max(net_.time().now(), p.cut_there_until) + p.latency;
    net_.time().at(std::max(there, p.cut_back_until) + p.latency,
                   [this, self = std::static_pointer_cast<sim_stream>(shared_from_this()), node] {
                       if (auto const waiting = std::exchange(connecting_, nullptr))
                           connected(node, waiting);
                   });
}

void sim_stream::connected(unsigned node, completion const& done)
{
    if (node >= net_.size() || (!net_.at(node).up && net_.at(node).reachable))
        return complete(done, asio::error::connection_refused);
    if (!net_.at(node).reachable) { // nobody says anything
        connecting_ = done;
        return;
    }
    link_ = net_.join(host_, node);
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
    await(into, std::move(done));
}

void sim_stream::write(asio::const_buffer bytes, net::resumption done)
{
    if (closed_)
        return complete(std::move(done), asio::error::bad_descriptor);
    link_->send(std::string(static_cast<char const*>(bytes.data()), bytes.size()));
    complete(std::move(done), link_->ended, bytes.size());
}

void sim_stream::start_read(asio::mutable_buffer into)
{
    await(into, [this](net::error_code ec, std::size_t bytes) {
        if (listener_)
            listener_->on_read(ec, bytes);
    });
}

void sim_stream::flush(std::string& out)
{
    if (writing_ || !link_)
        return;
    bool const part = net_.dice()() % 100 < net_.pieces;
    std::size_t const size = part ? net_.dice()() % (out.size() + 1) : out.size();
    if (!link_->ended)
        link_->send(out.substr(0, size));
    bool const failed = link_->ended.failed();
    out.erase(0, failed ? 0 : size);
    if (out.empty())
        return;
    writing_ = true;
    net_.time().after(net_.between_zero_and(std::chrono::milliseconds{2}),
                      [this, self = shared_from_this(), busy = busy_.lock(), ec = link_->ended] {
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

void sim_stream::close()
{
    listener_ = nullptr;
    interrupt();
}

void sim_stream::finish(std::string rest)
{
    listener_ = nullptr;
    if (link_ && !closed_ && !link_->ended && !rest.empty())
        link_->send(std::move(rest));
    interrupt();
}

void sim_stream::await(asio::mutable_buffer into, completion done)
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
    if (size != 0)
        std::memcpy(into_.data(), arrived.data(), size);
    arrived.erase(0, size);
    complete(std::exchange(reading_, nullptr), size == 0 ? link_->ended : net::error_code(), size);
}

void sim_stream::complete(completion done, net::error_code ec, std::size_t bytes)
{
    asio::post(executor_,
               [self = shared_from_this(), done = std::move(done), ec, bytes] { done(ec, bytes); });
}

} // namespace redlock::world

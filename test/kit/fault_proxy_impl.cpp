// SPDX-License-Identifier: BSL-1.0
#include "kit/fault_proxy_impl.hpp"

#include <utility>

namespace redlock::test {

fault_proxy::impl::impl(std::uint16_t server_port, clock::duration patience)
    : news_(patience), reserved_(context_), acceptor_(context_), server_port_(server_port)
{
    // Bound but never listening: keeps the port ours while refuse() has nobody listen on it.
    reserved_.open(tcp::v4());
    reserved_.set_option(asio::socket_base::reuse_address(true));
    reserved_.bind({asio::ip::address_v4::loopback(), 0});
    here_ = reserved_.local_endpoint();
    listen();
    thread_ = std::thread([this] { context_.run(); });
}

fault_proxy::impl::~impl()
{
    context_.stop();
    thread_.join();
}

void fault_proxy::impl::set(direction way, mode how, clock::duration by)
{
    orders_[index(way)].how = how;
    orders_[index(way)].by = by;
    each([way](session& one) { one.towards(way).judge_again(); });
}

void fault_proxy::impl::listen()
{
    swallowing_ = false;
    if (acceptor_.is_open())
        return;
    acceptor_.open(tcp::v4());
    acceptor_.set_option(asio::socket_base::reuse_address(true));
    acceptor_.bind(here_);
    acceptor_.listen();
    accept_next();
}

void fault_proxy::impl::black_hole()
{
    listen();
    swallowing_ = true;
    each([](session& one) { one.swallow(); });
}

void fault_proxy::impl::accept_next()
{
    acceptor_.async_accept([this](error_code ec, tcp::socket accepted) {
        if (!acceptor_.is_open() || ec == asio::error::operation_aborted)
            return;
        if (!ec)
            begin(std::move(accepted));
        accept_next();
    });
}

void fault_proxy::impl::begin(tcp::socket accepted)
{
    auto const one = std::make_shared<session>(std::move(accepted), orders_, news_, sessions_);
    sessions_.insert(one);
    news_.write([](figures& now) { ++now.open, ++now.accepted; });
    if (swallowing_) {
        one->swallow();
    } else {
        one->start(server_port_);
    }
}

} // namespace redlock::test

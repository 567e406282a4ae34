// SPDX-License-Identifier: BSL-1.0
#include "kit/fault_proxy_session.hpp"

#include <utility>

namespace redlock::test::proxy {

session::session(tcp::socket accepted, std::array<orders, 2>& wanted, board& news, session_set& all)
    : client_(std::move(accepted)), server_(client_.get_executor()), news_(news), all_(all),
      up_(*this, direction::to_server, client_, server_, wanted[0], news),
      down_(*this, direction::to_client, server_, client_, wanted[1], news)
{
    client_.non_blocking(true);
    client_.set_option(tcp::no_delay(true));
}

void session::start(std::uint16_t server_port)
{
    server_.open(tcp::v4());
    server_.non_blocking(true);
    server_.set_option(tcp::no_delay(true));
    server_.async_connect({asio::ip::address_v4::loopback(), server_port},
                          [this, alive = shared_from_this()](error_code ec) {
                              if (ec == asio::error::operation_aborted || !client_.is_open())
                                  return;
                              if (ec)
                                  return reset();
                              up_.read();
                              down_.read();
                          });
}

void session::swallow()
{
    up_.swallow();
    down_.swallow();
    if (up_.source_ended())
        close();
}

void session::reset()
{
    error_code ignored;
    client_.set_option(asio::socket_base::linger(true, 0), ignored);
    server_.set_option(asio::socket_base::linger(true, 0), ignored);
    close();
}

void session::close()
{
    leave();
    up_.stop();
    down_.stop();
    error_code ignored;
    client_.close(ignored);
    server_.close(ignored);
}

/// Closing a socket with unread bytes sends RST, so both are ended first and read to the client's end.
void session::close_orderly()
{
    leave();
    error_code ignored;
    client_.shutdown(tcp::socket::shutdown_send, ignored);
    server_.shutdown(tcp::socket::shutdown_send, ignored);
    swallow();
}

void session::finished_one()
{
    if (up_.finished() && down_.finished())
        close();
}

void session::leave()
{
    if (all_.erase(shared_from_this()) == 0)
        return;
    news_.write([](figures& now) { --now.open; });
}

} // namespace redlock::test::proxy

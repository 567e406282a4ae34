// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

// The scraper's side of the metrics example: enough of it to check what is exposed.
namespace example {

/// Requests the page as Prometheus does every few seconds.
inline boost::asio::awaitable<std::string> scrape(std::uint16_t port)
{
    namespace http = boost::beast::http;
    boost::beast::tcp_stream stream(co_await boost::asio::this_coro::executor);
    boost::asio::ip::tcp::endpoint const here(boost::asio::ip::address_v4::loopback(), port);
    co_await stream.async_connect(here, boost::asio::use_awaitable);
    http::request<http::empty_body> request(http::verb::get, "/metrics", 11);
    request.set(http::field::host, "127.0.0.1");
    co_await http::async_write(stream, request, boost::asio::use_awaitable);
    boost::beast::flat_buffer buffer;
    http::response<http::string_body> response;
    co_await http::async_read(stream, buffer, response, boost::asio::use_awaitable);
    co_return response.body();
}

/// Returns the scraped value of one series; NaN if it is not there.
inline double value(std::string const& page, std::string const& series)
{
    auto const line = ("\n" + page).find("\n" + series + ' ');
    return line == std::string::npos ? std::numeric_limits<double>::quiet_NaN()
                                     : std::stod(page.substr(line + series.size() + 1));
}

template <class Condition>
boost::asio::awaitable<std::string> scrape_until(std::uint16_t port, Condition wanted)
{
    boost::asio::steady_timer pause(co_await boost::asio::this_coro::executor);
    std::string page;
    for (int tries = 0; tries != 1000; ++tries) {
        page = co_await scrape(port);
        if (wanted(page))
            break;
        pause.expires_after(std::chrono::milliseconds(20));
        co_await pause.async_wait(boost::asio::use_awaitable);
    }
    co_return page;
}

inline std::string of_node(std::string const& url, std::string const& more = {})
{
    return "{" + more + "node=\"" + url + "\"}";
}

} // namespace example

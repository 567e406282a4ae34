// SPDX-License-Identifier: BSL-1.0
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace asio = boost::asio;

asio::awaitable<void> wait(asio::steady_timer& timer)
{
    co_await timer.async_wait(asio::use_awaitable);
}

int main()
{
    asio::io_context context;
    asio::steady_timer timer{context, std::chrono::seconds{1}};
    asio::co_spawn(context, wait(timer), asio::detached);
    context.run();
}

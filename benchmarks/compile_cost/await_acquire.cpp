// SPDX-License-Identifier: BSL-1.0
#include <redlock/mutex.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace asio = boost::asio;

asio::awaitable<void> wait(redlock::mutex& lock)
{
    redlock::lease lease = co_await lock.acquire();
}

int main()
{
    asio::io_context context;
    redlock::config settings;
    settings.nodes = {"redis://127.0.0.1:6379"};
    redlock::client locks{context.get_executor(), settings};
    redlock::mutex lock{locks, "resource"};
    asio::co_spawn(context, wait(lock), asio::detached);
    context.run();
}

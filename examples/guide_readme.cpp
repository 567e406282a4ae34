// SPDX-License-Identifier: BSL-1.0
// The first program of README.md: work under a lock.
// Run: guide_readme [URL...]   without URLs it starts three Redis servers of its own
#include "run.hpp"

#include <boost/asio.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

asio::awaitable<int> charge(std::chrono::nanoseconds longest)
{
    asio::steady_timer work(co_await asio::this_coro::executor,
                            std::min<std::chrono::nanoseconds>(longest, 10ms));
    co_await work.async_wait(asio::use_awaitable); // if the lease is lost: throws operation_aborted
    co_return 42;
}

asio::awaitable<int> book(redlock::client& locks)
{
    redlock::mutex seat{locks, "seat:42"};
    auto body = [](redlock::lease& held) -> asio::awaitable<int> {
        co_return co_await charge(held.remaining()); // renewed meanwhile, and cancelled if the lock is lost
    };
    co_return co_await redlock::with_lock(seat, body); // waits for the lock, works, releases
}

asio::awaitable<void> show(redlock::client& locks, example::promises& promises)
{
    promises.keep(co_await book(locks) == 42, "work under a lock has a result");
}

} // namespace

int main(int argc, char** argv)
{
    return example::run(argc, argv, show);
}

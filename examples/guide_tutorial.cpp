// SPDX-License-Identifier: BSL-1.0
// The steps of the guide's tutorial after the first one, which is 01_hello: a lock that somebody else holds, work under
// a lock, and a lease that is lost because two of three servers die.
// Run: guide_tutorial. It starts three Redis servers of its own.
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

asio::awaitable<std::string> look(redlock::client& locks)
{
    redlock::mutex seat{locks, "seat:42"};
    error_code ec;
    redlock::lease lease = co_await seat.try_acquire(asio::redirect_error(asio::use_awaitable, ec));
    if (ec == redlock::errc::contended)
        co_return "somebody else is booking";
    if (ec)
        co_return seat.explain(ec).what(); // which lock, and what each server said
    co_await lease.release();
    co_return "it was free";
}

asio::awaitable<void> charge(std::chrono::milliseconds time)
{
    asio::steady_timer work(co_await asio::this_coro::executor, time);
    co_await work.async_wait(asio::use_awaitable); // when the lease is lost: throws operation_aborted
}

asio::awaitable<void> book(redlock::client& locks, std::chrono::milliseconds time)
{
    redlock::mutex seat{locks, "seat:42", {.ttl = 600ms}};
    auto body = [&](redlock::lease& held) -> asio::awaitable<void> {
        std::cout << "held, valid for " << held.remaining() / 1ms << " ms\n";
        co_await charge(time);
    };
    co_await redlock::with_lock(seat, body);
}

asio::awaitable<error_code> outcome(asio::awaitable<void> work)
{
    try {
        co_await std::move(work);
    } catch (boost::system::system_error const& e) {
        std::cout << e.what() << '\n';
        co_return e.code();
    }
    co_return error_code();
}

asio::awaitable<void> show(redlock::client& locks, example::nodes& servers, example::promises& promises)
{
    promises.keep(co_await look(locks) == "it was free", "a free lock");
    redlock::mutex seat{locks, "seat:42"};
    redlock::lease other = co_await seat.acquire();
    promises.keep(co_await look(locks) == "somebody else is booking", "a lock that is held");
    co_await other.release();

    auto ended = co_await outcome(book(locks, 1s));
    promises.keep(!ended, "work that takes longer than its ttl of 600 ms");

    asio::steady_timer later(co_await asio::this_coro::executor, 300ms);
    later.async_wait([&](error_code) {
        servers.own[1]->kill();
        servers.own[2]->kill();
    });
    ended = co_await outcome(book(locks, 1min));
    promises.keep(ended == redlock::errc::lease_lost, "two of three servers die, and the work is stopped");
    std::string const said = co_await look(locks);
    std::cout << said << '\n';
    promises.keep(said.find(": no quorum: ") != said.npos, "without a majority nobody gets the lock");
}

int main()
{
    example::nodes servers(3);
    example::promises promises;
    asio::io_context context;
    // The servers are new: nothing can have been lost by a restart.
    redlock::client locks{context.get_executor(),
                          {.nodes = servers.urls, .admission = {.assume_fresh = true}}};
    auto done = asio::co_spawn(context, show(locks, servers, promises), asio::use_future);
    context.run();
    done.get();
    return promises.exit_code();
}

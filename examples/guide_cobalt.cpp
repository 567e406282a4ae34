// SPDX-License-Identifier: BSL-1.0
// Boost.Cobalt, of Boost 1.84 and newer: its own coroutines, its own main.
// Run: guide_cobalt                  with three Redis servers of its own
//      guide_cobalt redis://a:6379…  with yours
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/steady_timer.hpp>
#include <boost/cobalt.hpp>

namespace asio = boost::asio;
namespace cobalt = boost::cobalt;
using boost::system::error_code;
using namespace std::chrono_literals;

cobalt::task<void> book(redlock::mutex seat, int& booked)
{
    redlock::lease lease = co_await seat.acquire(cobalt::use_op);
    ++booked;
    co_await lease.release(cobalt::use_op);
}

/// The operation that ends first cancels the other one.
cobalt::promise<bool> got_in_time(redlock::mutex lock, std::chrono::milliseconds time)
{
    asio::steady_timer timer(co_await cobalt::this_coro::executor, time);
    auto first = co_await cobalt::race(lock.acquire(cobalt::use_op), timer.async_wait(cobalt::use_op));
    co_return first.index() == 0;
}

cobalt::main co_main(int argc, char* argv[])
{
    example::nodes servers(argc, argv);
    example::promises promises;
    // The servers are new: nothing can have been lost by a restart. Leave this out with your own.
    redlock::client locks{co_await cobalt::this_coro::executor,
                          {.nodes = servers.urls, .admission = {.assume_fresh = true}}};
    redlock::mutex seat{locks, "seat:42"};
    int booked = 0;
    co_await cobalt::join(book(seat, booked), book(seat, booked));
    promises.keep(booked == 2, "Cobalt: two tasks, one after the other");

    redlock::lease lease = co_await seat.acquire(cobalt::use_op);
    promises.keep(!co_await got_in_time(seat, 20ms), "Cobalt: race cancels the one that waits");
    auto [ec, none] = co_await cobalt::as_tuple(seat.try_acquire(cobalt::use_op));
    promises.keep(ec == redlock::errc::contended, "Cobalt: as_tuple, errors as values");
    co_await lease.release(cobalt::use_op);
    co_await locks.shutdown(cobalt::use_op);
    co_return promises.exit_code();
}

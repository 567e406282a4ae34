// SPDX-License-Identifier: BSL-1.0
// A server with several threads. Two ways, both without a lock of the program's own:
//   one io_context and one redlock::client per thread (fastest: nothing is shared), or
//   one client on a strand of a thread pool, used from everywhere.
//
//   10_threads [redis-url...]     without URLs it starts three servers of its own

#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <future>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace asio = boost::asio;

constexpr unsigned threads = 2;
constexpr int orders_each = 50;

/// Everybody's, and changed by nobody but the holder of the lock. (Atomic because a lock across the network orders nothing
/// in memory.)
struct stock {
    std::atomic<int> left{static_cast<int>(threads) * orders_each};
    std::atomic<int> inside{0};
    std::atomic<bool> overlapped{false};
};

asio::awaitable<void> sell(redlock::client& locks, stock& shared)
{
    redlock::mutex counter(locks, "stock:4711");
    for (int i = 0; i != orders_each; ++i) {
        redlock::lease held = co_await counter.acquire(asio::use_awaitable);
        shared.overlapped = shared.overlapped || shared.inside.fetch_add(1) != 0;
        shared.left = shared.left - 1; // read, then written: two at once would sell an item twice
        shared.inside.fetch_sub(1);
        co_await held.release(asio::use_awaitable);
    }
}

redlock::config settings(std::vector<std::string> const& urls)
{
    return {
        .nodes = urls,
        .admission = {.assume_fresh = true}}; // the servers are new: nothing can have been lost by a restart
}

/// Each thread has its own loop, its own connections, its own queue of waiters.
void client_per_thread(std::vector<std::string> const& urls, stock& shared)
{
    std::vector<std::thread> workers;
    for (unsigned i = 0; i != threads; ++i)
        workers.emplace_back([&] {
            asio::io_context context(1); // run by one thread: Asio leaves out its own locking
            redlock::client locks(context.get_executor(), settings(urls));
            auto done = asio::co_spawn(context, sell(locks, shared), asio::use_future);
            context.run();
            done.get();
        });
    for (std::thread& worker : workers)
        worker.join();
}

/// The client's own work is serialized by its strand; the coroutines run on the whole pool.
void client_on_a_strand(std::vector<std::string> const& urls, stock& shared)
{
    asio::thread_pool pool(threads);
    redlock::client locks(asio::make_strand(pool.get_executor()), settings(urls));
    std::vector<std::future<void>> done;
    for (unsigned i = 0; i != threads; ++i)
        done.push_back(asio::co_spawn(pool, sell(locks, shared), asio::use_future));
    for (std::future<void>& one : done)
        one.get();
    locks.shutdown(asio::use_future).get();
    pool.join();
}

int main(int argc, char** argv)
{
    example::nodes const servers(argc, argv);
    example::promises promises;
    for (auto* const way : {&client_per_thread, &client_on_a_strand}) {
        stock shared;
        way(servers.urls, shared);
        promises.keep(shared.left == 0 && !shared.overlapped,
                      way == &client_per_thread ? "a client per thread: every item is sold once"
                                                : "a client on a strand: every item is sold once");
    }
    return promises.exit_code();
}

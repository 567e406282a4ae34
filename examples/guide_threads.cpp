// SPDX-License-Identifier: BSL-1.0
// A client whose executor is a strand over a pool: coroutines on four threads take one lock.
// Run: guide_threads                  with three Redis servers of its own
//      guide_threads redis://a:6379…  with yours
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

#include <atomic>
#include <future>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> count(redlock::client& locks, int& counter)
{
    redlock::mutex lock{locks, "counter"}; // used here, worked on in the client's strand, resumed here
    for (int i = 0; i != 25; ++i) {
        redlock::lease lease = co_await lock.acquire();
        ++counter; // by one thread at a time, since one holds the lock
        co_await lease.release();
    }
}

/// `valid()` may be asked by threads that run no event loop.
bool may_go_on(redlock::lease const& lease)
{
    return lease.valid();
}

/// Works under a lock that its caller has.
asio::awaitable<void> write_part(redlock::shared_lease held, std::atomic<int>& parts)
{
    if (held->valid())
        ++parts;
    co_await held.release(); // completes at once, but for the last one
}

int main(int argc, char** argv)
{
    example::nodes servers(argc, argv);
    example::promises promises;
    int counter = 0;

    asio::thread_pool pool(4);
    // The servers are new: nothing can have been lost by a restart. Leave this out with your own.
    redlock::client locks{asio::make_strand(pool),
                          {.nodes = servers.urls, .admission = {.assume_fresh = true}}};
    std::vector<std::future<void>> ends;
    for (int i = 0; i != 8; ++i)
        ends.push_back(asio::co_spawn(pool, count(locks, counter), asio::use_future));

    redlock::mutex other{locks, "other"};
    redlock::lease lease = other.acquire(asio::use_future).get(); // this thread may wait
    promises.keep(may_go_on(lease), "a lease is valid on a thread of its own");
    lease.release(asio::use_future).get();

    std::atomic<int> parts = 0;
    redlock::lease whole = other.acquire(asio::use_future).get();
    redlock::shared_lease held = std::move(whole).share(); // one lease in several hands
    for (int i = 0; i != 4; ++i)
        ends.push_back(asio::co_spawn(pool, write_part(held, parts), asio::use_future));
    held = {};

    for (std::future<void>& end : ends)
        end.get();
    promises.keep(parts == 4, "four parts were written under one lease");
    promises.keep(other.try_acquire(asio::use_future).get().valid(), "the last part has released it");
    promises.keep(counter == 200, "eight coroutines on four threads counted to 200");
    locks.shutdown(asio::use_future).get();
    pool.join();
    return promises.exit_code();
}

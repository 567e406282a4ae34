// SPDX-License-Identifier: BSL-1.0
// Work that must be limited in a fleet: the guide's page on semaphores.
// Run: guide_semaphores                  with three Redis servers of its own
//      guide_semaphores redis://a:6379…  with yours
#include "run.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

/// Data that all processes reach.
struct farm {
    unsigned busy = 0;
    unsigned most = 0;
    unsigned done = 0;
};

asio::awaitable<void> render(farm& shared, unsigned weight)
{
    shared.busy += weight;
    shared.most = std::max(shared.most, shared.busy);
    asio::steady_timer work(co_await asio::this_coro::executor, 5ms);
    co_await work.async_wait(asio::use_awaitable);
    shared.busy -= weight;
    ++shared.done;
}

asio::awaitable<void> render_one(redlock::client& locks, farm& shared)
{
    redlock::semaphore renderers{locks, "renderers", 3};
    redlock::lease lease = co_await renderers.acquire(); // at most three at once, in the whole fleet
    co_await render(shared, 1);
    co_await lease.release();
}

asio::awaitable<void> render_guarded(redlock::client& locks, farm& shared)
{
    redlock::semaphore renderers{locks, "renderers", 3};
    auto body = [&](redlock::lease&) -> asio::awaitable<void> { co_await render(shared, 1); };
    co_await redlock::with_lock(renderers, body); // cancelled when the lease is lost
}

asio::awaitable<void> render_film(redlock::client& locks, farm& shared)
{
    redlock::semaphore renderers{locks, "renderers", 3};
    redlock::lease lease = co_await renderers.acquire(2); // counts for two: both permits, or none
    co_await render(shared, 2);
    co_await lease.release();

    auto body = [&](redlock::lease&) -> asio::awaitable<void> { co_await render(shared, 2); };
    co_await redlock::with_lock(renderers.taking(2), body);
}

asio::awaitable<bool> render_unless_busy(redlock::client& locks, farm& shared)
{
    redlock::semaphore renderers{locks, "renderers", 3};
    auto [ec, lease] = co_await renderers.try_acquire(asio::as_tuple(asio::use_awaitable));
    if (ec == redlock::errc::contended)
        co_return false; // all three are busy, or were a moment ago
    if (ec)
        throw redlock::lock_error(renderers.explain(ec));
    co_await render(shared, 1);
    co_await lease.release();
    co_return true;
}

/// One of several stations that each serve one client at a time. It remembers the largest token that it has seen.
struct station {
    std::uint64_t seen = 0;
    bool use(std::uint64_t token)
    {
        if (token < seen)
            return false; // late: another one has had it since
        seen = token;
        return true;
    }
};
using stations = std::array<station, 3>;

asio::awaitable<bool> use_station(redlock::client& locks, stations& all)
{
    redlock::fenced_semaphore free_stations{locks, "stations", 3};
    redlock::lease lease = co_await free_stations.acquire();
    bool const used = all[lease.permits().front()].use(lease.fencing_token()); // nobody else has that one
    co_await lease.release();
    co_return used;
}

asio::awaitable<void> show(redlock::client& locks, example::promises& promises)
{
    farm shared;
    co_await (render_one(locks, shared) && render_one(locks, shared) && render_guarded(locks, shared) &&
              render_film(locks, shared) && render_one(locks, shared) && render_guarded(locks, shared));
    promises.keep(shared.done == 7, "all was rendered");
    promises.keep(shared.most <= 3, "never more than three at once: " + std::to_string(shared.most));
    promises.keep(co_await render_unless_busy(locks, shared), "whoever does not wait gets what is free");

    redlock::semaphore renderers{locks, "renderers", 3};
    redlock::lease all = co_await renderers.acquire(3);
    promises.keep(!co_await render_unless_busy(locks, shared), "and nothing while all is taken");
    co_await all.release();

    stations each;
    bool used = true;
    for (int i = 0; i != 5; ++i)
        used = co_await use_station(locks, each) && used;
    promises.keep(used, "tokens of a station rise");
}

int main(int argc, char** argv)
{
    return example::run(argc, argv, show);
}

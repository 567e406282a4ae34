// SPDX-License-Identifier: BSL-1.0
// This library. With --variant polling it uses the same connections, but asks again after a random pause, as other
// libraries do. With --variant mutex it uses a plain lock for workloads of another kind.
#include "../driver.hpp"

#include <redlock/redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <random>

namespace {

namespace asio = boost::asio;
using namespace comparison;

struct workshop {
    task const& what;
    asio::io_context context{1};
    redlock::client locks;
    record* seen = nullptr;
    unsigned out = 0; ///< workers of a convoy that have not had their turn
    std::minstd_rand dice{static_cast<unsigned>(now_ns())};

    workshop(task const& wanted, redlock::config settings)
        : what{wanted}, locks{context.get_executor(), std::move(settings)}
    {}
};

redlock::config settings_for(task const& what)
{
    redlock::config out;
    for (auto const& each : what.nodes)
        out.nodes.push_back("redis://" + each.host + ':' + std::to_string(each.port));
    out.admission.assume_fresh = true; // the servers have just been started, with nothing on them
    return out;
}

asio::awaitable<void> pause(workshop& shop, std::chrono::microseconds time)
{
    asio::steady_timer timer{shop.context, time};
    co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<redlock::lease> poll(workshop& shop, redlock::mutex& lock)
{
    for (;;) {
        boost::system::error_code error;
        redlock::lease held = co_await lock.try_acquire(asio::redirect_error(asio::use_awaitable, error));
        if (!error)
            co_return held;
        if (error != redlock::errc::contended)
            shop.seen->failure(error.message());
        std::uniform_int_distribution<std::int64_t> time{shop.what.pause_low_us, shop.what.pause_high_us};
        co_await pause(shop, std::chrono::microseconds{time(shop.dice)});
    }
}

template <class Held>
using taking = std::function<asio::awaitable<Held>()>;
using acquiring = taking<redlock::lease>;

acquiring by_mutex(workshop& shop, std::string const& key)
{
    redlock::mutex lock{shop.locks, key};
    if (shop.what.variant == "polling")
        return [&shop, lock]() mutable { return poll(shop, lock); };
    return [lock]() mutable { return lock.acquire(asio::use_awaitable); };
}

/// How a worker gets its leases.
acquiring acquiring_for(workshop& shop, unsigned number)
{
    std::string const key = shop.what.key(number);
    if (shop.what.variant == "mutex")
        return by_mutex(shop, key);
    if (shop.what.workload == "permits")
        return [lock = redlock::semaphore{shop.locks, key, shop.what.permits}]() mutable {
            return lock.acquire(asio::use_awaitable);
        };
    if (shop.what.workload == "several")
        return [lock = redlock::multi_mutex{shop.locks, shop.what.names(number)}]() mutable {
            return lock.acquire(asio::use_awaitable);
        };
    if (shop.what.workload != "readers")
        return by_mutex(shop, key);
    redlock::shared_mutex lock{shop.locks, key};
    if (task::writes(number))
        return [lock]() mutable { return lock.acquire(asio::use_awaitable); };
    return [lock]() mutable { return lock.acquire_shared(asio::use_awaitable); };
}

/// How a candidate gets its terms.
taking<redlock::leadership> campaigning(workshop& shop)
{
    return [seat = redlock::election{shop.locks, shop.what.key(0)}] {
        return seat.campaign("127.0.0.1:8000", asio::use_awaitable);
    };
}

auto give_back(redlock::lease& held)
{
    return held.release(asio::use_awaitable);
}

auto give_back(redlock::leadership& held)
{
    return held.resign(asio::use_awaitable);
}

template <class Held>
asio::awaitable<void> cycle(workshop& shop, taking<Held>& take, sample& one)
{
    one.asked = now_ns();
    Held held = co_await take();
    one.granted = now_ns();
    if (shop.what.hold_us > 0)
        co_await pause(shop, std::chrono::microseconds{shop.what.hold_us});
    one.releasing = now_ns();
    co_await give_back(held);
    one.released = now_ns();
}

void start_all(workshop& shop);

template <class Held>
asio::awaitable<void> work(workshop& shop, unsigned number, taking<Held> take)
{
    sample one{.worker = number, .asked = 0, .granted = 0, .releasing = 0, .released = 0};
    do {
        try {
            co_await cycle(shop, take, one);
            shop.seen->cycle(one);
        } catch (boost::system::system_error const& error) {
            shop.seen->failure(error.code().message());
        }
    } while (!shop.what.convoy && !shop.seen->over());
    if (--shop.out == 0 && shop.what.convoy)
        start_all(shop);
}

void start_all(workshop& shop)
{
    shop.out = shop.what.workers;
    for (unsigned number = 0; number != shop.what.workers; ++number)
        if (shop.what.workload == "elections")
            asio::co_spawn(shop.context, work(shop, number, campaigning(shop)), asio::detached);
        else
            asio::co_spawn(shop.context, work(shop, number, acquiring_for(shop, number)), asio::detached);
}

asio::awaitable<void> conduct(workshop& shop)
{
    redlock::mutex warm{shop.locks, "warm:" + shop.what.run + std::to_string(now_ns())};
    redlock::lease held = co_await warm.acquire(asio::use_awaitable);
    co_await held.release(asio::use_awaitable);
    window const when = wait_for_start();
    record seen{shop.what, when};
    shop.seen = &seen;
    start_all(shop);
    asio::steady_timer timer{shop.context};
    timer.expires_after(std::chrono::nanoseconds{when.ends - now_ns()});
    co_await timer.async_wait(asio::use_awaitable);
    seen.finish();
}

} // namespace

int main(int argc, char** argv)
{
    try {
        task const what = parse(argc, argv);
        workshop shop{what, settings_for(what)};
        asio::co_spawn(shop.context, conduct(shop), [](std::exception_ptr const& error) {
            if (error)
                std::rethrow_exception(error);
        });
        shop.context.run();
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}

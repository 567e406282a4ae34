// SPDX-License-Identifier: BSL-1.0
// The completion tokens and executors of Asio that need nothing but Boost 1.81: the guide's page on them.
// guide_spawn.cpp, guide_cancel_after.cpp and guide_cobalt.cpp need more.
// Run: guide_asio                  with three Redis servers of its own
//      guide_asio redis://a:6379…  with yours
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/co_spawn.hpp>
#include <boost/asio/experimental/coro.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/experimental/promise.hpp>

#include <concepts>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <variant>

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

/// Takes either of two locks: the first one that is free.
asio::awaitable<redlock::lease> either(redlock::mutex one, redlock::mutex other)
{
    using namespace asio::experimental::awaitable_operators;
    auto first = co_await (one.acquire(asio::use_awaitable) || other.acquire(asio::use_awaitable));
    if (first.index() == 0)
        co_return std::get<0>(std::move(first));
    co_return std::get<1>(std::move(first));
}

/// The same without coroutines.
void either(redlock::mutex one, redlock::mutex other, std::function<void(redlock::lease)> done)
{
    auto group = asio::experimental::make_parallel_group(one.acquire(asio::deferred), //
                                                         other.acquire(asio::deferred));
    group.async_wait(asio::experimental::wait_for_one_success(),
                     [done = std::move(done)](auto order, error_code, redlock::lease first, error_code,
                                              redlock::lease second) {
                         done(order[0] == 0 ? std::move(first) : std::move(second));
                     });
}

/// Whichever fails first cancels the other.
asio::awaitable<redlock::lease> meanwhile(redlock::mutex lock, asio::awaitable<void> preparation)
{
    using namespace asio::experimental::awaitable_operators;
    co_return co_await (std::move(preparation) && lock.acquire(asio::use_awaitable));
}

/// A resumable coroutine on the lock's executor: each `co_yield` is a lease, held until the caller asks for the next.
asio::experimental::coro<error_code> turns(redlock::mutex lock, int count)
{
    for (int i = 0; i != count; ++i) {
        redlock::lease lease = co_await lock.acquire(asio::deferred);
        co_yield error_code();
        co_await lease.release(asio::deferred);
    }
}

/// A Lockable: std::unique_lock, std::scoped_lock and std::lock take it. One for each thread, as it is the holder.
class blocking_mutex {
public:
    explicit blocking_mutex(redlock::mutex lock) : lock_(std::move(lock)) {}

    void lock() { lease_ = lock_.acquire(redlock::with_diagnostics(asio::use_future)).get(); }
    bool try_lock()
    {
        auto result = asio::use_future([](error_code, redlock::lease won) { return won; });
        lease_ = lock_.try_acquire(result).get();
        return lease_.valid();
    }
    void unlock() // throws nothing: if no majority confirms, the key expires
    {
        lease_.release(asio::use_future([](error_code const&) {})).get();
    }
    redlock::lease const& lease() const { return lease_; }

private:
    redlock::mutex lock_;
    redlock::lease lease_;
};

/// Runs `job(stop_token)` on a thread of its own, which is asked to stop when the lock is lost.
void run_locked(redlock::mutex lock, std::invocable<std::stop_token> auto job)
{
    redlock::lease held = lock.acquire(redlock::with_diagnostics(asio::use_future)).get();
    std::jthread worker(std::move(job));
    held.ended([stop = worker.get_stop_source()](auto const&...) mutable { stop.request_stop(); });
    worker.join();
    held.release(redlock::with_diagnostics(asio::use_future)).get(); // lease_lost, if it was
}

/// Waits for a lock until the calling thread is asked to stop. Runs on the client's executor, where signals belong.
asio::awaitable<redlock::lease> until_stopped(redlock::mutex lock, std::stop_token stop)
{
    auto const here = co_await asio::this_coro::executor;
    auto const cancel = std::make_shared<asio::cancellation_signal>();
    std::stop_callback const on_stop(stop, [here, cancel] {
        asio::post(here, [cancel] { cancel->emit(asio::cancellation_type::terminal); });
    });
    co_return co_await lock.acquire(asio::bind_cancellation_slot(cancel->slot(), asio::use_awaitable));
}

asio::awaitable<void> show_coroutines(redlock::client& locks, example::promises& promises)
{
    redlock::mutex door{locks, "door"};
    redlock::mutex gate{locks, "gate"};
    redlock::lease taken = co_await door.acquire();
    redlock::lease held = co_await either(door, gate);
    promises.keep(held.valid() && held.resource() == "gate", "operator||: the lock that is free");
    co_await held.release();

    asio::steady_timer got(co_await asio::this_coro::executor, 1h);
    either(door, gate, [&](redlock::lease first) {
        held = std::move(first);
        got.cancel();
    });
    co_await got.async_wait(asio::as_tuple(asio::use_awaitable));
    promises.keep(held.valid() && held.resource() == "gate", "parallel_group: the same for callbacks");
    co_await held.release();

    held = co_await meanwhile(gate, taken.release(asio::use_awaitable));
    promises.keep(held.valid(), "operator&&: acquired while something else was awaited");
    co_await held.release();
}

asio::awaitable<void> show_turns(redlock::client& locks, example::promises& promises)
{
    redlock::mutex door{locks, "door"};
    auto each = turns(door, 2);
    int held = 0;
    while (auto turn = co_await each.async_resume(asio::use_awaitable)) {
        redlock::lease none;
        error_code ec;
        none = co_await door.try_acquire(asio::redirect_error(asio::use_awaitable, ec));
        held += ec == redlock::errc::contended ? 1 : 0;
    }
    promises.keep(held == 2, "coro: a lease for each turn");
}

void show_threads(redlock::client& locks, example::promises& promises)
{
    redlock::mutex const door{locks, "door"};
    blocking_mutex mine{door};
    blocking_mutex yours{door};
    {
        std::scoped_lock const lock(mine);
        promises.keep(mine.lease().valid() && !yours.try_lock(), "scoped_lock: one thread at a time");

        std::promise<error_code> given_up;
        std::jthread waits([&, door](std::stop_token stop) {
            try {
                asio::co_spawn(locks.get_executor(), until_stopped(door, stop), asio::use_future).get();
            } catch (boost::system::system_error const& e) {
                given_up.set_value(e.code());
            }
        });
        waits.request_stop();
        promises.keep(given_up.get_future().get() == asio::error::operation_aborted,
                      "jthread: a wait that can be stopped");
    }
    bool ran = false;
    run_locked(door, [&](std::stop_token stop) { ran = !stop.stop_requested(); });
    promises.keep(ran && yours.try_lock(), "jthread: a job under a lock");
    yours.unlock();
    try {
        redlock::mutex const brief{locks, "door", {.max_hold = 50ms}};
        run_locked(brief, [](std::stop_token stop) {
            std::mutex own;
            std::unique_lock lock(own);
            std::condition_variable_any().wait(lock, stop, [] { return false; });
        });
        promises.keep(false, "jthread: a job whose lock is lost is stopped");
    } catch (redlock::lock_error const& e) {
        promises.keep(e.code() == redlock::errc::lease_lost, "jthread: a job whose lock is lost is stopped");
    }
}

int main(int argc, char** argv)
{
    example::nodes servers(argc, argv);
    example::promises promises;
    asio::io_context context;
    // The servers are new: nothing can have been lost by a restart. Leave this out with your own.
    redlock::client locks{context, {.nodes = servers.urls, .admission = {.assume_fresh = true}}};
    auto busy = asio::make_work_guard(context);
    std::jthread loop([&] { context.run(); });

    asio::co_spawn(context, show_coroutines(locks, promises), asio::use_future).get();
    asio::co_spawn(context, show_turns(locks, promises), asio::use_future).get();
    show_threads(locks, promises);
    locks.shutdown(asio::use_future).get();
    busy.reset();
    return promises.exit_code();
}

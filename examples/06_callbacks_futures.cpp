// SPDX-License-Identifier: BSL-1.0
// The same operations with other completion tokens than a coroutine's: callbacks, futures, deferred
// operations, tuples, cancellation slots, and a completion on an executor of the caller's choice. The token
// is always the last argument.
// Run: 06_callbacks_futures                  with three Redis servers of its own
//      06_callbacks_futures redis://a:6379…  with yours
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

redlock::config settings(std::vector<std::string> urls)
{
    // The servers are new: nothing can have been lost by a restart. Leave this out with your own.
    return {.nodes = std::move(urls), .admission = {.assume_fresh = true}};
}

/// A callback gets the error first, then the lease, which it passes on to the next step.
void with_callbacks(std::vector<std::string> const& urls, example::promises& promises)
{
    asio::io_context context;
    redlock::client locks{context.get_executor(), settings(urls)};
    redlock::mutex door{locks, "door"};
    bool was_released = false;

    door.acquire([&](error_code ec, redlock::lease lease) {
        promises.keep(!ec && lease.valid(), "a callback gets the lease");
        auto held = std::make_shared<redlock::lease>(std::move(lease));
        held->ended([held](error_code, redlock::lease_end end) { std::cout << "  " << end << '\n'; });
        held->release([&, held](error_code failure) { was_released = !failure; });
    });
    context.run();
    promises.keep(was_released, "and releases it");
}

/// A future blocks its thread, so another one runs the context.
void with_futures(std::vector<std::string> const& urls, example::promises& promises)
{
    asio::io_context context;
    redlock::client locks{context.get_executor(), settings(urls)};
    redlock::mutex door{locks, "door"};
    auto busy = asio::make_work_guard(context);
    std::thread loop([&] { context.run(); });

    redlock::lease lease = door.acquire(asio::use_future).get();
    promises.keep(lease.valid(), "a future gives the lease to another thread, where valid() is exact, too");
    try {
        door.try_acquire(asio::use_future).get();
        promises.keep(false, "a second one is refused");
    } catch (boost::system::system_error const& e) { // says no more than "contended"
        redlock::lock_error const story = door.explain(e.code());
        std::cout << "  " << story.what() << '\n';
        promises.keep(story.code() == redlock::errc::contended && story.resource() == "door",
                      "a second one is refused, and explain() tells the whole story");
    }
    lease.release(asio::use_future).get();

    busy.reset();
    loop.join();
}

/// A deferred operation is a value: it is made now, and starts when it is awaited, or joined to other operations
/// before.
asio::awaitable<void> with_deferred(redlock::client& locks, example::promises& promises)
{
    redlock::mutex door{locks, "door"};
    auto later = door.try_acquire(asio::deferred);
    promises.keep(door.last_attempt().empty(), "a deferred operation has not begun");
    redlock::lease lease = co_await std::move(later);
    promises.keep(lease.valid(), "and does when it is awaited");

    auto answer = co_await door.try_acquire(asio::as_tuple(asio::use_awaitable));
    promises.keep(std::get<error_code>(answer) == redlock::errc::contended, "as_tuple: errors as values");
    error_code ec;
    redlock::lease none = co_await door.acquire_for(20ms, asio::redirect_error(asio::use_awaitable, ec));
    promises.keep(none.empty() && ec == redlock::errc::timed_out, "redirect_error: the same with a variable");
    std::cout << "  " << door.explain(ec).what() << '\n';

    asio::cancellation_signal stop;
    error_code stopped;
    door.acquire(
        asio::bind_cancellation_slot(stop.slot(), [&](error_code e, redlock::lease) { stopped = e; }));
    stop.emit(asio::cancellation_type::terminal);
    co_await lease.release();
    promises.keep(stopped == asio::error::operation_aborted,
                  "a slot cancels one waiter, and leaves it with nothing");
}

/// The completion runs on its handler's executor, whichever thread serves the sockets.
void on_another_executor(std::vector<std::string> const& urls, example::promises& promises)
{
    asio::thread_pool workers(1);
    asio::io_context context;
    redlock::client locks{context.get_executor(), settings(urls)};
    redlock::mutex door{locks, "door"};
    bool elsewhere = false;
    auto const here = std::this_thread::get_id();
    door.try_acquire(asio::bind_executor(workers, [&](error_code, redlock::lease lease) {
        elsewhere = lease.valid() && std::this_thread::get_id() != here;
    })); // ~lease frees it
    context.run();
    workers.join();
    promises.keep(elsewhere, "bind_executor: completed on a worker's thread");
}

int main(int argc, char** argv)
{
    example::nodes nodes(argc, argv);
    example::promises promises;
    with_callbacks(nodes.urls, promises);
    with_futures(nodes.urls, promises);
    {
        asio::io_context context;
        redlock::client locks{context.get_executor(), settings(nodes.urls)};
        auto done = asio::co_spawn(context, with_deferred(locks, promises), asio::use_future);
        context.run();
        done.get();
    }
    on_another_executor(nodes.urls, promises);
    return promises.exit_code();
}

// SPDX-License-Identifier: BSL-1.0
// A long job under a lock: `with_lock` acquires, renews while the job runs, cancels it the moment the lease
// can no longer be trusted, awaits its unwinding, and releases. Three ends: the job finishes; its caller
// cancels it; the lease is lost because two of three servers die.
// Run: 03_long_job                  with three Redis servers of its own
//      03_long_job redis://a:6379…  with yours; the third end is left out, since it kills servers
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// Work of many small steps. `progress` outlives the job: what was done before an abrupt end is known.
asio::awaitable<void> reindex(redlock::lease& held, int steps, int& progress)
{
    asio::steady_timer work(co_await asio::this_coro::executor);
    try {
        for (progress = 0; progress != steps; ++progress) {
            work.expires_after(20ms);
            co_await work.async_wait(asio::use_awaitable); // a cancellation arrives here, as an exception
        }
    } catch (boost::system::system_error const& end) {
        std::cout << "  the job stops after " << progress << " of " << steps
                  << " steps: " << end.code().message() << "; lease " << to_string(held.state()) << '\n';
        throw;
    }
}

/// Completes with the error of an operation that was told to stop, and with success if it ended by itself.
auto outcome_into(boost::system::error_code& result)
{
    return [&result](std::exception_ptr failure) {
        try {
            if (failure)
                std::rethrow_exception(failure);
        } catch (boost::system::system_error const& e) {
            result = e.code();
        }
    };
}

/// One run of the job on a context of its own. `disturb` is called when the job has made five steps.
template <class Disturb>
boost::system::error_code run_job(std::vector<std::string> const& urls, int steps, int& progress,
                                  Disturb disturb)
{
    progress = 0;
    asio::io_context context;
    // The servers are new: nothing can have been lost by a restart. Leave this out with your own.
    redlock::client locks{context.get_executor(), {.nodes = urls, .admission = {.assume_fresh = true}}};
    redlock::mutex index{locks, "index:products", {.ttl = 600ms}};

    asio::cancellation_signal stop;
    boost::system::error_code result;
    // The body has a name and outlives the call, and captures by reference.
    auto body = [&](redlock::lease& held) { return reindex(held, steps, progress); };
    auto job = [&]() -> asio::awaitable<void> { co_await redlock::with_lock(index, body); };
    asio::co_spawn(context, job(), asio::bind_cancellation_slot(stop.slot(), outcome_into(result)));

    auto watch = [&]() -> asio::awaitable<void> {
        asio::steady_timer tick(co_await asio::this_coro::executor);
        while (progress < 5 && !result) {
            tick.expires_after(5ms);
            co_await tick.async_wait(asio::use_awaitable);
        }
        disturb(stop);
    };
    asio::co_spawn(context, watch(), asio::detached);
    context.run(); // returns when job and lease have ended
    return result;
}

/// Whether anybody holds the lock, asked by trying to take it.
bool is_free(std::vector<std::string> const& urls)
{
    asio::io_context context;
    redlock::client locks{context.get_executor(), {.nodes = urls, .admission = {.assume_fresh = true}}};
    redlock::mutex index{locks, "index:products"};
    bool free = false;
    index.try_acquire([&](boost::system::error_code ec, redlock::lease) { free = !ec; }); // freed by ~lease
    context.run();
    return free;
}

int main(int argc, char** argv)
{
    example::nodes nodes(argc, argv);
    example::promises promises;
    int progress = 0;

    std::cout << "The job takes longer than its lease's 600 ms, which renews itself:\n";
    auto ended = run_job(nodes.urls, 50, progress, [](auto&) {});
    promises.keep(!ended && progress == 50, "the job ran to its end");
    promises.keep(is_free(nodes.urls), "the lock is free at once");

    std::cout << "The caller cancels:\n";
    ended =
        run_job(nodes.urls, 500, progress, [](auto& stop) { stop.emit(asio::cancellation_type::terminal); });
    promises.keep(ended == asio::error::operation_aborted, "with_lock says: " + ended.message());
    promises.keep(is_free(nodes.urls), "the lock is free at once");

    if (nodes.own.empty())
        return promises.exit_code();
    std::cout << "Two of three servers die:\n";
    ended = run_job(nodes.urls, 500, progress, [&](auto&) {
        nodes.own[1]->kill();
        nodes.own[2]->kill();
    });
    promises.keep(ended == redlock::errc::lease_lost, "with_lock says: " + ended.message());
    promises.keep(progress < 500, "the job was stopped, nothing of it runs on");
    return promises.exit_code();
}

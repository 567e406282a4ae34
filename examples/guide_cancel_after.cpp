// SPDX-License-Identifier: BSL-1.0
// Time limits from Asio itself: asio::cancel_after and cancel_at, of Boost 1.86 and newer.
// Run: guide_cancel_after                  with three Redis servers of its own
//      guide_cancel_after redis://a:6379…  with yours
#include "run.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>
#include <boost/asio/cancel_after.hpp>

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

asio::awaitable<error_code> at_most(redlock::mutex lock, std::chrono::milliseconds time)
{
    error_code ec;
    auto token = asio::redirect_error(asio::use_awaitable, ec);
    redlock::lease lease = co_await lock.acquire(asio::cancel_after(time, token));
    co_return ec; // operation_aborted, where acquire_for says timed_out
}

/// Limits all of it: the wait, the work, which is cancelled, and the release.
asio::awaitable<void> run_within(redlock::mutex lock, std::chrono::milliseconds time)
{
    auto work = [](redlock::lease&) -> asio::awaitable<void> {
        asio::steady_timer job(co_await asio::this_coro::executor, 1h);
        co_await job.async_wait(asio::use_awaitable);
    };
    co_await redlock::with_lock(lock, work, asio::cancel_after(time, asio::use_awaitable));
}

asio::awaitable<void> show(redlock::client& locks, example::promises& promises)
{
    redlock::mutex door{locks, "door"};
    redlock::lease held = co_await door.acquire(asio::cancel_after(1h));
    promises.keep(held.valid(), "cancel_after: in time");
    promises.keep(co_await at_most(door, 20ms) == asio::error::operation_aborted,
                  "cancel_after: a time to wait");
    co_await held.release(asio::cancel_after(1h));

    error_code ec;
    try {
        co_await run_within(door, 20ms);
    } catch (boost::system::system_error const& e) {
        ec = e.code();
    }
    promises.keep(ec == asio::error::operation_aborted, "cancel_after: a time for the whole job");
    held = co_await door.acquire();
    promises.keep(held.valid(), "cancel_after: which has released the lock");
    co_await held.release();
}

int main(int argc, char** argv)
{
    return example::run(argc, argv, show);
}

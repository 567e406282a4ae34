// SPDX-License-Identifier: BSL-1.0
// How long to wait for a lock, with which limit, and in which order: the guide's page on waiting.
// Run: guide_waiting                  with three Redis servers of its own
//      guide_waiting redis://a:6379…  with yours
#include "run.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include <functional>
#include <string>
#include <utility>

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

asio::awaitable<error_code> at_most(redlock::mutex lock, std::chrono::milliseconds time)
{
    error_code ec;
    redlock::lease lease = co_await lock.acquire_for(time, asio::redirect_error(asio::use_awaitable, ec));
    co_return ec; // timed_out: another client had the lock all the time, or no quorum answered
}

asio::awaitable<error_code> until(redlock::mutex lock, std::chrono::steady_clock::time_point deadline)
{
    error_code ec;
    auto token = asio::redirect_error(asio::use_awaitable, ec);
    redlock::lease lease = co_await lock.acquire_until(deadline, token); // any clock
    co_return ec;
}

asio::awaitable<bool> held_or_waited_for(redlock::mutex lock, bool patient)
{
    redlock::lease lease;
    if (patient)
        lease = co_await lock.acquire();
    else
        lease = co_await lock.try_acquire();
    co_return lease.valid();
}

asio::awaitable<error_code> unless_stopped(redlock::mutex lock, asio::cancellation_signal& stop)
{
    error_code ec;
    auto token = asio::redirect_error(asio::use_awaitable, ec);
    redlock::lease lease = co_await lock.acquire(asio::bind_cancellation_slot(stop.slot(), token));
    co_return ec; // operation_aborted: stopped, and nothing is owned
}

using work = std::function<asio::awaitable<void>()>;

/// Only the wait is limited; the work is cancelled when the lease is lost.
asio::awaitable<bool> done_in_time(redlock::mutex lock, std::chrono::milliseconds time, work do_it)
{
    using namespace asio::experimental::awaitable_operators;
    redlock::lease lease = co_await lock.acquire_for(time);
    auto first = co_await (do_it() || lease.ended());
    co_return first.index() == 0; // the work has been unwound by now
}

asio::awaitable<void> run_in_time(redlock::mutex lock, std::chrono::milliseconds time, work do_it)
{
    auto body = [&](redlock::lease&) { return do_it(); };
    co_await redlock::with_lock_for(lock, time, body); // a lock_error with timed_out, or as with_lock
}

redlock::lock_options gives_up_soon_without_servers()
{
    return {.retry = {.outage_patience = 500ms}}; // 5 s by default
}

redlock::lock_options fair_to_others()
{
    return {.handover = {.batch = 4, .period = 50ms}}; // then other clients can get the lock
}

redlock::lock_options at_most_a_minute()
{
    return {.max_hold = 1min};
}

redlock::lock_options only_while_it_gets_on()
{
    return {.progress_within = 3s}; // the holder calls lease.progress() more often than that
}

/// "held by 2f0c77a1... on 3 of 3 servers; if its holder is gone, free within 10998 ms"
asio::awaitable<std::string> who_holds(redlock::mutex lock)
{
    error_code ec;
    redlock::inspection seen = co_await lock.inspect(asio::redirect_error(asio::use_awaitable, ec));
    if (ec)
        co_return ec.message() + ": " + to_string(seen.node_table); // no_quorum: too few servers answered
    std::string text(to_string(seen.status));                       // held, free or blocked
    if (seen.held())
        text += seen.ours ? " by this client" : " by " + seen.owner + "...";
    text += " on " + std::to_string(seen.held() ? seen.votes : seen.free) + " of " +
            std::to_string(seen.node_table.size()) + " servers";
    if (seen.held() && seen.expires_within)
        text += "; if its holder is gone, free within " + std::to_string(*seen.expires_within / 1ms) + " ms";
    co_return text;
}

/// Goes on with the ttl of another mutex of the same name.
asio::awaitable<redlock::lease> go_on_as(redlock::mutex other, redlock::lease held)
{
    held.detach(); // not valid any more
    redlock::lease next = other.adopt(held.nonce());
    co_await next.extend(); // valid again; if no majority confirms, it throws, and the lock is released
    co_return next;
}

asio::awaitable<void> look_and_go_on(redlock::client& locks, example::promises& promises)
{
    redlock::mutex gate{locks, "gate"};
    promises.keep((co_await who_holds(gate)).starts_with("free on "), "a lock that nobody holds");
    redlock::lease held = co_await gate.acquire();
    promises.keep((co_await who_holds(gate)).starts_with("held by this client on "), "and one of ours");
    redlock::mutex slow_gate{locks, "gate", {.ttl = 1min}};
    redlock::lease longer = co_await go_on_as(slow_gate, std::move(held));
    promises.keep(longer.remaining() > 50s, "the same lease with another ttl");
    co_await longer.release();
}

asio::awaitable<void> show(redlock::client& locks, example::promises& promises)
{
    redlock::mutex door{locks, "door"};
    redlock::lease held = co_await door.acquire();
    promises.keep(co_await at_most(door, 20ms) == redlock::errc::timed_out, "a time to wait");
    auto const soon = std::chrono::steady_clock::now() + 20ms;
    promises.keep(co_await until(door, soon) == redlock::errc::timed_out, "a moment to wait for");

    error_code stopped;
    asio::cancellation_signal stop;
    auto told = [&](error_code e, redlock::lease) { stopped = e; };
    door.acquire(asio::bind_cancellation_slot(stop.slot(), told));
    promises.keep(door.waiting() == 1, "one operation waits");
    stop.emit(asio::cancellation_type::total);
    promises.keep(door.waiting() == 0, "and does no longer when it is cancelled");

    redlock::mutex desk{locks, "desk"};
    promises.keep(co_await held_or_waited_for(desk, false), "one of two operations");
    work quick = []() -> asio::awaitable<void> { co_return; };
    promises.keep(co_await done_in_time(desk, 1s, quick), "work that ends before its lease");
    bool worked = false;
    work slow = [&]() -> asio::awaitable<void> {
        asio::steady_timer timer(co_await asio::this_coro::executor, 50ms); // longer than the wait may be
        co_await timer.async_wait(asio::use_awaitable);
        worked = true;
    };
    co_await run_in_time(desk, 20ms, slow);
    promises.keep(worked, "a wait that is limited, and work that is not");
    try {
        co_await run_in_time(door, 20ms, quick);
    } catch (redlock::lock_error const& e) {
        promises.keep(e.code() == redlock::errc::timed_out, "no work where the lock does not come in time");
    }

    error_code result;
    asio::cancellation_signal enough;
    asio::co_spawn(co_await asio::this_coro::executor, unless_stopped(door, enough),
                   [&](std::exception_ptr, error_code e) { result = e; });
    while (door.waiting() == 0)
        co_await asio::post(asio::use_awaitable);
    enough.emit(asio::cancellation_type::total);
    while (!result)
        co_await asio::post(asio::use_awaitable);
    promises.keep(result == asio::error::operation_aborted, "one waiter, out of a coroutine");

    bool second_got_it = false;
    door.acquire([&](error_code e, redlock::lease lease) { second_got_it = !e && lease.valid(); });
    co_await held.release(); // goes to the waiter, without a message to the servers
    redlock::lease again = co_await door.acquire();
    promises.keep(second_got_it && stopped == asio::error::operation_aborted, "first come, first served");

    for (auto options :
         {gives_up_soon_without_servers(), fair_to_others(), at_most_a_minute(), only_while_it_gets_on()}) {
        redlock::mutex other{locks, "window", options};
        redlock::lease lease = co_await other.acquire();
        lease.progress();
        promises.keep(lease.valid(), "held, with other options");
        co_await lease.release();
    }
    co_await look_and_go_on(locks, promises);
}

int main(int argc, char** argv)
{
    return example::run(argc, argv, show);
}

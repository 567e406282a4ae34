// SPDX-License-Identifier: BSL-1.0
#include "tokens/waiting.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/co_spawn.hpp>
#include <boost/asio/experimental/coro.hpp>

#include <exception>
#include <optional>

using namespace redlock;
using namespace redlock::test;
using asio::experimental::coro;

namespace {

// They run on the executor of their first parameter, the lock. As the second one, after an executor, a lock would make
// Asio's constructors ambiguous for Clang.

coro<void, bool> hold_and_extend(mutex lock)
{
    lease held = co_await lock.acquire(asio::deferred);
    co_await held.extend(asio::deferred);
    bool const valid = held.valid();
    co_await held.release(asio::deferred);
    co_return valid;
}

coro<std::size_t> votes_of(mutex lock, int count)
{
    for (int i = 0; i != count; ++i) {
        lease held = co_await lock.acquire(); // the default token, which throws a lock_error
        co_yield held.votes();
        co_await held.release();
    }
}

coro<void, lease> wait_until_granted(mutex lock)
{
    co_return co_await lock.acquire(asio::deferred);
}

coro<void, lease> ask_once(mutex lock)
{
    co_return co_await lock.try_acquire();
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(coro_token, waiting)

BOOST_AUTO_TEST_CASE(coro_acquires_extends_and_releases)
{
    nodes.run([&]() -> asio::awaitable<void> {
        auto once = hold_and_extend(nodes.lock("other"));
        BOOST_TEST(co_await once.async_resume(asio::use_awaitable));
    });
    nodes.run_until([&] { return nodes.free_everywhere("other"); });
}

BOOST_AUTO_TEST_CASE(coro_that_yields_holds_its_lease_between_resumptions)
{
    mutex other = nodes.lock("other");
    nodes.run([&]() -> asio::awaitable<void> {
        auto leases = votes_of(other, 2);
        for (int i = 0; i != 2; ++i) {
            auto const votes = co_await leases.async_resume(asio::use_awaitable);
            BOOST_TEST(votes.value() >= 2U);
            BOOST_TEST(co_await attempt_once(other) == errc::contended);
        }
        BOOST_TEST(!co_await leases.async_resume(asio::use_awaitable));
    });
    nodes.run_until([&] { return nodes.free_everywhere("other"); });
}

BOOST_AUTO_TEST_CASE(error_in_coro_is_thrown_where_it_is_resumed)
{
    nodes.run([&]() -> asio::awaitable<void> {
        auto one = ask_once(lock);
        bool told = false;
        try {
            co_await one.async_resume(asio::use_awaitable);
        } catch (lock_error const& e) {
            told = e.code() == errc::contended && e.resource() == "lock";
        }
        BOOST_TEST(told);
    });
}

BOOST_AUTO_TEST_CASE(cancelled_coro_ends_its_acquisition)
{
    std::optional<error_code> result;
    asio::cancellation_signal signal;
    auto one = wait_until_granted(lock);
    one.async_resume(
        asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr failure, lease granted) {
            BOOST_TEST(granted.empty());
            result = code_of(failure);
        }));
    until_waiting();
    signal.emit(asio::cancellation_type::terminal);
    nodes.run_until([&] { return result.has_value(); });
    BOOST_TEST(*result == asio::error::operation_aborted);
    must_have_left_nothing();
}

BOOST_AUTO_TEST_SUITE_END()

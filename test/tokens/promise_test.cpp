// SPDX-License-Identifier: BSL-1.0
#include "tokens/waiting.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/promise.hpp>
#include <boost/asio/experimental/use_promise.hpp>

#include <tuple>
#include <utility>

using namespace redlock;
using namespace redlock::test;
using asio::experimental::use_promise;

BOOST_FIXTURE_TEST_SUITE(promise_token, waiting)

BOOST_AUTO_TEST_CASE(promise_starts_at_once_and_is_awaited_later)
{
    mutex other = nodes.lock("other");
    auto promise = other.acquire(use_promise);
    nodes.run_until([&] { return promise.completed(); });
    nodes.run([&]() -> asio::awaitable<void> {
        auto [ec, granted] = co_await promise(asio::as_tuple(asio::use_awaitable));
        BOOST_TEST(!ec);
        BOOST_TEST(granted.valid());
        auto extension = granted.extend(use_promise);
        co_await extension(asio::use_awaitable);
        auto release = granted.release(use_promise);
        co_await release(asio::use_awaitable);
    });
    must_have_left_nothing();
}

BOOST_AUTO_TEST_CASE(promise_of_taken_lock_throws_contended)
{
    auto refused = lock.try_acquire(use_promise);
    auto const ec = nodes.run([&] { return error_of(refused(asio::use_awaitable)); });
    BOOST_TEST(ec == errc::contended);
}

BOOST_AUTO_TEST_CASE(cancelled_promise_ends_with_operation_aborted)
{
    auto promise = lock.acquire(use_promise);
    until_waiting();
    promise.cancel();
    auto const ec = nodes.run([&] { return error_of(promise(asio::use_awaitable)); });
    BOOST_TEST(ec == asio::error::operation_aborted);
    must_have_left_nothing();
}

BOOST_AUTO_TEST_CASE(destroyed_promise_cancels_its_acquisition)
{
    {
        auto const promise = lock.acquire(use_promise);
        until_waiting();
    }
    nodes.run_until([&] { return lock.waiting() == 0; });
    must_have_left_nothing();
}

BOOST_AUTO_TEST_CASE(destroyed_promise_releases_lease_that_nobody_took)
{
    {
        auto const promise = nodes.lock("other").acquire(use_promise);
        nodes.run_until([&] { return promise.completed(); });
    }
    nodes.run_until([&] { return nodes.free_everywhere("other"); });
    must_have_left_nothing();
}

BOOST_AUTO_TEST_SUITE_END()

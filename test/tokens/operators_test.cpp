// SPDX-License-Identifier: BSL-1.0
#include "tokens/waiting.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/multiple_exceptions.hpp>

#include <array>
#include <exception>
#include <optional>
#include <utility>
#include <variant>

using namespace redlock;
using namespace redlock::test;
using namespace asio::experimental::awaitable_operators;

BOOST_FIXTURE_TEST_SUITE(awaitable_operators, waiting)

BOOST_AUTO_TEST_CASE(acquisition_that_comes_second_is_cancelled)
{
    mutex other = nodes.lock("other");
    nodes.run([&]() -> asio::awaitable<void> {
        auto first = co_await (lock.acquire(asio::use_awaitable) || other.acquire(asio::use_awaitable));
        BOOST_TEST(first.index() == 1U);
        BOOST_TEST(lock.waiting() == 0U);
        co_await std::get<1>(first).release(asio::use_awaitable);
    });
    must_have_left_nothing();
}

BOOST_AUTO_TEST_CASE(lease_that_comes_second_is_released)
{
    mutex one = nodes.lock("one");
    mutex two = nodes.lock("two");
    nodes.run([&]() -> asio::awaitable<void> {
        auto first = co_await (one.acquire(asio::use_awaitable) || two.acquire(asio::use_awaitable));
        lease& won = first.index() == 0 ? std::get<0>(first) : std::get<1>(first);
        BOOST_TEST(won.valid());
        co_await won.release(asio::use_awaitable);
    });
    nodes.run_until([&] { return nodes.free_everywhere("one") && nodes.free_everywhere("two"); });
}

BOOST_AUTO_TEST_CASE(acquisition_beside_timer_is_cancelled_by_it)
{
    asio::steady_timer timer(nodes.context, 1h);
    asio::co_spawn(
        nodes.context,
        [&]() -> asio::awaitable<void> {
            co_await until([&] { return lock.waiting() == 1; });
            timer.expires_at(asio::steady_timer::time_point::min()); // cancels its wait, too
            timer.async_wait([](error_code) {});
        },
        [](std::exception_ptr failure) { BOOST_TEST(!failure); });
    nodes.run([&]() -> asio::awaitable<void> {
        auto wait = [&]() -> asio::awaitable<void> {
            error_code ec;
            co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        };
        auto first = co_await (lock.acquire(asio::use_awaitable) || wait());
        BOOST_TEST(first.index() == 1U);
    });
    must_have_left_nothing();
}

BOOST_AUTO_TEST_CASE(timer_with_default_token_is_awaited_beside_lease)
{
    using awaitable_timer = asio::use_awaitable_t<>::as_default_on_t<asio::steady_timer>;
    awaitable_timer timer(nodes.context);
    client locks(timer.get_executor(), nodes.settings);
    mutex const own(locks, "own");
    nodes.run([&]() -> asio::awaitable<void> {
        lease mine = co_await own.acquire();
        timer.expires_at(awaitable_timer::time_point::min());
        auto const first = co_await (timer.async_wait() || mine.ended());
        BOOST_TEST(first.index() == 0U);
        co_await mine.release();
    });
}

BOOST_AUTO_TEST_CASE(two_acquisitions_are_awaited_together)
{
    mutex one = nodes.lock("one");
    mutex two = nodes.lock("two");
    nodes.run([&]() -> asio::awaitable<void> {
        auto [first, second] =
            co_await (one.acquire(asio::use_awaitable) && two.acquire(asio::use_awaitable));
        BOOST_TEST(first.valid());
        BOOST_TEST(second.valid());
    });
    nodes.run_until([&] { return nodes.free_everywhere("one") && nodes.free_everywhere("two"); });
}

BOOST_AUTO_TEST_CASE(refused_attempt_cancels_acquisition_beside_it)
{
    mutex other = nodes.lock("other");
    lease const taken = nodes.run([&] { return other.acquire(asio::use_awaitable); });
    nodes.run([&]() -> asio::awaitable<void> {
        std::exception_ptr first;
        try {
            co_await (other.try_acquire(asio::use_awaitable) && lock.acquire(asio::use_awaitable));
        } catch (asio::multiple_exceptions const& e) { // the other one was cancelled
            first = e.first_exception();               // the left operand's
        }
        BOOST_TEST(code_of(first) == errc::contended);
    });
    BOOST_TEST(lock.waiting() == 0U);
}

BOOST_AUTO_TEST_CASE(parallel_group_gives_every_acquisition_its_result)
{
    mutex other = nodes.lock("other");
    std::optional<std::array<std::size_t, 2>> order;
    auto group =
        asio::experimental::make_parallel_group(lock.acquire(asio::deferred), other.acquire(asio::deferred));
    group.async_wait(
        asio::experimental::wait_for_one_success(),
        [&](std::array<std::size_t, 2> ended, error_code waited, lease none, error_code ec, lease granted) {
            BOOST_TEST(waited == asio::error::operation_aborted);
            BOOST_TEST(none.empty());
            BOOST_TEST(!ec);
            BOOST_TEST(granted.valid());
            order = ended;
        });
    nodes.run_until([&] { return order.has_value(); });
    BOOST_TEST((*order)[0] == 1U);
    must_have_left_nothing();
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "tokens/waiting.hpp"

#include <boost/asio/cancel_after.hpp>
#include <boost/asio/cancel_at.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/use_future.hpp>

#include <future>
#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

/// The error of a lock_error; none of any other exception.
template <class Operation>
asio::awaitable<error_code> story_of(Operation operation)
{
    try {
        co_await std::move(operation);
    } catch (lock_error const& e) {
        co_return e.code();
    } catch (boost::system::system_error const&) {
    }
    co_return error_code{};
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(cancel_after_token, waiting)

BOOST_AUTO_TEST_CASE(acquisition_is_cancelled_after_its_time)
{
    nodes.run([&]() -> asio::awaitable<void> {
        auto wait = lock.acquire(asio::cancel_after(5ms, asio::use_awaitable));
        BOOST_TEST(co_await error_of(std::move(wait)) == asio::error::operation_aborted);
        auto moment = asio::steady_timer::clock_type::now() + 5ms;
        wait = lock.acquire(asio::cancel_at(moment, asio::use_awaitable));
        BOOST_TEST(co_await error_of(std::move(wait)) == asio::error::operation_aborted);
    });
    must_have_left_nothing();
}

BOOST_AUTO_TEST_CASE(operations_that_end_in_time_are_not_cancelled)
{
    nodes.run([&]() -> asio::awaitable<void> {
        lease own = co_await nodes.lock("other").acquire(asio::cancel_after(1h));
        co_await own.extend(asio::cancel_after(1h));
        BOOST_TEST(own.valid());
        co_await own.release(asio::cancel_after(1h));
    });
    nodes.run_until([&] { return nodes.free_everywhere("other"); });
}

BOOST_AUTO_TEST_CASE(failure_is_explained_inside_and_outside)
{
    nodes.run([&]() -> asio::awaitable<void> {
        auto outside = with_diagnostics(asio::cancel_after(1h, asio::use_awaitable));
        BOOST_TEST(co_await story_of(lock.try_acquire(outside)) == errc::contended);
        auto inside = asio::cancel_after(1h, with_diagnostics(asio::use_awaitable));
        BOOST_TEST(co_await story_of(lock.try_acquire(inside)) == errc::contended);
        auto deferred = asio::cancel_after(1h, with_diagnostics(asio::deferred));
        BOOST_TEST(co_await story_of(lock.try_acquire(deferred)) == errc::contended);
    });
}

BOOST_AUTO_TEST_CASE(body_of_with_lock_is_cancelled_after_its_time)
{
    mutex other = nodes.lock("other");
    bool entered = false; // not if this machine took the time for the acquisition
    bool unwound = false;
    auto body = [&](lease&) -> asio::awaitable<void> {
        entered = true;
        asio::steady_timer for_ever(nodes.context, 1h);
        error_code const ec = co_await error_of(for_ever.async_wait(asio::use_awaitable));
        unwound = ec == asio::error::operation_aborted;
        throw boost::system::system_error(ec);
    };
    nodes.run([&]() -> asio::awaitable<void> {
        auto work = with_lock(other, body, asio::cancel_after(50ms, asio::use_awaitable));
        BOOST_TEST(co_await error_of(std::move(work)) == asio::error::operation_aborted);
    });
    BOOST_TEST(unwound == entered);
    nodes.run_until([&] { return nodes.free_everywhere("other"); });
    must_have_left_nothing();
}

BOOST_AUTO_TEST_CASE(future_is_cancelled_after_its_time)
{
    std::future<lease> never = lock.acquire(asio::cancel_after(5ms, asio::use_future));
    nodes.run_until([&] { return never.wait_for(0s) == std::future_status::ready; });
    BOOST_CHECK_EXCEPTION(never.get(), boost::system::system_error,
                          [](auto const& e) { return e.code() == asio::error::operation_aborted; });
    must_have_left_nothing();
}

BOOST_AUTO_TEST_SUITE_END()

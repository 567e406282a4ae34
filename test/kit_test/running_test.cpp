// SPDX-License-Identifier: BSL-1.0
#include "kit/running.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>

namespace {

namespace asio = boost::asio;
using redlock::test::run;

struct without_default {
    explicit without_default(int number) : value(number) {}
    int value;
};

/// Suspended until somebody cancels the timer, which nobody does.
asio::awaitable<void> forever()
{
    asio::steady_timer timer(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
    co_await timer.async_wait(asio::use_awaitable);
}

bool names_this_file(std::runtime_error const& failure)
{
    return std::string(failure.what()).find("running_test.cpp:") != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(running)

BOOST_AUTO_TEST_CASE(run_returns_value_of_coroutine)
{
    asio::io_context context;
    int const base = 40;
    auto const result =
        run(context, [&]() -> asio::awaitable<without_default> { co_return without_default{base + 2}; });
    BOOST_TEST(result.value == 42);
}

BOOST_AUTO_TEST_CASE(run_runs_the_same_context_again)
{
    asio::io_context context;
    int calls = 0;
    auto const body = [&]() -> asio::awaitable<void> {
        ++calls;
        co_return;
    };
    run(context, body);
    run(context, body);
    BOOST_TEST(calls == 2);
}

BOOST_AUTO_TEST_CASE(run_rethrows_exception_of_coroutine)
{
    asio::io_context context;
    auto const body = []() -> asio::awaitable<int> {
        throw std::out_of_range("told so");
        co_return 0;
    };
    BOOST_CHECK_THROW(run(context, body), std::out_of_range);
}

BOOST_AUTO_TEST_CASE(run_leaves_other_work_in_the_context)
{
    asio::io_context context;
    asio::steady_timer other(context, asio::steady_timer::time_point::max());
    bool ended = false;
    other.async_wait([&](boost::system::error_code) { ended = true; });
    run(context, []() -> asio::awaitable<void> { co_return; });
    BOOST_TEST(!ended);
    other.cancel();
    context.restart();
    context.run();
    BOOST_TEST(ended);
}

BOOST_AUTO_TEST_CASE(run_of_hanging_coroutine_throws_with_position)
{
    asio::io_context context;
    BOOST_CHECK_EXCEPTION(run(context, forever, std::chrono::milliseconds(20)), std::runtime_error,
                          names_this_file);
}

BOOST_AUTO_TEST_CASE(run_on_stopped_context_throws_at_once)
{
    asio::io_context context;
    auto const body = [&]() -> asio::awaitable<void> {
        context.stop();
        co_await forever();
    };
    BOOST_CHECK_EXCEPTION(run(context, body), std::runtime_error, names_this_file);
}

BOOST_AUTO_TEST_SUITE_END()

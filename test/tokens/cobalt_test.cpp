// SPDX-License-Identifier: BSL-1.0
#include "tokens/waiting.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/cobalt.hpp>

#include <exception>
#include <optional>

using namespace redlock;
using namespace redlock::test;
namespace cobalt = boost::cobalt;

namespace {

struct tasks : waiting {
    void start(cobalt::task<void> task)
    {
        cobalt::spawn(nodes.context, std::move(task),
                      asio::bind_cancellation_slot(
                          signal.slot(), [this](std::exception_ptr failure) { result = code_of(failure); }));
    }
    error_code ended()
    {
        nodes.run_until([&] { return result.has_value(); });
        return *result;
    }

    asio::cancellation_signal signal;
    std::optional<error_code> result;
};

cobalt::task<void> hold_once(mutex lock)
{
    lease held = co_await lock.acquire(cobalt::use_op);
    co_await held.extend(cobalt::use_op);
    BOOST_TEST(held.valid());
    co_await held.release(cobalt::use_op);
}

cobalt::task<void> hold_twice(mutex lock)
{
    co_await cobalt::join(hold_once(lock), hold_once(lock));
}

cobalt::task<void> ask(mutex lock)
{
    auto [ec, none] = co_await cobalt::as_tuple(lock.try_acquire(cobalt::use_op));
    BOOST_TEST(ec == errc::contended);
    BOOST_TEST(none.empty());
    co_await lock.try_acquire(cobalt::use_op);
}

cobalt::task<void> ask_with_default_token(mutex lock)
{
    bool told = false;
    try {
        co_await lock.try_acquire();
    } catch (lock_error const& e) {
        told = e.code() == errc::contended && e.resource() == "lock";
    }
    BOOST_TEST(told);
}

cobalt::task<void> wait_for(mutex lock)
{
    co_await lock.acquire(cobalt::use_op);
}

cobalt::task<void> take_either(mutex one, mutex other)
{
    auto first = co_await cobalt::race(one.acquire(cobalt::use_op), other.acquire(cobalt::use_op));
    BOOST_TEST(first.index() == 1U);
    BOOST_TEST(one.waiting() == 0U);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(cobalt_token, tasks)

BOOST_AUTO_TEST_CASE(tasks_take_lock_one_after_the_other)
{
    start(hold_twice(nodes.lock("other")));
    BOOST_TEST(ended() == error_code());
    nodes.run_until([&] { return nodes.free_everywhere("other"); });
}

BOOST_AUTO_TEST_CASE(error_is_thrown_or_given_as_tuple_in_task)
{
    start(ask(lock));
    BOOST_TEST(ended() == errc::contended);
}

BOOST_AUTO_TEST_CASE(task_awaits_default_token_and_gets_lock_error)
{
    start(ask_with_default_token(lock));
    BOOST_TEST(ended() == error_code());
}

BOOST_AUTO_TEST_CASE(cancelled_task_ends_its_acquisition)
{
    start(wait_for(lock));
    until_waiting();
    signal.emit(asio::cancellation_type::terminal);
    BOOST_TEST(ended() == asio::error::operation_aborted);
    must_have_left_nothing();
}

BOOST_AUTO_TEST_CASE(race_cancels_acquisition_that_comes_second)
{
    start(take_either(lock, nodes.lock("other")));
    BOOST_TEST(ended() == error_code());
    nodes.run_until([&] { return nodes.free_everywhere("other"); });
    must_have_left_nothing();
}

BOOST_AUTO_TEST_SUITE_END()

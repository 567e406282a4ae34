// SPDX-License-Identifier: BSL-1.0
#include "tokens/waiting.hpp"

#define BOOST_ASIO_DISABLE_BOOST_COROUTINE // the library that Boost.Context has replaced
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/spawn.hpp>
#include <boost/version.hpp>

#include <exception>
#include <functional>
#include <optional>

using namespace redlock;
using namespace redlock::test;

namespace {

struct spawned : waiting {
    void spawn(std::function<void(asio::yield_context)> body)
    {
        asio::spawn(nodes.context, std::move(body),
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

} // namespace

BOOST_FIXTURE_TEST_SUITE(spawn_token, spawned)

BOOST_AUTO_TEST_CASE(spawned_function_acquires_extends_and_releases)
{
    spawn([&](asio::yield_context yield) {
        lease own = nodes.lock("other").acquire(yield);
        own.extend(yield);
        BOOST_TEST(own.valid());
        own.release(yield);
    });
    BOOST_TEST(ended() == error_code());
    nodes.run_until([&] { return nodes.free_everywhere("other"); });
}

BOOST_AUTO_TEST_CASE(error_is_thrown_or_stored_in_spawned_function)
{
    spawn([&](asio::yield_context yield) {
        error_code ec;
        lease const none = lock.try_acquire(yield[ec]);
        BOOST_TEST(ec == errc::contended);
        BOOST_TEST(none.empty());
        lease const never = lock.try_acquire(yield);
        BOOST_ERROR("acquired twice");
    });
    BOOST_TEST(ended() == errc::contended);
}

BOOST_AUTO_TEST_CASE(cancelled_spawned_function_ends_its_acquisition)
{
    spawn([&](asio::yield_context yield) { lease const never = lock.acquire(yield); });
    until_waiting();
    signal.emit(asio::cancellation_type::terminal);
    BOOST_TEST(ended() == asio::error::operation_aborted);
    must_have_left_nothing();
}

#if BOOST_VERSION >= 108400 // before, Asio does not let a spawned function take exceptions

BOOST_AUTO_TEST_CASE(with_lock_runs_coroutine_for_spawned_function)
{
    spawn([&](asio::yield_context yield) {
        mutex other = nodes.lock("other");
        auto body = [](lease& own) -> asio::awaitable<void> {
            BOOST_TEST(own.valid());
            co_return;
        };
        with_lock(other, body, yield);
    });
    BOOST_TEST(ended() == error_code());
    nodes.run_until([&] { return nodes.free_everywhere("other"); });
}

BOOST_AUTO_TEST_CASE(spawned_function_catches_lock_error)
{
    spawn([&](asio::yield_context yield) {
        bool told = false;
        try {
            lease const none = lock.try_acquire(with_diagnostics(yield));
        } catch (lock_error const& e) {
            told = e.resource() == "lock";
        }
        BOOST_TEST(told);
    });
    BOOST_TEST(ended() == error_code());
}

#else

static_assert(!redlock::detail::takes_exceptions<asio::yield_context>);

#endif

BOOST_AUTO_TEST_SUITE_END()

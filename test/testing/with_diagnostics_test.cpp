// SPDX-License-Identifier: BSL-1.0
#include <redlock/redlock.hpp>
#include <redlock/testing/world.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <concepts>
#include <exception>
#include <functional>
#include <memory_resource>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using boost::system::error_code;
using boost::system::system_error;
using redlock::testing::world;

namespace {

/// An exception: its type, and its text.
struct thrown {
    bool is_lock_error = false;
    bool is_plain = false;
    error_code code{};
    std::string text{};
    std::size_t rows = 0;
    std::string resource{};

    explicit thrown(std::exception_ptr const& e)
    {
        BOOST_TEST_REQUIRE((e != nullptr));
        try {
            std::rethrow_exception(e);
        } catch (lock_error const& error) {
            is_lock_error = true;
            code = error.code();
            text = error.what();
            rows = error.outcomes().size();
            resource = error.resource();
        } catch (system_error const& error) {
            is_plain = true;
            code = error.code();
            text = error.what();
        }
    }
};

/// A lock that another process holds.
struct contended_lock_fixture {
    asio::io_context context;
    world servers{context};
    client locks = servers.make_client();
    mutex lock{locks, "seat:42"};

    contended_lock_fixture() { servers.hold("seat:42"); }

    /// Returns the exception of a coroutine.
    thrown failure_of(std::function<asio::awaitable<void>()> const& work)
    {
        try {
            servers.run(work());
        } catch (...) {
            return thrown(std::current_exception());
        }
        BOOST_FAIL("nothing is thrown");
        throw;
    }
    void run_until(bool const& done)
    {
        servers.run_until([&] { return done; });
    }
    [[nodiscard]] static bool tells_all(thrown const& what)
    {
        BOOST_TEST_MESSAGE(what.text);
        return what.is_lock_error && what.code == errc::contended && what.resource == "seat:42" &&
               what.rows == 3 && what.text.starts_with("lock \"seat:42\": contended: 0 of 3 granted; ");
    }
};

/// A handler that takes an exception, and has associated objects.
struct explained_callback {
    std::exception_ptr* failure;
    lease* granted;
    bool* done;
    std::array<char, 200> too_large_to_be_kept_in_place{};

    void operator()(std::exception_ptr e, lease got)
    {
        *failure = std::move(e);
        *granted = std::move(got);
        *done = true;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(diagnostics, contended_lock_fixture)

BOOST_AUTO_TEST_CASE(default_token_of_acquire_throws_lock_error_with_outcomes)
{
    BOOST_TEST(tells_all(failure_of([&]() -> asio::awaitable<void> { co_await lock.try_acquire(); })));
    fenced_mutex fenced(locks, "seat:42");
    BOOST_TEST(tells_all(failure_of([&]() -> asio::awaitable<void> { co_await fenced.try_acquire(); })));
}

BOOST_AUTO_TEST_CASE(use_awaitable_alone_throws_plain_system_error)
{
    auto const told =
        failure_of([&]() -> asio::awaitable<void> { co_await lock.try_acquire(asio::use_awaitable); });
    BOOST_TEST(told.is_plain);
    BOOST_TEST((told.code == errc::contended));
    BOOST_TEST(tells_all(thrown(std::make_exception_ptr(lock.explain(told.code)))));
}

BOOST_AUTO_TEST_CASE(with_diagnostics_around_use_awaitable_throws_lock_error)
{
    auto const token = with_diagnostics(asio::use_awaitable);
    BOOST_TEST(tells_all(failure_of([&]() -> asio::awaitable<void> { co_await lock.try_acquire(token); })));
    auto const late = failure_of([&]() -> asio::awaitable<void> { co_await lock.acquire_for(50ms, token); });
    BOOST_TEST(late.is_lock_error);
    BOOST_TEST((late.code == errc::timed_out));
    BOOST_TEST(late.text.find(" after 5") != std::string::npos, late.text);
}

BOOST_AUTO_TEST_CASE(with_diagnostics_combines_with_other_adapters)
{
    asio::cancellation_signal stop;
    auto const strand = asio::make_strand(context);
    auto const inside = with_diagnostics(asio::bind_executor(strand, asio::use_awaitable));
    BOOST_TEST(tells_all(failure_of([&]() -> asio::awaitable<void> { co_await lock.try_acquire(inside); })));
    auto outside = asio::bind_executor(
        strand, asio::bind_cancellation_slot(stop.slot(), with_diagnostics(asio::use_awaitable)));
    BOOST_TEST(tells_all(failure_of([&]() -> asio::awaitable<void> { co_await lock.try_acquire(outside); })));
}

/// They make a value of the error code, inside or outside.
BOOST_AUTO_TEST_CASE(tokens_that_keep_errors_get_the_error_code)
{
    servers.run([&]() -> asio::awaitable<void> {
        auto [ec, none] = co_await lock.try_acquire(with_diagnostics(asio::as_tuple(asio::use_awaitable)));
        static_assert(std::same_as<decltype(ec), error_code>);
        BOOST_TEST((ec == errc::contended));
        BOOST_TEST(none.empty());
        auto [outside, nothing] =
            co_await lock.try_acquire(asio::as_tuple(with_diagnostics(asio::use_awaitable)));
        static_assert(std::same_as<decltype(outside), error_code>);
        BOOST_TEST((outside == errc::contended));
        auto [bound, no_lease] = co_await lock.try_acquire(
            with_diagnostics(asio::bind_executor(context, asio::as_tuple(asio::deferred))));
        static_assert(std::same_as<decltype(bound), error_code>);
        BOOST_TEST((bound == errc::contended));

        error_code kept;
        co_await lock.try_acquire(with_diagnostics(asio::redirect_error(asio::use_awaitable, kept)));
        BOOST_TEST((kept == errc::contended));
        kept = {};
        co_await lock.try_acquire(asio::redirect_error(with_diagnostics(asio::use_awaitable), kept));
        BOOST_TEST((kept == errc::contended));
        lease own;
        co_await own.extend(asio::redirect_error(with_diagnostics(asio::use_awaitable), kept));
        BOOST_TEST((kept == errc::empty_lease));
    }());
}

BOOST_AUTO_TEST_CASE(callback_that_takes_an_error_code_gets_it)
{
    std::optional<error_code> told;
    lock.try_acquire(with_diagnostics([&](error_code ec, lease const&) { told = ec; }));
    servers.run_until([&] { return told.has_value(); });
    BOOST_TEST((told == errc::contended));
}

BOOST_AUTO_TEST_CASE(with_diagnostics_around_use_future_throws_lock_error)
{
    auto later = lock.try_acquire(with_diagnostics(asio::use_future));
    servers.run_until([&] { return later.wait_for(0s) == std::future_status::ready; });
    BOOST_CHECK_EXCEPTION(later.get(), lock_error,
                          [](lock_error const& e) { return e.outcomes().size() == 3; });
}

BOOST_AUTO_TEST_CASE(deferred_operation_takes_with_diagnostics_when_started)
{
    std::exception_ptr failure;
    lease granted;
    bool done = false;
    auto operation = lock.try_acquire(asio::deferred);
    std::move(operation)(with_diagnostics(explained_callback{&failure, &granted, &done}));
    run_until(done);
    BOOST_TEST(tells_all(thrown(failure)));
}

/// Posted, and kept in memory of its own.
BOOST_AUTO_TEST_CASE(large_handler_of_other_executor_gets_diagnostics)
{
    asio::io_context elsewhere;
    std::pmr::monotonic_buffer_resource memory;
    std::pmr::polymorphic_allocator<> const allocator(&memory);
    asio::cancellation_signal stop;
    std::exception_ptr failure;
    lease granted;
    bool done = false;
    auto handler = asio::bind_executor(
        elsewhere.get_executor(),
        asio::bind_allocator(allocator, asio::bind_cancellation_slot(
                                            stop.slot(), explained_callback{&failure, &granted, &done})));
    detail::diagnostics_handler const wrapped(handler);
    BOOST_TEST((asio::get_associated_executor(wrapped) == elsewhere.get_executor()));
    BOOST_TEST((asio::get_associated_allocator(wrapped) == allocator));
    BOOST_TEST((asio::get_associated_cancellation_slot(wrapped) == stop.slot()));
    lock.try_acquire(with_diagnostics(std::move(handler)));
    for (int i = 0; !done && i != 100; ++i) {
        servers.advance(10ms);
        elsewhere.restart();
        elsewhere.poll();
    }
    BOOST_TEST_REQUIRE(done);
    BOOST_TEST(tells_all(thrown(failure)));
}

BOOST_AUTO_TEST_CASE(cancelled_acquire_reports_operation_aborted)
{
    asio::cancellation_signal stop;
    std::exception_ptr failure;
    lease granted;
    bool done = false;
    lock.acquire(with_diagnostics(
        asio::bind_cancellation_slot(stop.slot(), explained_callback{&failure, &granted, &done})));
    servers.advance(20ms);
    BOOST_TEST(!done);
    stop.emit(asio::cancellation_type::terminal);
    run_until(done);
    thrown const told(failure);
    BOOST_TEST(told.is_lock_error);
    BOOST_TEST((told.code == asio::error::operation_aborted));
    BOOST_TEST(told.resource == "seat:42");
}

BOOST_AUTO_TEST_CASE(lease_operation_with_diagnostics_explains_the_loss)
{
    servers.let_go("seat:42");
    auto const token = with_diagnostics(asio::use_awaitable);
    servers.run([&]() -> asio::awaitable<void> {
        lease held = co_await lock.acquire(token);
        co_await held.extend(token);
        co_await held.release(token);
    }());
    for (bool const extends : {true, false}) {
        auto const told = failure_of([&]() -> asio::awaitable<void> {
            lease held = co_await lock.acquire(token);
            servers.lose(held);
            co_await servers.sleep(1s);
            if (extends)
                co_await held.extend(token);
            co_await held.release(token);
        });
        BOOST_TEST(told.is_lock_error);
        BOOST_TEST((told.code == errc::lease_lost));
        BOOST_TEST(told.text.starts_with("lock \"seat:42\" lost (refused): last confirmed "), told.text);
        BOOST_TEST(told.rows == 3U);
    }
}

BOOST_AUTO_TEST_CASE(every_operation_throws_lock_error_with_the_default_token)
{
    servers.let_go("seat:42");
    auto const expect = [&](errc code, std::string const& named,
                            std::function<asio::awaitable<void>()> work) {
        thrown const told = failure_of(work);
        BOOST_TEST(told.is_lock_error);
        BOOST_TEST((told.code == code), told.text);
        BOOST_TEST(told.text.starts_with(named), told.text);
    };
    std::string const seat = "lock \"seat:42\"";
    lease over = servers.run(lock.acquire(asio::use_awaitable));
    servers.run(over.release(asio::use_awaitable));
    expect(errc::released, seat, [&]() -> asio::awaitable<void> { co_await over.extend(); });
    expect(errc::released, seat, [&]() -> asio::awaitable<void> { co_await over.release(); });
    expect(errc::empty_lease, "empty lease", []() -> asio::awaitable<void> { co_await lease().extend(); });
    expect(errc::empty_lease, "empty lease", []() -> asio::awaitable<void> { co_await lease().ended(); });
    expect(errc::empty_lease, "empty lease", []() -> asio::awaitable<void> {
        shared_lease none;
        co_await none.release();
    });

    election scheduler(locks, "scheduler");
    leadership leader = servers.run(scheduler.campaign("me", asio::use_awaitable));
    std::string const office = "lock \"scheduler\"";
    expect(errc::misconfigured, office, [&]() -> asio::awaitable<void> {
        std::string long_value(5000, 'x');
        co_await leader.proclaim(long_value);
    });
    servers.run(leader.resign(asio::use_awaitable));
    expect(errc::released, office, [&]() -> asio::awaitable<void> {
        std::string value = "me";
        co_await leader.proclaim(value);
    });
    expect(errc::empty_lease, "empty lease",
           []() -> asio::awaitable<void> { co_await leadership().resign(); });

    lease const kept = servers.run(lock.acquire(asio::use_awaitable));
    servers.cut(0);
    servers.cut(1);
    expect(errc::no_quorum, seat, [&]() -> asio::awaitable<void> { co_await lock.inspect(); });
    expect(errc::no_quorum, office, [&]() -> asio::awaitable<void> { co_await scheduler.leader(); });
    expect(errc::no_quorum, seat, [&]() -> asio::awaitable<void> { co_await kept.extend(); });
    expect(errc::no_quorum, "client of redis://",
           [&]() -> asio::awaitable<void> { co_await locks.shutdown(); });
    expect(errc::shut_down, "client of redis://", [&]() -> asio::awaitable<void> {
        std::vector<std::string> const same = servers.settings().nodes;
        co_await locks.change_nodes(same);
    });
}

BOOST_AUTO_TEST_CASE(cancelled_wait_for_the_end_names_its_lock)
{
    servers.let_go("seat:42");
    lease const held = servers.run(lock.acquire(asio::use_awaitable));
    asio::cancellation_signal stop;
    std::exception_ptr failure;
    held.ended(with_diagnostics(
        asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr e, lease_end) { failure = e; })));
    servers.advance(10ms);
    stop.emit(asio::cancellation_type::terminal);
    servers.run_until([&] { return failure != nullptr; });
    thrown const told(failure);
    BOOST_TEST(told.is_lock_error);
    BOOST_TEST((told.code == asio::error::operation_aborted));
    BOOST_TEST(told.resource == "seat:42");
}

BOOST_AUTO_TEST_CASE(inspection_with_diagnostics_names_its_lock)
{
    servers.run([&]() -> asio::awaitable<void> {
        auto const seen = co_await lock.inspect(with_diagnostics(asio::deferred));
        BOOST_TEST(seen.held());
    }());
    for (std::size_t i : {0U, 1U})
        servers.cut(i);
    auto const told = failure_of(
        [&]() -> asio::awaitable<void> { co_await lock.inspect(with_diagnostics(asio::use_awaitable)); });
    BOOST_TEST(told.is_lock_error);
    BOOST_TEST((told.code == errc::no_quorum));
    BOOST_TEST(told.text.starts_with("lock \"seat:42\": no quorum"), told.text);
}

BOOST_AUTO_TEST_CASE(operation_of_other_library_with_diagnostics_throws_its_code)
{
    asio::steady_timer timer(context, std::chrono::steady_clock::time_point::max());
    auto const told = failure_of([&]() -> asio::awaitable<void> {
        timer.expires_after(1h);
        asio::post(context, [&] { timer.cancel(); });
        co_await timer.async_wait(with_diagnostics(asio::use_awaitable));
    });
    BOOST_TEST(told.is_plain);
    BOOST_TEST((told.code == asio::error::operation_aborted));
}

BOOST_AUTO_TEST_CASE(with_lock_throws_lock_error_for_plain_fenced_and_custom_locks)
{
    /// It takes no other token.
    struct own_lock {
        mutex lock;
        auto get_executor() const { return lock.get_executor(); }
        auto acquire(asio::use_awaitable_t<> token) { return lock.try_acquire(token); }
    };
    auto body = [](lease&) -> asio::awaitable<void> { co_return; };
    auto const told_late = [&](auto locked) {
        auto const late =
            failure_of([&]() -> asio::awaitable<void> { co_await with_lock_for(locked, 50ms, body); });
        return late.is_lock_error && late.code == errc::timed_out && late.resource == "seat:42" &&
               late.rows == 3;
    };
    BOOST_TEST(told_late(mutex(locks, "seat:42")));
    BOOST_TEST(told_late(fenced_mutex(locks, "seat:42")));
    own_lock own{lock};
    auto const told = failure_of([&]() -> asio::awaitable<void> { co_await with_lock(own, body); });
    BOOST_TEST(told.is_plain);
    BOOST_TEST((told.code == errc::contended));
}

BOOST_AUTO_TEST_SUITE_END()

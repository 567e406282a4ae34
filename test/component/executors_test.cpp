// SPDX-License-Identifier: BSL-1.0
#include "component/foreign_threads.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <future>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(executors)

BOOST_AUTO_TEST_CASE(handler_runs_on_its_associated_executor)
{
    faults found;
    asio::io_context here;
    asio::io_context there;
    runners client_thread(here);
    runners other_thread(there);
    client locks(here.get_executor(), real_servers::get().settings());
    auto const on_other = [&](auto check) {
        auto done = std::make_shared<std::promise<void>>();
        auto handler = [&, done, check](error_code ec, auto... more) mutable {
            found.require(std::this_thread::get_id() == other_thread.id());
            check(ec, std::move(more)...);
            done->set_value();
        };
        return std::pair(asio::bind_executor(there, std::move(handler)), done->get_future());
    };
    lease held;
    auto [acquired, first] = on_other([&](error_code ec, lease granted) {
        found.require(!ec);
        held = std::move(granted);
    });
    mutex(locks, "bound", long_lived).acquire(std::move(acquired));
    get(std::move(first));
    auto [extended, second] = on_other([&](error_code ec) { found.require(!ec); });
    held.extend(std::move(extended));
    get(std::move(second));
    auto [ended, third] =
        on_other([&](error_code, lease_end end) { found.require(end == lease_end::released); });
    held.ended(std::move(ended));
    auto [released, fourth] = on_other([&](error_code ec) { found.require(!ec); });
    held.release(std::move(released));
    get(std::move(third));
    get(std::move(fourth));
    auto [empty, fifth] = on_other([&](error_code ec) { found.require(ec == errc::empty_lease); });
    lease().extend(std::move(empty));
    get(std::move(fifth));
    auto [shut, sixth] = on_other([&](error_code ec) { found.require(!ec); });
    locks.shutdown(std::move(shut));
    get(std::move(sixth));
}

/// A context that only waits for us must not run out of work meanwhile.
BOOST_AUTO_TEST_CASE(operation_with_future_starts_no_thread)
{
    auto const threads = [] {
        auto const tasks = std::filesystem::directory_iterator("/proc/self/task");
        return std::distance(begin(tasks), end(tasks));
    };
    asio::io_context here;
    client locks(here.get_executor(), real_servers::get().settings());
    mutex lock(locks, "future", long_lived);
    bool connected = false; // which takes a thread of Asio's
    lock.acquire([&](error_code ec, lease const&) { connected = !ec; });
    here.run();
    BOOST_TEST_REQUIRE(connected);
    auto const before = threads();
    auto acquired = lock.acquire(asio::use_future);
    here.restart();
    while (acquired.wait_for(0s) != std::future_status::ready)
        here.run_one();
    lease held = acquired.get();
    BOOST_TEST(held.valid());
    BOOST_TEST(threads() == before);
    bool released = false;
    held.release([&](error_code ec) { released = !ec; });
    here.restart();
    here.run();
    BOOST_TEST(released);
}

BOOST_AUTO_TEST_CASE(foreign_context_keeps_running_while_operation_is_pending)
{
    asio::io_context here;
    asio::io_context there;
    runners client_thread(here);
    client locks(here.get_executor(), real_servers::get().settings());
    outcome_ptr const result = std::make_shared<outcome>();
    mutex(locks, "foreign", long_lived).acquire(asio::bind_executor(there, keeps_outcome{result}));
    there.run_for(patience);
    BOOST_TEST(result->completions == 1U);
    BOOST_TEST(result->granted.valid());
    get(result->granted.release(asio::use_future));
}

/// A coroutine elsewhere is cancelled by its own thread at any moment of an operation on the client's thread.
BOOST_AUTO_TEST_CASE(cancellation_from_foreign_executor_completes_once)
{
    asio::io_context here;
    asio::io_context there;
    runners client_thread(here);
    client locks(here.get_executor(), real_servers::get().settings());
    mutex lock(locks, "foreign", impatient());
    for (unsigned steps = 0; steps != 100; ++steps) {
        asio::cancellation_signal cancel;
        auto const result = std::make_shared<outcome>();
        auto const body = [&]() -> asio::awaitable<void> {
            for (;;) {
                lease held = co_await lock.acquire(asio::use_awaitable);
                co_await held.extend(asio::use_awaitable);
                co_await held.release(asio::use_awaitable);
            }
        };
        asio::co_spawn(there, body(), asio::bind_cancellation_slot(cancel.slot(), keeps_outcome{result}));
        there.restart();
        for (unsigned i = 0; i != 1 + steps % 25; ++i) // begun: Boost 1.83 throws out of run() otherwise
            there.run_one_for(patience);
        cancel.emit(asio::cancellation_type::terminal);
        there.run_for(patience);
        BOOST_TEST(result->completions == 1U);
        BOOST_TEST(result->ec == asio::error::operation_aborted);
    }
    get(locks.shutdown(asio::use_future));
    BOOST_TEST(real_servers::get().empty());
}

/// The same with plain handlers and a signal of the caller's own.
BOOST_AUTO_TEST_CASE(cancellation_of_handler_bound_elsewhere_completes_once)
{
    asio::io_context here;
    asio::io_context there;
    runners client_thread(here);
    client locks(here.get_executor(), real_servers::get().settings());
    for (int round = 0; round != 100; ++round) {
        asio::cancellation_signal cancel;
        auto const result = std::make_shared<outcome>();
        mutex(locks, "bound", impatient())
            .acquire(asio::bind_executor(there,
                                         asio::bind_cancellation_slot(cancel.slot(), keeps_outcome{result})));
        cancel.emit(asio::cancellation_type::total);
        there.restart();
        there.run_for(patience);
        BOOST_TEST(result->completions == 1U);
        BOOST_TEST((!result->ec || result->ec == asio::error::operation_aborted));
        if (!result->granted.empty())
            get(result->granted.release(asio::use_future));
    }
    get(locks.shutdown(asio::use_future));
    BOOST_TEST(real_servers::get().empty());
}

BOOST_AUTO_TEST_CASE(handler_never_runs_inside_initiating_call)
{
    auto const check = [](operation const& op) {
        real_servers::get().clear(); // the keys of the previous test
        lone_client s(real_servers::get().settings());
        op.prepare(s);
        bool returned = false;
        asio::post(s.context, [&] { // on the client's executor, where nothing has to hop
            op.start(s);
            BOOST_TEST(!s.result->done());
            returned = true;
        });
        run_until(s.context, [&] { return returned; });
        s.cancel.emit(asio::cancellation_type::terminal);
        run_until(s.context, [&] { return s.result->done(); });
    };
    for (operation const& op : all_operations())
        BOOST_TEST_CONTEXT(op.name)
    check(op);
    auto const over = [](lone_client& s) {
        s.acquire("held");
        s.release();
    };
    auto const shut = [](lone_client& s) {
        s.acquire("held");
        (void)s.locks->shutdown(asio::use_future);
        run_dry(s.context);
    };
    check({"extend, released", over, [](lone_client& s) { s.held.extend(s.handler()); }});
    check({"release, released", over, [](lone_client& s) { s.held.release(s.handler()); }});
    check({"ended, released", over, [](lone_client& s) { s.held.ended(s.handler()); }});
    check({"acquire, shut down", shut, [](lone_client& s) { s.lock().acquire(s.handler()); }});
    check({"release, shut down", shut, [](lone_client& s) { s.held.release(s.handler()); }});
    check({"shutdown, shut down", shut, [](lone_client& s) { s.locks->shutdown(s.handler()); }});
    real_servers::get().clear();
}

BOOST_AUTO_TEST_CASE(handler_that_runs_the_context_delays_only_itself)
{
    lone_client s(real_servers::get().settings());
    std::vector<mutex> locks;
    for (char const* const name : {"one", "two", "three"})
        locks.emplace_back(*s.locks, name, long_lived);
    int released = 0;
    for (mutex& lock : locks)
        lock.acquire([&](boost::system::error_code, lease held) {
            auto const kept = std::make_shared<lease>(std::move(held));
            kept->release([&, kept](boost::system::error_code) { ++released; });
            s.context.poll_one();
        });
    run_until(s.context, [&] { return released == 3; });
    s.locks.reset();
    run_dry(s.context);
    BOOST_TEST(real_servers::get().empty());
}

static_assert(std::is_constructible_v<client, asio::io_context&, config> &&
              std::is_constructible_v<client, asio::any_io_executor, config> &&
              std::is_constructible_v<client, asio::io_context::executor_type, config> &&
              !std::is_constructible_v<client, asio::io_context const&, config> &&
              !std::is_constructible_v<client, asio::steady_timer&, config>);

BOOST_AUTO_TEST_CASE(client_accepts_context_in_place_of_executor)
{
    asio::io_context context;
    {
        client locks(context, real_servers::get().settings());
        BOOST_TEST((locks.get_executor() == asio::any_io_executor(context.get_executor())));
        mutex lock(locks, "of a context", long_lived);
        bool held = false;
        lock.acquire([&](error_code ec, lease const& granted) { held = !ec && granted.valid(); });
        run_until(context, [&] { return held; });
    }
    run_dry(context);
    BOOST_TEST(real_servers::get().empty());
    asio::thread_pool pool(1);
    BOOST_CHECK_THROW(client(pool, real_servers::get().settings()), lock_error);
}

BOOST_AUTO_TEST_CASE(executor_that_does_not_serialise_is_refused)
{
    auto const refused = [](asio::any_io_executor const& executor) {
        try {
            client const locks(executor, real_servers::get().settings());
        } catch (lock_error const& e) {
            return e.code() == errc::misconfigured &&
                   std::string(e.what()).find("strand") != std::string::npos;
        }
        return false;
    };
    asio::thread_pool pool(1);
    BOOST_TEST(refused(pool.get_executor()));
    BOOST_TEST(refused(asio::prefer(pool.get_executor(), asio::execution::outstanding_work.tracked)));
    BOOST_TEST(refused(asio::system_executor()));
    BOOST_TEST(refused(asio::require(asio::system_executor(), asio::execution::blocking.never)));
    BOOST_TEST(refused(asio::any_io_executor()));
    BOOST_TEST(!refused(asio::make_strand(pool)));
    BOOST_TEST(
        !refused(asio::any_io_executor(asio::make_strand(asio::any_io_executor(pool.get_executor())))));
}

BOOST_AUTO_TEST_SUITE_END()

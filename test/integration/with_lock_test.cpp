// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>

using namespace redlock;
using namespace redlock::test;

namespace {

struct own_failure : std::runtime_error {
    own_failure() : std::runtime_error("the body's own") {}
};

asio::awaitable<error_code> cancellation()
{
    error_code ec;
    asio::steady_timer timer(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    co_return ec;
}

/// Steps of the event loop that cancellation does not cut short.
asio::awaitable<void> unwind_slowly()
{
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    for (int i = 0; i != 10; ++i)
        co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
}

using coroutine = asio::awaitable<int>(lease&);
static_assert(lease_body<coroutine*> && acquirable<mutex> && acquirable<fenced_mutex>);
static_assert(timed_acquirable<mutex> && timed_acquirable<fenced_mutex> && !timed_acquirable<lease>);
static_assert(!lease_body<asio::awaitable<int>> && !lease_body<int (*)(lease&)> &&
              !lease_body<asio::awaitable<int> (*)(lease)> && !acquirable<mutex*> && !acquirable<lease>);

struct with_lock_fixture {
    cluster nodes{3};
    /// Lost about a second after the nodes fall silent; the keys stay for the checks.
    mutex lock = nodes.lock("lock", {.ttl = 1s, .slack = 40s, .node_timeout = 300ms});
    std::vector<std::string> log;

    void silence()
    {
        nodes.servers[0].pause();
        nodes.servers[2].pause();
    }
    bool ours(lease const& held) { return nodes.ask(1).get("lock") == std::string(held.nonce()); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(with_lock_bodies, with_lock_fixture)

BOOST_AUTO_TEST_CASE(with_lock_runs_body_under_lock_and_returns_its_value)
{
    nodes.run([&]() -> asio::awaitable<void> {
        auto body = [&](lease& held) -> asio::awaitable<std::string> {
            BOOST_TEST(held.valid());
            co_await until([&] { return nodes.holders("lock", held.nonce()) == 3; });
            co_return "done";
        };
        mutex calm = nodes.lock();
        std::string const said = co_await with_lock(calm, body);
        BOOST_TEST(said == "done");
        co_await until([&] { return nodes.no_keys(); });
    });
}

BOOST_AUTO_TEST_CASE(with_lock_gives_value_of_body_although_release_is_not_confirmed)
{
    nodes.run([&]() -> asio::awaitable<void> {
        auto body = [&](lease& held) -> asio::awaitable<int> {
            silence();
            BOOST_TEST(held.valid());
            co_return 42;
        };
        BOOST_TEST(co_await with_lock(lock, body) == 42);
    });
}

BOOST_AUTO_TEST_CASE(with_lock_on_loss_cancels_body_and_releases_after_unwinding)
{
    nodes.run([&]() -> asio::awaitable<void> {
        auto body = [&](lease& held) -> asio::awaitable<void> {
            silence();
            co_await asio::this_coro::throw_if_cancelled(false);
            error_code const woken = co_await cancellation();
            log.push_back(woken == asio::error::operation_aborted && !held.valid() ? "cancelled" : "wrong");
            co_await unwind_slowly();
            log.push_back(ours(held) ? "unwound before the release" : "released too early");
        };
        error_code const result = co_await error_of(with_lock(lock, body));
        log.push_back(result == errc::lease_lost ? "lease lost" : result.message());
        co_await until([&] { return !nodes.ask(1).exists("lock"); });
    });
    std::vector<std::string> const expected{"cancelled", "unwound before the release", "lease lost"};
    BOOST_TEST(log == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(with_lock_prefers_exception_of_body_to_loss)
{
    nodes.run([&]() -> asio::awaitable<void> {
        auto body = [&](lease&) -> asio::awaitable<void> {
            silence();
            co_await asio::this_coro::throw_if_cancelled(false);
            co_await cancellation();
            throw own_failure();
        };
        bool own = false;
        try {
            co_await with_lock(lock, body);
        } catch (own_failure const&) {
            own = true;
        }
        BOOST_TEST(own);
    });
}

BOOST_AUTO_TEST_CASE(with_lock_reports_loss_although_body_ended_normally)
{
    nodes.run([&]() -> asio::awaitable<void> {
        auto body = [&](lease& held) -> asio::awaitable<int> {
            silence();
            co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
            co_await until([&] { return !held.valid(); });
            co_return 7;
        };
        BOOST_TEST(co_await error_of(with_lock(lock, body)) == errc::lease_lost);
    });
}

BOOST_AUTO_TEST_CASE(with_lock_reports_loss_if_body_blocked_past_deadline)
{
    auto options = long_lived;
    options.max_hold = 200ms;
    nodes.run([&]() -> asio::awaitable<void> {
        auto body = [&](lease& held) -> asio::awaitable<void> {
            while (held.valid()) // no timer runs meanwhile
                ;
            co_return;
        };
        std::string told;
        try {
            co_await with_lock(nodes.lock("lock", options), body);
        } catch (lease_lost_error const& e) {
            BOOST_TEST(e.code() == errc::lease_lost);
            BOOST_TEST((e.cause() == loss_cause::max_hold));
            told = e.what();
        }
        BOOST_TEST(told.starts_with("lock \"lock\" lost (max_hold): last confirmed "), told);
    });
    nodes.run_until([&] { return nodes.no_keys(); });
}

/// The text of an outage would direct an operator to the servers.
BOOST_AUTO_TEST_CASE(with_lock_reports_that_body_blocked_its_thread)
{
    nodes.run([&]() -> asio::awaitable<void> {
        auto body = [&](lease& held) -> asio::awaitable<void> {
            wait_until([&] { return !held.valid(); });
            co_return;
        };
        std::optional<lease_lost_error> told;
        try {
            co_await with_lock(nodes.lock("lock", {.ttl = 2s, .node_timeout = 1500ms}), body);
        } catch (lease_lost_error const& e) {
            told = e;
        }
        BOOST_TEST_REQUIRE(told.has_value());
        BOOST_TEST((told->cause() == loss_cause::expired));
        BOOST_TEST(told->resource() == "lock");
        BOOST_TEST(contains(told->what(), "lock \"lock\" lost (expired): this client's thread was late by "),
                   told->what());
    });
    nodes.run_until([&] { return nodes.no_keys(); });
}

BOOST_AUTO_TEST_CASE(with_lock_in_outage_throws_lock_error_with_outcomes)
{
    nodes.run([&]() -> asio::awaitable<void> {
        auto body = [&](lease& held) -> asio::awaitable<void> {
            co_await until([&] { return held.votes() == 3; });
            nodes.kill(0);
            nodes.kill(2);
            co_await cancellation();
        };
        std::optional<lock_error> told;
        try {
            co_await with_lock(nodes.lock("lock", {.ttl = 2s, .node_timeout = 1500ms}), body);
        } catch (lock_error const& e) {
            told = e;
        }
        BOOST_TEST_REQUIRE(told.has_value());
        BOOST_TEST(told->code() == errc::lease_lost);
        BOOST_TEST((told->cause() == loss_cause::expired));
        BOOST_TEST_REQUIRE(told->outcomes().size() == 3U);
        for (std::size_t i : {0U, 2U}) {
            auto const result = told->outcomes()[i].result;
            BOOST_TEST(
                (result == node_result::unreachable || result == node_result::timed_out), // on a busy machine
                to_string(result));
            BOOST_TEST(told->outcomes()[i].ago.has_value());
            BOOST_TEST(contains(told->what(), nodes.proxy(i).url()), told->what());
        }
        BOOST_TEST(contains(told->what(), "; last confirmed ") != contains(told->what(), ": last confirmed "),
                   told->what());
    });
}

BOOST_AUTO_TEST_CASE(with_lock_on_shutdown_cancels_body_and_fails_with_shut_down)
{
    nodes.run([&]() -> asio::awaitable<void> {
        mutex calm = nodes.lock();
        auto body = [&](lease&) -> asio::awaitable<void> {
            nodes.locks->shutdown(asio::detached);
            co_await cancellation();
        };
        std::optional<lease_lost_error> told;
        try {
            co_await with_lock(calm, body);
        } catch (lease_lost_error const& e) {
            told = e;
        }
        BOOST_TEST_REQUIRE(told.has_value());
        BOOST_TEST(told->code() == errc::shut_down);
        BOOST_TEST(told->stage() == lock_stage::holding);
        BOOST_TEST(told->resource() == calm.name());
    });
}

/// Counts those that live.
struct counted {
    explicit counted(int& n) : alive(n) { ++alive; }
    counted(counted const& other) : alive(other.alive) { ++alive; }
    counted& operator=(counted const&) = delete;
    ~counted() { --alive; }
    int& alive;
};

/// Bodies with captures by value, in every way that compiles with g++ 12.
BOOST_AUTO_TEST_CASE(with_lock_keeps_captures_of_body_alive_and_destroys_them_once)
{
    int alive = 0;
    mutex calm = nodes.lock();
    nodes.run([&]() -> asio::awaitable<void> {
        auto body = [kept = counted(alive)](lease&) -> asio::awaitable<int> { co_return kept.alive; };
        BOOST_TEST(co_await with_lock(calm, body) > 1); // its copy
        BOOST_TEST(co_await with_lock(calm, std::ref(body)) == 1);
    });
    BOOST_TEST(alive == 0);
    int seen = 0;
    with_lock(
        calm, [kept = counted(alive)](lease&) -> asio::awaitable<int> { co_return kept.alive; },
        [&](std::exception_ptr, int living) { seen = living; });
    nodes.run_until([&] { return seen != 0; });
    BOOST_TEST(seen == 1);
    nodes.run_until([&] { return alive == 0; });
}

BOOST_AUTO_TEST_CASE(with_lock_releases_and_rethrows_exception_of_body)
{
    nodes.run([&]() -> asio::awaitable<void> {
        auto body = [&](lease& held) -> asio::awaitable<void> {
            co_await until([&] { return nodes.holders("lock", held.nonce()) == 3; });
            throw own_failure();
        };
        bool own = false;
        mutex calm = nodes.lock();
        try {
            co_await with_lock(calm, body);
        } catch (own_failure const&) {
            own = true;
        }
        BOOST_TEST(own);
        co_await until([&] { return nodes.no_keys(); });
    });
}

BOOST_AUTO_TEST_CASE(with_lock_without_lease_never_runs_body)
{
    nodes.everywhere({"SET", "lock", "stranger"});
    nodes.run([&]() -> asio::awaitable<void> {
        auto body = [&](lease&) -> asio::awaitable<void> {
            log.emplace_back("ran");
            co_return;
        };
        BOOST_TEST(co_await error_of(with_lock_for(nodes.lock(), 20ms, body)) == errc::timed_out);
        BOOST_TEST(log.empty());
    });
}

BOOST_AUTO_TEST_CASE(with_lock_for_limits_the_wait_and_not_the_body)
{
    nodes.run([&]() -> asio::awaitable<void> {
        auto waits_in_vain = [&](lease&) -> asio::awaitable<void> {
            log.emplace_back("ran");
            co_return;
        };
        auto body = [&](lease& held) -> asio::awaitable<bool> {
            BOOST_TEST(co_await error_of(with_lock_for(nodes.lock(), 20ms, waits_in_vain)) ==
                       errc::timed_out);
            co_return held.valid(); // after more time than it was given for the wait
        };
        BOOST_TEST(co_await with_lock_for(nodes.lock(), 0ns, body));
        BOOST_TEST(log.empty());
        co_await until([&] { return nodes.no_keys(); });
    });
}

BOOST_AUTO_TEST_CASE(with_lock_passes_cancellation_to_body_and_releases)
{
    asio::cancellation_signal signal;
    std::optional<std::exception_ptr> outcome;
    bool running = false;
    auto body = [&](lease&) -> asio::awaitable<void> {
        running = true;
        co_await until([] { return false; });
    };
    mutex calm = nodes.lock();
    with_lock(calm, body,
              asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr e) { outcome = e; }));
    nodes.run_until([&] { return running; });
    signal.emit(asio::cancellation_type::terminal);
    nodes.run_until([&] { return outcome.has_value(); });
    BOOST_REQUIRE(*outcome);
    BOOST_CHECK_EXCEPTION(std::rethrow_exception(*outcome), boost::system::system_error,
                          [](auto const& e) { return e.code() == asio::error::operation_aborted; });
    nodes.run_until([&] { return nodes.no_keys(); });
}

BOOST_AUTO_TEST_CASE(with_lock_ends_its_wait_when_cancelled)
{
    nodes.everywhere({"SET", "lock", "stranger"});
    asio::cancellation_signal signal;
    std::optional<std::exception_ptr> outcome;
    auto body = [&](lease&) -> asio::awaitable<void> { co_return; };
    mutex calm = nodes.lock();
    with_lock(calm, body,
              asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr e) { outcome = e; }));
    nodes.run_until([&] { return nodes.told->count(errc::contended) > 1; });
    signal.emit(asio::cancellation_type::total);
    nodes.run_until([&] { return outcome.has_value(); });
    BOOST_REQUIRE(*outcome);
    BOOST_CHECK_EXCEPTION(std::rethrow_exception(*outcome), boost::system::system_error,
                          [](auto const& e) { return e.code() == asio::error::operation_aborted; });
}

BOOST_AUTO_TEST_CASE(with_lock_tolerates_signal_that_outlives_the_context)
{
    asio::cancellation_signal of_the_first;
    asio::cancellation_signal of_the_second;
    bool first_done = false;
    bool second_done = false;
    {
        cluster one(1);
        bool running = false;
        auto at_once = [](lease&) -> asio::awaitable<void> { co_return; };
        auto for_ever = [&](lease&) -> asio::awaitable<void> {
            running = true;
            co_await cancellation();
        };
        with_lock(one.lock(), at_once,
                  asio::bind_cancellation_slot(of_the_first.slot(),
                                               [&](std::exception_ptr) { first_done = true; }));
        one.run_until([&] { return first_done; });
        with_lock(one.lock(), for_ever,
                  asio::bind_cancellation_slot(of_the_second.slot(),
                                               [&](std::exception_ptr) { second_done = true; }));
        one.run_until([&] { return running; });
    }
    of_the_first.emit(asio::cancellation_type::terminal);
    of_the_second.emit(asio::cancellation_type::terminal);
    BOOST_TEST(!second_done);
}

BOOST_AUTO_TEST_SUITE_END()

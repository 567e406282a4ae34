// SPDX-License-Identifier: BSL-1.0
#include <redlock/redlock.hpp>
#include <redlock/testing/world.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using boost::system::error_code;
using redlock::testing::data;
using redlock::testing::world;

namespace {

/// Returns `what()` of the exception; "nothing" if there is none.
template <class Error>
std::string complaint(std::function<void()> const& work)
{
    try {
        work();
    } catch (Error const& e) {
        return e.what();
    }
    return "nothing";
}

bool says(std::string const& text, std::string_view part)
{
    BOOST_TEST_MESSAGE(text);
    return text.find(part) != std::string::npos;
}

/// Servers, a client, and one lock of it.
struct three_servers_fixture {
    asio::io_context context;
    world servers{context};
    client locks = servers.make_client();
    mutex lock{locks, "seat:42"};

    [[nodiscard]] asio::awaitable<error_code> try_it()
    {
        error_code ec;
        lease const got = co_await lock.try_acquire(asio::redirect_error(asio::use_awaitable, ec));
        co_return ec;
    }
    [[nodiscard]] lease acquire() { return servers.run(taken()); }
    [[nodiscard]] asio::awaitable<lease> taken() { co_return co_await lock.acquire(); }
    [[nodiscard]] asio::awaitable<lease> taken_fenced(std::string name, client& from)
    {
        fenced_mutex fenced(from, std::move(name));
        co_return co_await fenced.acquire();
    }
    /// Returns the result of `ended()`.
    std::shared_ptr<std::optional<lease_end>> watch(lease& held)
    {
        auto told = std::make_shared<std::optional<lease_end>>();
        held.ended([told](error_code, lease_end end) { *told = end; });
        return told;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(simulated_world, three_servers_fixture)

BOOST_AUTO_TEST_CASE(world_grants_free_lock_at_once)
{
    BOOST_TEST(!servers.run(try_it()));
    BOOST_TEST((servers.elapsed() == 0ns));
    servers.advance(0ms);
    BOOST_TEST(!servers.held("seat:42"));
}

BOOST_AUTO_TEST_CASE(world_hold_makes_lock_contended_until_let_go)
{
    servers.hold("seat:42");
    BOOST_TEST(servers.held("seat:42"));
    BOOST_TEST((servers.run(try_it()) == errc::contended));
    BOOST_CHECK_THROW(servers.hold("seat:42"), std::logic_error);
    bool acquired = false;
    lock.acquire([&](error_code ec, lease const&) { acquired = !ec; });
    servers.advance(1s);
    BOOST_TEST(!acquired);
    servers.let_go("seat:42");
    servers.advance(100ms);
    BOOST_TEST(acquired);
}

BOOST_AUTO_TEST_CASE(world_hold_with_ttl_expires)
{
    servers.hold("seat:42", 5s);
    lease const held = acquire();
    BOOST_TEST(held.valid());
    BOOST_TEST((servers.elapsed() >= 5s && servers.elapsed() < 6s));
}

BOOST_AUTO_TEST_CASE(world_renews_lease_while_it_is_held)
{
    lease held = acquire();
    auto const told = watch(held);
    servers.advance(10min);
    BOOST_TEST(held.valid());
    BOOST_TEST(!told->has_value());
}

BOOST_AUTO_TEST_CASE(world_loses_lease_when_majority_is_cut)
{
    lease held = acquire();
    auto const told = watch(held);
    servers.cut(0);
    servers.cut(1);
    servers.advance(9s);
    BOOST_TEST(held.valid());
    servers.advance(1s);
    BOOST_TEST(!held.valid());
    BOOST_TEST_REQUIRE(told->has_value());
    BOOST_TEST((**told == lease_end::lost));
    BOOST_TEST((held.cause() == loss_cause::expired));
    servers.mend(0);
    servers.mend(1);
    BOOST_TEST(acquire().valid());
}

BOOST_AUTO_TEST_CASE(world_lose_ends_lease)
{
    lease held = acquire();
    auto const told = watch(held);
    servers.lose(held);
    servers.advance(0ms);
    BOOST_TEST_REQUIRE(told->has_value());
    BOOST_TEST((held.cause() == loss_cause::refused));
    BOOST_TEST(!servers.held("seat:42"));
}

/// Deleting the keys would not be enough: an extension sets them again.
BOOST_AUTO_TEST_CASE(world_lose_ends_fenced_lease)
{
    client other = servers.make_client({.key_prefix = "app:"});
    for (client* from : {&locks, &other}) {
        lease held = servers.run(taken_fenced("account", *from));
        std::uint64_t const token = held.fencing_token();
        auto const told = watch(held);
        servers.lose(held);
        BOOST_TEST(!servers.held("account"));
        servers.advance(0ms);
        BOOST_TEST_REQUIRE(told->has_value());
        BOOST_TEST((held.cause() == loss_cause::refused));
        BOOST_TEST(servers.run(taken_fenced("account", *from)).fencing_token() > token);
    }
}

/// They share keys with other leases, which stay valid.
BOOST_AUTO_TEST_CASE(world_lose_ends_lease_of_reader_and_of_permits)
{
    client others = servers.make_client();
    auto const kinds = [](client& from) {
        return std::vector<any_lock>{
            shared_mutex(from, "prices").shared(), fenced_shared_mutex(from, "rates").shared(),
            semaphore(from, "pool", 4).taking(2), fenced_semaphore(from, "crew", 4).taking(2)};
    };
    auto const of_others = kinds(others);
    for (std::size_t i = 0; any_lock const& ours : kinds(locks)) {
        lease const theirs = servers.run(of_others[i++].try_acquire(asio::use_awaitable));
        lease held = servers.run(ours.try_acquire(asio::use_awaitable));
        auto const told = watch(held);
        servers.lose(held);
        servers.advance(0ms);
        BOOST_TEST_REQUIRE(told->has_value());
        BOOST_TEST((held.cause() == loss_cause::refused));
        servers.advance(20s);
        BOOST_TEST(theirs.valid());
        held = servers.run(ours.try_acquire(asio::use_awaitable));
        BOOST_TEST(held.valid());
    }
}

BOOST_AUTO_TEST_CASE(world_lose_ends_lease_while_minority_is_down)
{
    servers.kill(2);
    lease plain = acquire();
    lease fenced = servers.run(taken_fenced("account", locks));
    for (lease* held : {&plain, &fenced}) {
        servers.lose(*held);
        servers.advance(0ms);
        BOOST_TEST((held->cause() == loss_cause::refused));
    }
    servers.lose(plain); // it is
}

BOOST_AUTO_TEST_CASE(world_lose_refuses_lease_that_is_not_held)
{
    lease held = acquire();
    lease moved = std::move(held);
    BOOST_TEST(says(complaint<std::logic_error>([&] { servers.lose(held); }), "empty"));
    moved.detach();
    servers.advance(0ms);
    BOOST_TEST(says(complaint<std::logic_error>([&] { servers.lose(moved); }), "released"));
}

BOOST_AUTO_TEST_CASE(world_flush_of_all_servers_expires_fenced_lease)
{
    lease held = servers.run(taken_fenced("account", locks));
    servers.advance(1s);
    for (std::size_t n = 0; n != servers.size(); ++n)
        servers.flush(n);
    servers.advance(1s);
    BOOST_TEST(held.valid());
    servers.advance(10s);
    BOOST_TEST((held.cause() == loss_cause::expired));
}

BOOST_AUTO_TEST_CASE(world_flush_of_majority_ends_lease)
{
    lease held = acquire();
    servers.flush(0);
    servers.flush(1);
    servers.advance(4s); // its next renewal
    BOOST_TEST((held.cause() == loss_cause::refused));
}

BOOST_AUTO_TEST_CASE(world_kills_and_restarts_servers)
{
    BOOST_TEST(!servers.run(try_it()));
    servers.kill(0);
    servers.kill(1);
    BOOST_TEST((servers.run(try_it()) == errc::no_quorum));
    servers.restart(0, data::kept);
    servers.restart(1);
    servers.advance(5s);
    BOOST_TEST((servers.run(try_it()) == errc::no_quorum)); // they may have forgotten something
    servers.advance(12s);
    BOOST_TEST(!servers.run(try_it()));
}

BOOST_AUTO_TEST_CASE(world_restarts_server_with_data_if_told)
{
    for (data what : {data::kept, data::lost}) {
        world one(context, 1);
        one.hold("seat:42");
        one.kill(0);
        BOOST_TEST(!one.held("seat:42"));
        one.restart(0, what);
        BOOST_TEST(one.held("seat:42") == (what == data::kept));
    }
}

BOOST_AUTO_TEST_CASE(world_stalls_servers_and_exhausts_their_memory)
{
    servers.exhaust_memory(0);
    servers.exhaust_memory(1);
    BOOST_TEST((servers.run(try_it()) == errc::no_quorum));
    BOOST_TEST((lock.last_attempt()[0].error == server_error::oom));
    servers.exhaust_memory(0, false);
    servers.exhaust_memory(1, false);
    servers.stall(0, 100ms);
    servers.stall(1, 100ms);
    BOOST_TEST(!servers.run(try_it()));
    BOOST_TEST((servers.elapsed() >= 100ms));
}

BOOST_AUTO_TEST_CASE(world_gives_increasing_tokens)
{
    fenced_mutex fenced(locks, "account", {.ttl = 10s});
    auto token = [&]() -> asio::awaitable<std::uint64_t> {
        lease held = co_await fenced.acquire();
        co_return held.fencing_token();
    };
    std::uint64_t const first = servers.run(token());
    BOOST_TEST(first > 0U);
    BOOST_TEST(servers.run(token()) > first);
}

BOOST_AUTO_TEST_CASE(world_clients_exclude_each_other_like_processes)
{
    lease const held = acquire();
    client other = servers.make_client({.key_prefix = {}});
    mutex theirs(other, "seat:42");
    error_code ec;
    theirs.try_acquire([&](error_code why, lease const&) { ec = why; });
    servers.advance(0ms);
    BOOST_TEST((ec == errc::contended));
}

/// A lease that outlives its validity in a coroutine that waits, too.
BOOST_AUTO_TEST_CASE(world_lets_coroutines_sleep_in_its_time)
{
    auto work = [&]() -> asio::awaitable<bool> {
        lease held = co_await lock.acquire();
        servers.cut(0);
        servers.cut(1);
        co_await servers.sleep(11s);
        co_return held.valid();
    };
    BOOST_TEST(!servers.run(work()));
    BOOST_TEST((servers.elapsed() >= 11s));
}

BOOST_AUTO_TEST_CASE(world_loss_cancels_body_of_with_lock)
{
    bool unwound = false;
    auto body = [&](lease&) -> asio::awaitable<void> {
        struct note {
            bool& flag;
            ~note() { flag = true; }
        } const end{unwound};
        co_await servers.sleep(1h);
    };
    auto job = [&]() -> asio::awaitable<void> { co_await with_lock(lock, body); };
    auto result = asio::co_spawn(context, job(), asio::use_future);
    servers.advance(1s);
    servers.flush(0);
    servers.flush(1);
    servers.advance(10s);
    BOOST_TEST(unwound);
    BOOST_CHECK_THROW(result.get(), lease_lost_error);
}

/// Events that need no time happen, whichever function runs the context.
BOOST_AUTO_TEST_CASE(world_works_if_test_runs_the_context)
{
    bool acquired = false;
    lock.acquire([&](error_code ec, lease const& got) { acquired = !ec && got.valid(); });
    context.run();
    BOOST_TEST(acquired);
}

BOOST_AUTO_TEST_CASE(world_refuses_invalid_arguments_and_nested_runs)
{
    BOOST_CHECK_THROW(world(context, 0), std::invalid_argument);
    BOOST_CHECK_THROW(world(context, 64), std::invalid_argument);
    BOOST_CHECK_THROW(servers.kill(3), std::out_of_range);
    BOOST_CHECK_THROW(servers.cut(3), std::out_of_range);
    auto nested = [&]() -> asio::awaitable<void> {
        servers.advance(1s);
        co_return;
    };
    BOOST_CHECK_THROW(servers.run(nested()), std::logic_error);
}

/// A retry loop without a pause would otherwise run permanently.
BOOST_AUTO_TEST_CASE(world_run_without_passing_time_throws)
{
    auto again = []() -> asio::awaitable<void> {
        for (;;)
            co_await asio::post(asio::use_awaitable);
    };
    BOOST_TEST(says(complaint<std::runtime_error>([&] { servers.run(again()); }), "no time passes"));
    BOOST_TEST((servers.elapsed() < 10s));
}

BOOST_AUTO_TEST_CASE(world_allows_many_events_at_one_instant)
{
    auto busy = [&]() -> asio::awaitable<void> {
        for (int i = 0; i != 100'000; ++i)
            co_await asio::post(asio::use_awaitable);
    };
    servers.run(busy());
    BOOST_TEST((servers.elapsed() == 0ns));
}

BOOST_AUTO_TEST_CASE(world_run_until_with_nothing_pending_throws)
{
    auto const why = complaint<std::runtime_error>([&] { servers.run_until([] { return false; }); });
    BOOST_TEST(says(why, "nothing can happen any more"));
    BOOST_TEST(says(why, "Timers"));
    BOOST_TEST((servers.elapsed() == 0ns));
}

/// An idle client is none to wait for.
BOOST_AUTO_TEST_CASE(world_run_until_with_only_idle_client_throws)
{
    BOOST_TEST(!servers.run(try_it()));
    auto const why = complaint<std::runtime_error>([&] { servers.run_until([] { return false; }); });
    BOOST_TEST(says(why, "nothing can happen any more"));
    BOOST_TEST((servers.elapsed() < 10min));
}

BOOST_AUTO_TEST_CASE(world_run_past_its_limit_throws_and_names_sleepers)
{
    auto for_ever = [&]() -> asio::awaitable<void> { co_await servers.sleep(100h); };
    auto const hour = complaint<std::runtime_error>([&] { servers.run(for_ever()); });
    BOOST_TEST(says(hour, "3600000 ms of the world's time are over"));
    BOOST_TEST(says(hour, "1 coroutine"));
    BOOST_TEST((servers.elapsed() == 1h));
    auto const more = complaint<std::runtime_error>([&] { servers.run(for_ever(), 2h); });
    BOOST_TEST(says(more, "7200000 ms"));
    BOOST_TEST(says(more, "2 coroutines"));
    BOOST_TEST((servers.elapsed() == 3h));
    BOOST_TEST(
        says(complaint<std::runtime_error>([&] { servers.run_until([] { return false; }, 5s); }), "5000 ms"));
    BOOST_TEST((servers.elapsed() == 3h + 5s));
    lease const held = acquire();
    BOOST_CHECK_THROW(servers.run_until([] { return false; }, 1min), std::runtime_error);
    BOOST_TEST((servers.elapsed() == 3h + 65s));
}

BOOST_AUTO_TEST_CASE(world_runs_longer_than_an_hour_if_told)
{
    servers.run(servers.sleep(90min), 2h);
    servers.run(servers.sleep(90min), std::chrono::milliseconds::max());
    BOOST_TEST((servers.elapsed() == 3h));
}

BOOST_AUTO_TEST_CASE(world_counts_only_coroutines_still_sleeping)
{
    servers.run(servers.sleep(1s));
    lease const held = acquire();
    auto const why = complaint<std::runtime_error>([&] { servers.run_until([] { return false; }); });
    BOOST_TEST(!says(why, "coroutine"));
}

BOOST_AUTO_TEST_CASE(world_refuses_conditions_that_run_it)
{
    for (std::function<void()> const& nested : std::initializer_list<std::function<void()>>{
             [&] { servers.advance(1s); }, [&] { servers.run(servers.sleep(1s)); },
             [&] { servers.run_until([] { return true; }); }}) {
        auto const why = complaint<std::logic_error>([&] {
            servers.run_until([&] {
                nested();
                return true;
            });
        });
        BOOST_TEST(says(why, "conditions"));
    }
    servers.advance(1s);
    BOOST_TEST((servers.elapsed() == 1s));
}

BOOST_AUTO_TEST_CASE(world_refuses_negative_times)
{
    auto refused = [](std::function<void()> const& work) {
        return says(complaint<std::invalid_argument>(work), "-5 ms");
    };
    BOOST_TEST(refused([&] { servers.advance(-5ms); }));
    BOOST_TEST(refused([&] { servers.run(servers.sleep(-5ms)); }));
    BOOST_TEST(refused([&] { servers.stall(0, -5ms); }));
    BOOST_TEST(refused([&] { servers.hold("seat:42", -5ms); }));
    BOOST_TEST(refused([&] { servers.run(servers.sleep(0ms), -5ms); }));
    BOOST_TEST(refused([&] { servers.run_until([] { return true; }, -5ms); }));
    BOOST_TEST((servers.elapsed() == 0ns));
    BOOST_TEST(says(complaint<std::invalid_argument>([&] { servers.hold("seat:42", 0ms); }), "0 ms"));
    BOOST_TEST(!servers.held("seat:42"));
}

BOOST_AUTO_TEST_CASE(world_accepts_largest_time)
{
    constexpr auto for_ever = std::chrono::milliseconds::max();
    auto const job = asio::co_spawn(context, servers.sleep(for_ever), asio::use_future);
    servers.hold("seat:42", for_ever);
    servers.stall(0, for_ever);
    BOOST_TEST(says(complaint<std::invalid_argument>([&] { servers.advance(for_ever); }), "100 years"));
    servers.advance(24h * 365 * 60);
    BOOST_CHECK_THROW(servers.advance(24h * 365 * 60), std::invalid_argument);
    BOOST_TEST((job.wait_for(0s) != std::future_status::ready));
    BOOST_CHECK_THROW(servers.run_until([] { return false; }, for_ever), std::runtime_error);
    BOOST_TEST((servers.elapsed() == 24h * 365 * 100));
    BOOST_TEST(servers.held("seat:42"));
}

BOOST_AUTO_TEST_CASE(world_hold_without_reachable_server_throws)
{
    servers.cut(0);
    servers.kill(1);
    servers.exhaust_memory(2);
    BOOST_TEST(says(complaint<std::logic_error>([&] { servers.hold("seat:42"); }), "no server"));
    servers.mend(0);
    servers.hold("seat:42"); // on one of three
    BOOST_TEST(!servers.held("seat:42"));
}

/// The world's own servers are new, also for settings without nodes: fenced locks need not wait for their markers.
BOOST_AUTO_TEST_CASE(world_client_with_only_observer_gets_settings_of_world)
{
    struct counter : observer {
        int acquired = 0;
        void on_acquire(acquire_event const&) noexcept override { ++acquired; }
    };
    auto const mine = std::make_shared<counter>();
    client watched = servers.make_client({.observer = mine});
    BOOST_TEST(servers.run(taken_fenced("account", watched)).valid());
    BOOST_TEST((servers.elapsed() == 0ns));
    BOOST_TEST(mine->acquired == 1);
}

/// If nodes are named, all settings are the test's.
BOOST_AUTO_TEST_CASE(world_client_with_nodes_keeps_its_own_settings)
{
    config wary = servers.settings();
    wary.admission.assume_fresh = false;
    client theirs = servers.make_client(wary);
    BOOST_TEST(servers.run(taken_fenced("account", theirs)).valid());
    BOOST_TEST((servers.elapsed() > 10s));
}

/// As a cancelled timer does: the work behind it is not done.
BOOST_AUTO_TEST_CASE(world_sleep_ends_when_cancelled)
{
    asio::cancellation_signal cancel;
    bool went_on = false;
    auto const work = [&]() -> asio::awaitable<void> {
        co_await servers.sleep(1h);
        went_on = true;
    };
    auto done =
        asio::co_spawn(context, work(), asio::bind_cancellation_slot(cancel.slot(), asio::use_future));
    servers.advance(1s);
    cancel.emit(asio::cancellation_type::terminal);
    servers.advance(0ms);
    BOOST_TEST((done.wait_for(0s) == std::future_status::ready));
    BOOST_CHECK_THROW(done.get(), boost::system::system_error);
    BOOST_TEST(!went_on);
}

BOOST_AUTO_TEST_CASE(world_checks_condition_between_events_of_one_instant)
{
    auto const work = [&]() -> asio::awaitable<void> {
        lease held = co_await lock.acquire();
        co_await held.release();
    };
    asio::co_spawn(context, work(), asio::detached);
    servers.run_until([&] { return servers.held("seat:42"); });
    BOOST_TEST(!servers.held("seat:42")); // the rest of the moment has happened, too
    unsigned count = 0;
    std::function<void()> const spin = [&] {
        ++count;
        asio::post(context, spin);
    };
    spin();
    servers.run_until([&] { return count > 5; });
}

BOOST_AUTO_TEST_CASE(world_lose_ends_fenced_lease_without_server_memory)
{
    lease held = servers.run(taken_fenced("x", locks));
    for (std::size_t n = 0; n != servers.size(); ++n)
        servers.exhaust_memory(n);
    servers.lose(held);
    servers.advance(0ms);
    BOOST_TEST((held.state() == lease_state::lost));
    BOOST_TEST((held.cause() == loss_cause::refused));
}

BOOST_AUTO_TEST_CASE(world_lose_refuses_lease_of_another_world)
{
    world others(context);
    client theirs = others.make_client();
    lease ours = acquire();
    mutex same(theirs, "seat:42");
    lease foreign =
        others.run([](mutex m) -> asio::awaitable<lease> { co_return co_await m.acquire(); }(same));
    BOOST_TEST(says(complaint<std::logic_error>([&] { servers.lose(foreign); }), "another world"));
    servers.advance(0ms);
    BOOST_TEST(ours.valid());
    BOOST_TEST(foreign.valid());
}

BOOST_AUTO_TEST_CASE(world_hold_of_unavailable_lock_throws_with_reason)
{
    servers.cut(1);
    servers.cut(2);
    servers.hold("x");
    BOOST_TEST(says(complaint<std::logic_error>([&] { servers.hold("x"); }),
                    "held on every server that can be reached"));
    BOOST_TEST(
        says(complaint<std::invalid_argument>([&] { servers.hold("x", -1ms); }), "no time is negative"));
    BOOST_TEST(says(complaint<std::invalid_argument>([&] { servers.hold(""); }), "empty"));
}

BOOST_AUTO_TEST_CASE(world_run_past_hundred_years_throws)
{
    servers.advance(std::chrono::hours{24} * 365 * 100 - 10s);
    auto const work = [&]() -> asio::awaitable<void> { co_await servers.sleep(20s); };
    BOOST_TEST(says(complaint<std::runtime_error>([&] { servers.run(work()); }), "100 years"));
}

BOOST_AUTO_TEST_CASE(world_restart_clears_flushed_or_stalled_server)
{
    servers.hold("x");
    servers.kill(0);
    servers.kill(1);
    servers.flush(0);
    servers.stall(0, 1h);
    servers.restart(0, data::kept);
    servers.restart(1, data::kept);
    servers.flush(2);
    BOOST_TEST(!servers.held("x"));
    config settings = servers.settings();
    settings.nodes = {settings.nodes[0]};
    client one = servers.make_client(settings);
    mutex there(one, "y");
    servers.run([](mutex m) -> asio::awaitable<void> { (void)co_await m.acquire(); }(there), 1min);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(world_end)

BOOST_AUTO_TEST_CASE(leases_and_clients_may_be_destroyed_after_their_world)
{
    asio::io_context context;
    {
        world servers(context);
        client locks = servers.make_client();
        mutex lock(locks, "seat:42");
        lease held;
        lock.acquire([&](error_code, lease got) { held = std::move(got); });
        servers.advance(1s);
        BOOST_TEST(held.valid());
        lock.acquire([](error_code, lease const&) {});
        servers.advance(1s);
    }
    context.run();
}

/// As a cancelled timer does, so that `run()` returns.
BOOST_AUTO_TEST_CASE(destroyed_world_ends_pending_sleeps)
{
    asio::io_context context;
    auto servers = std::make_unique<world>(context);
    auto begun = asio::co_spawn(context, servers->sleep(1s), asio::use_future);
    servers->advance(0ms);
    auto not_begun = asio::co_spawn(context, servers->sleep(1s), asio::use_future);
    servers.reset();
    context.restart();
    context.run();
    BOOST_CHECK_THROW(begun.get(), boost::system::system_error);
    BOOST_CHECK_THROW(not_begun.get(), boost::system::system_error);
}

BOOST_AUTO_TEST_SUITE_END()

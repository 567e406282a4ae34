// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_future.hpp>

#include <thread>

using namespace redlock;
using namespace redlock::test;

namespace {

struct shutdown_fixture {
    cluster nodes{3};

    asio::awaitable<lease> take(std::string name)
    {
        mutex lock = nodes.lock(std::move(name));
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3; });
        co_return held;
    }
    bool all_idle()
    {
        auto const table = nodes.locks->node_table();
        return std::ranges::all_of(table, [](auto const& node) { return node.state == node_state::idle; });
    }
    bool nobody_connected()
    {
        return std::ranges::all_of(nodes.proxies,
                                   [](auto const& proxy) { return proxy->connections() == 0; });
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(shutting_down, shutdown_fixture)

BOOST_AUTO_TEST_CASE(shutdown_releases_every_lease_and_closes_connections)
{
    nodes.run([&]() -> asio::awaitable<void> {
        std::vector<lease> held;
        for (int i = 0; i != 20; ++i)
            held.push_back(co_await take("lock:" + std::to_string(i)));
        std::vector<lease_end> ends;
        for (lease& one : held)
            one.ended([&](error_code, lease_end end) { ends.push_back(end); });
        BOOST_TEST(!co_await error_of(nodes.locks->shutdown(asio::use_awaitable)));
        co_await until([&] { return ends.size() == held.size() && nodes.no_keys() && nobody_connected(); });
        for (lease_end const end : ends)
            BOOST_TEST(end == lease_end::shut_down);
        for (lease& one : held) {
            BOOST_TEST(!one.valid());
            BOOST_TEST(co_await error_of(one.extend(asio::use_awaitable)) == errc::shut_down);
            BOOST_TEST(co_await error_of(one.release(asio::use_awaitable)) == errc::shut_down);
        }
        BOOST_TEST(all_idle());
    });
    run_dry(nodes.context);
}

BOOST_AUTO_TEST_CASE(operation_after_shutdown_fails_with_shut_down)
{
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock();
        co_await nodes.locks->shutdown();
        BOOST_TEST(co_await error_of(lock.acquire(asio::use_awaitable)) == errc::shut_down);
        BOOST_TEST(co_await error_of(lock.try_acquire(asio::use_awaitable)) == errc::shut_down);
        BOOST_TEST(!co_await error_of(nodes.locks->shutdown(asio::use_awaitable)));
    });
    run_dry(nodes.context);
    for (std::size_t i = 0; i != 3; ++i)
        BOOST_TEST(nodes.proxy(i).accepted() == 0U);
}

BOOST_AUTO_TEST_CASE(several_operations_may_wait_for_shutdown)
{
    nodes.run([&]() -> asio::awaitable<void> {
        lease const held = co_await take("lock");
        std::vector<error_code> ends;
        for (int i = 0; i != 3; ++i)
            nodes.locks->shutdown([&](error_code ec) { ends.push_back(ec); });
        co_await until([&] { return ends.size() == 3; });
        for (error_code const& end : ends)
            BOOST_TEST(!end);
        co_await until([&] { return nodes.no_keys(); });
    });
}

BOOST_AUTO_TEST_CASE(shutdown_may_be_called_from_another_thread)
{
    std::vector<lease> held;
    nodes.run([&]() -> asio::awaitable<void> { held.push_back(co_await take("lock")); });
    nodes.context.restart();
    auto done = nodes.locks->shutdown(asio::use_future);
    std::thread runner([&] { nodes.context.run(); });
    done.get();
    runner.join();
    nodes.run_until([&] { return nodes.no_keys(); });
    BOOST_TEST(!held[0].valid());
}

BOOST_AUTO_TEST_CASE(shutdown_ends_operations_in_every_phase)
{
    nodes.warm_up();
    nodes.everywhere({"SET", "taken", "stranger"});
    nodes.run([&]() -> asio::awaitable<void> {
        std::vector<error_code> ends;
        auto const note = [&](error_code ec, lease const& nothing) {
            BOOST_TEST(nothing.empty());
            ends.push_back(ec);
        };
        mutex waiting = nodes.lock("taken");
        waiting.acquire(note);
        co_await until([&] { return nodes.told->count(errc::contended) > 0; });
        for (auto const& proxy : nodes.proxies)
            proxy->hold(direction::to_client);
        mutex voting = nodes.lock("voting");
        voting.acquire(note);
        co_await until([&] { return nodes.ask(0).exists("voting"); });
        // The servers do it all, but no word of that comes back.
        BOOST_TEST(co_await error_of(nodes.locks->shutdown(asio::use_awaitable)) == errc::no_quorum);
        co_await until([&] { return ends.size() == 2; });
        for (error_code const& end : ends)
            BOOST_TEST(end == errc::shut_down);
        co_await until([&] { return nodes.keys_left() == 3; }); // the stranger's
    });
}

BOOST_AUTO_TEST_CASE(shutdown_without_majority_ends_in_time_with_no_quorum)
{
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock("lock", {.ttl = 30s, .node_timeout = 200ms});
        lease const held = co_await lock.acquire();
        nodes.servers[0].pause();
        nodes.servers[1].pause();
        BOOST_TEST(co_await error_of(nodes.locks->shutdown(asio::use_awaitable)) == errc::no_quorum);
        BOOST_TEST(!held.valid());
    });
    run_dry(nodes.context);
}

BOOST_AUTO_TEST_CASE(shutdown_with_every_node_gone_does_not_reconnect)
{
    std::vector<lease> held;
    nodes.run([&]() -> asio::awaitable<void> {
        held.push_back(co_await take("one"));
        held.push_back(co_await take("two"));
        for (std::size_t i = 0; i != 3; ++i)
            nodes.kill(i);
        auto const down = [&](std::size_t i) {
            return nodes.locks->node_table()[i].state == node_state::down;
        };
        co_await until([&] { return down(0) && down(1) && down(2); });
        BOOST_TEST(co_await error_of(nodes.locks->shutdown(asio::use_awaitable)) == errc::no_quorum);
        BOOST_TEST(all_idle());
    });
    run_dry(nodes.context);
    BOOST_TEST(all_idle());
}

BOOST_AUTO_TEST_CASE(cancellation_of_shutdown_ends_only_the_wait)
{
    asio::cancellation_signal signal;
    nodes.run([&]() -> asio::awaitable<void> {
        lease const held = co_await take("lock");
        for (auto const& proxy : nodes.proxies)
            proxy->hold(direction::to_server);
        std::optional<error_code> end;
        nodes.locks->shutdown(asio::bind_cancellation_slot(signal.slot(), [&](error_code ec) { end = ec; }));
        co_await until([&] { return nodes.proxy(2).held(direction::to_server) > 0; });
        signal.emit(asio::cancellation_type::total);
        co_await until([&] { return end.has_value(); });
        BOOST_TEST(*end == asio::error::operation_aborted);
        for (auto const& proxy : nodes.proxies)
            proxy->release();
        co_await until([&] { return nodes.no_keys() && nobody_connected(); });
        BOOST_TEST(all_idle());
    });
}

/// The release is the last thing that the shutdown waits for, and fails among votes that fail with it.
BOOST_AUTO_TEST_CASE(shutdown_survives_end_of_connection_with_commands_under_way)
{
    cluster one(1);
    one.warm_up();
    one.run([&]() -> asio::awaitable<void> {
        mutex first = one.lock("first");
        mutex second = one.lock("second");
        lease held = co_await first.acquire();
        one.proxy(0).hold(direction::to_client);
        std::optional<error_code> release;
        std::optional<error_code> end;
        std::vector<error_code> acquisitions;
        held.release([&](error_code ec) { release = ec; });
        for (int i = 0; i != 3; ++i)
            second.acquire([&](error_code ec, lease const&) { acquisitions.push_back(ec); });
        one.locks->shutdown([&](error_code ec) { end = ec; });
        co_await until(
            [&] { return !one.ask(0).exists("first") && one.proxy(0).held(direction::to_client); });
        one.proxy(0).reset_all();
        co_await until([&] { return release && end && acquisitions.size() == 3; });
        BOOST_TEST(*release == errc::no_quorum);
        BOOST_TEST(*end == errc::no_quorum);
        for (error_code const& ec : acquisitions)
            BOOST_TEST(ec == errc::shut_down);
    });
    run_dry(one.context);
}

BOOST_AUTO_TEST_CASE(shutdown_does_not_report_earlier_failed_releases)
{
    cluster one(1);
    one.warm_up();
    one.run([&]() -> asio::awaitable<void> {
        mutex lock = one.lock();
        lease held = co_await lock.acquire();
        one.proxy(0).hold(direction::to_client);
        std::optional<error_code> release;
        held.release([&](error_code ec) { release = ec; });
        co_await until([&] { return one.proxy(0).held(direction::to_client) > 0; });
        one.proxy(0).reset_all();
        one.proxy(0).release();
        co_await until([&] { return release.has_value(); });
        BOOST_TEST(*release == errc::no_quorum);
        held = co_await lock.acquire();
        co_await held.release();
        BOOST_TEST(!co_await error_of(one.locks->shutdown(asio::use_awaitable)));
    });
}

BOOST_AUTO_TEST_CASE(lease_after_shutdown_is_released_and_lost_tells_shut_down)
{
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await take("lock");
        co_await nodes.locks->shutdown();
        BOOST_TEST(to_string(held.state()) == "released");
        BOOST_TEST(co_await held.ended() == lease_end::shut_down);
    });
}

BOOST_AUTO_TEST_CASE(shutdown_errors_have_no_outcomes_of_other_attempts)
{
    nodes.run([&]() -> asio::awaitable<void> {
        lease const held = co_await take("lock");
        mutex same = nodes.lock("lock");
        co_await nodes.locks->shutdown();
        BOOST_TEST(same.last_attempt().size() == 3U);
        std::optional<lock_error> told;
        try {
            (void)co_await same.acquire();
        } catch (lock_error const& e) {
            told = e;
        }
        BOOST_TEST_REQUIRE(told.has_value());
        BOOST_TEST(told->code() == errc::shut_down);
        BOOST_TEST(told->outcomes().empty());
        BOOST_TEST(std::string(told->what()) == "lock \"lock\": client shut down");
    });
}

/// An attempt that is under way goes on for the next in the queue only where that one is to have a chance.
BOOST_AUTO_TEST_CASE(shutdown_starts_no_votes_for_operations_it_ends)
{
    nodes.run([&]() -> asio::awaitable<void> {
        lease warm = co_await take("warm");
        co_await warm.release();
        for (auto const& proxy : nodes.proxies)
            proxy->hold(direction::to_client);
        std::size_t ended = 0;
        for (int i = 0; i != 100; ++i)
            nodes.lock("lock", {.ttl = i % 2 == 0 ? 10min : 9min}).acquire([&](error_code ec, lease) {
                BOOST_TEST(ec == errc::shut_down);
                ++ended;
            });
        for (std::size_t i = 0; i != 3; ++i) // all have executed it, and no answer is read
            co_await until([&] { return nodes.ask(i).exists("lock"); });
        auto done = nodes.locks->shutdown(asio::use_future);
        for (auto const& proxy : nodes.proxies)
            proxy->release();
        co_await until([&] { return ended == 100 && nodes.no_keys() && nobody_connected(); });
        for (std::size_t i = 0; i != 3; ++i)
            BOOST_TEST(nodes.ask(i).command_calls("set") == 2);
    });
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>

using namespace redlock;
using namespace redlock::test;

namespace {

struct cleanup_fixture {
    cluster nodes{3};
    mutex lock = nodes.lock();
    asio::cancellation_signal signal;
    std::optional<error_code> result;
    lease granted;

    void start()
    {
        lock.acquire(asio::bind_cancellation_slot(signal.slot(), [this](error_code ec, lease held) {
            result = ec;
            granted = std::move(held);
        }));
    }
    void cancel_and_wait()
    {
        signal.emit(asio::cancellation_type::terminal);
        nodes.run_until([&] { return result.has_value(); });
        BOOST_TEST(*result == asio::error::operation_aborted);
        BOOST_TEST(granted.empty());
    }
    /// Nothing left and nothing coming: the context runs out of work, then every node is asked.
    void must_be_clean()
    {
        run_dry(nodes.context);
        nodes.run_until([&] { return nodes.no_keys(); });
    }
    void must_be_clean_without_running()
    {
        asio::io_context another;
        run_until(another, [&] { return nodes.no_keys(); });
    }
    void occupy(std::size_t index) { nodes.ask(index).command({"SET", "lock", "stranger"}); }
    bool only_strangers()
    {
        for (std::size_t i = 0; i != 3; ++i)
            if (auto const value = nodes.ask(i).get("lock"); value && value != "stranger")
                return false;
        return true;
    }
    void hold_all(direction way)
    {
        for (auto const& proxy : nodes.proxies)
            proxy->hold(way);
    }
    void vote_and_hold_replies()
    {
        nodes.warm_up();
        hold_all(direction::to_client);
        start();
        nodes.run_until([&] { return nodes.keys_left() == 3; });
    }
    void release_all()
    {
        for (auto const& proxy : nodes.proxies)
            proxy->release();
    }
    void take_and(std::function<void(lease)> act)
    {
        nodes.run([&]() -> asio::awaitable<void> {
            lease held = co_await lock.acquire();
            co_await until([&] { return held.votes() == 3; });
            act(std::move(held));
        });
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(cleanup, cleanup_fixture)

BOOST_AUTO_TEST_CASE(failed_attempt_leaves_no_keys)
{
    occupy(0);
    occupy(1);
    nodes.run([&]() -> asio::awaitable<void> {
        BOOST_TEST(co_await error_of(lock.try_acquire(asio::use_awaitable)) == errc::contended);
    });
    nodes.run_until([&] { return only_strangers() && !nodes.ask(2).exists("lock"); });
    BOOST_TEST(nodes.ask(0).get("lock").value() == "stranger");
}

BOOST_AUTO_TEST_CASE(acquire_cancelled_while_connecting_leaves_no_keys)
{
    hold_all(direction::to_server);
    start();
    nodes.run_until([&] {
        return std::ranges::all_of(nodes.proxies,
                                   [](auto const& p) { return p->held(direction::to_server) > 0; });
    });
    cancel_and_wait();
    release_all();
    must_be_clean();
}

BOOST_AUTO_TEST_CASE(acquire_cancelled_with_votes_under_way_leaves_no_keys)
{
    nodes.warm_up();
    hold_all(direction::to_server);
    start();
    nodes.run_until([&] { return nodes.proxy(2).held(direction::to_server) > 0; });
    cancel_and_wait();
    release_all();
    must_be_clean();
}

BOOST_AUTO_TEST_CASE(acquire_cancelled_with_replies_under_way_leaves_no_keys)
{
    vote_and_hold_replies();
    cancel_and_wait();
    BOOST_TEST(nodes.keys_left() <= 3U);
    release_all();
    must_be_clean();
}

BOOST_AUTO_TEST_CASE(acquire_cancelled_between_two_attempts_leaves_no_keys)
{
    occupy(0);
    occupy(1);
    auto options = long_lived;
    options.retry.min_delay = 20h;
    options.retry.max_delay = 20h;
    lock = nodes.lock("lock", options);
    start();
    nodes.run_until([&] { return nodes.told->count(errc::contended) > 0; });
    cancel_and_wait();
    nodes.run_until([&] { return only_strangers() && !nodes.ask(2).exists("lock"); });
}

BOOST_AUTO_TEST_CASE(acquire_cancelled_at_every_step_leaves_no_keys)
{
    nodes.warm_up();
    bool granted_once = false;
    for (int step = 0; !granted_once; ++step) {
        BOOST_REQUIRE(step < 1000);
        result.reset();
        start();
        for (int i = 0; i != step && !result; ++i) {
            nodes.context.restart();
            nodes.context.run_one_for(1s);
        }
        granted_once = result && !*result;
        signal.emit(asio::cancellation_type::terminal);
        nodes.run_until([&] { return result.has_value(); });
        BOOST_TEST((!*result || *result == asio::error::operation_aborted));
        BOOST_TEST(!granted.empty() == !*result);
        granted = {};
        must_be_clean();
    }
}

BOOST_AUTO_TEST_CASE(destroyed_lease_leaves_no_keys)
{
    take_and([](lease) {});
    must_be_clean();
}

BOOST_AUTO_TEST_CASE(overwritten_lease_leaves_no_keys)
{
    mutex other = nodes.lock("other");
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3; });
        held = co_await other.acquire();
        BOOST_TEST(held.resource() == "other");
        co_await until([&] { return !nodes.ask(0).exists("lock") && !nodes.ask(1).exists("lock"); });
        BOOST_TEST(nodes.holders("other", held.nonce()) >= 2U);
        lease moved = std::move(held);
        BOOST_TEST(held.empty()); // NOLINT(bugprone-use-after-move): empty by contract
        BOOST_TEST(moved.valid());
    });
    must_be_clean();
}

BOOST_AUTO_TEST_CASE(lease_dropped_by_its_handler_leaves_no_keys)
{
    lock.acquire([](error_code, lease) {});
    must_be_clean();
}

BOOST_AUTO_TEST_CASE(client_destroyed_in_a_handler_leaves_no_keys)
{
    std::vector<lease> held;
    take_and([&](lease one) {
        held.push_back(std::move(one));
        nodes.locks.reset();
    });
    BOOST_TEST(!held[0].valid());
    must_be_clean();
}

BOOST_AUTO_TEST_CASE(client_destroyed_outside_its_context_leaves_no_keys)
{
    std::vector<lease> held;
    take_and([&](lease one) { held.push_back(std::move(one)); });
    nodes.context.stop();
    nodes.locks.reset();
    must_be_clean_without_running();
    BOOST_TEST(!held[0].valid());
}

BOOST_AUTO_TEST_CASE(client_that_tracks_work_destroyed_outside_leaves_no_keys)
{
    nodes.locks = std::make_unique<client>(
        asio::prefer(nodes.context.get_executor(), asio::execution::outstanding_work.tracked),
        nodes.settings);
    lock = nodes.lock();
    std::vector<lease> held;
    take_and([&](lease one) { held.push_back(std::move(one)); });
    nodes.context.stop();
    nodes.locks.reset();
    must_be_clean_without_running();
    BOOST_TEST(!held[0].valid());
}

/// A server reads no more of a connection that was closed, once it has tried to answer.
BOOST_AUTO_TEST_CASE(client_destroyed_with_many_leases_leaves_no_keys)
{
    constexpr std::size_t many = 500;
    config past = nodes.settings; // straight to the servers
    past.nodes = nodes.servers.urls();
    nodes.locks = std::make_unique<client>(nodes.context.get_executor(), past);
    std::vector<lease> held;
    for (std::size_t i = 0; i != many; ++i)
        nodes.lock("lock " + std::to_string(i), unrenewed).acquire([&](error_code, lease one) {
            held.push_back(std::move(one));
        });
    nodes.run_until([&] { return held.size() == many && nodes.keys_left() == 3 * many; });
    nodes.locks.reset();
    must_be_clean();
}

BOOST_AUTO_TEST_CASE(client_destroyed_with_votes_under_way_leaves_no_keys)
{
    vote_and_hold_replies();
    nodes.locks.reset();
    nodes.run_until([&] { return result.has_value(); });
    BOOST_TEST(*result == errc::shut_down);
    release_all();
    must_be_clean();
}

BOOST_AUTO_TEST_CASE(context_destroyed_with_pending_operations_leaks_nothing)
{
    occupy(0);
    occupy(1);
    start();
    nodes.run_until([&] { return nodes.told->count(errc::contended) > 0; });
    // The fixture goes with a waiter, and its memory must go too: the sanitizers look.
    BOOST_TEST(!result);
}

BOOST_AUTO_TEST_CASE(shutdown_with_leases_and_waiters_leaves_no_keys)
{
    occupy(0);
    occupy(1);
    start();
    nodes.run([&]() -> asio::awaitable<void> {
        mutex other = nodes.lock("other");
        lease held = co_await other.acquire();
        co_await until([&] { return held.votes() == 3; });
        co_await nodes.locks->shutdown();
        co_await until([&] { return result.has_value(); });
        BOOST_TEST(!held.valid());
    });
    BOOST_TEST(*result == errc::shut_down);
    run_dry(nodes.context);
    nodes.run_until([&] { return nodes.keys_left() == 2 && only_strangers(); });
}

BOOST_AUTO_TEST_CASE(vote_executed_before_connection_reset_is_undone)
{
    nodes.warm_up();
    hold_all(direction::to_client);
    std::optional<error_code> attempt;
    lock.try_acquire([&](error_code ec, lease held) {
        attempt = ec;
        granted = std::move(held);
    });
    nodes.run_until([&] { return nodes.keys_left() == 3; });
    for (auto const& proxy : nodes.proxies)
        proxy->reset_all();
    release_all();
    nodes.run_until([&] { return attempt.has_value(); });
    BOOST_TEST(*attempt == errc::no_quorum);
    must_be_clean(); // nobody uses the client any more, and still it comes back to clean up
}

BOOST_AUTO_TEST_CASE(release_lost_with_its_connection_is_sent_again)
{
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3; });
        hold_all(direction::to_server);
        std::optional<error_code> released;
        held.release([&](error_code ec) { released = ec; });
        co_await until([&] { return nodes.proxy(2).held(direction::to_server) > 0; });
        for (auto const& proxy : nodes.proxies)
            proxy->reset_all();
        release_all();
        co_await until([&] { return released.has_value(); });
        BOOST_TEST(*released == errc::no_quorum);
    });
    must_be_clean();
}

BOOST_AUTO_TEST_CASE(release_missed_by_a_node_is_sent_when_it_returns)
{
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3; });
        nodes.proxy(1).refuse();
        nodes.proxy(1).reset_all();
        co_await held.release();
        BOOST_TEST(nodes.ask(1).exists("lock"));
        nodes.proxy(1).accept();
        // Told at the next opportunity, which any operation of this client is.
        mutex other = nodes.lock("other");
        lease next = co_await other.acquire();
        co_await until([&] { return !nodes.ask(1).exists("lock"); });
    });
    must_be_clean();
}

BOOST_AUTO_TEST_SUITE_END()

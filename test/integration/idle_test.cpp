// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

using namespace redlock;
using namespace redlock::test;

namespace {

struct idle_fixture {
    cluster nodes{3};
    unsigned done = 0;

    asio::awaitable<void> use_once()
    {
        mutex lock = nodes.lock();
        lease held = co_await lock.acquire();
        co_await held.release();
        ++done;
    }
    void spawn_once() { asio::co_spawn(nodes.context, use_once(), asio::detached); }

    /// Connections that introduced themselves as ours.
    bool connected(std::size_t index)
    {
        return contains(nodes.ask(index).command({"CLIENT", "LIST"}), "name=redlock");
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(idle, idle_fixture)

BOOST_AUTO_TEST_CASE(unused_client_does_not_connect)
{
    run_dry(nodes.context);
    for (std::size_t i = 0; i != 3; ++i)
        BOOST_TEST(nodes.proxy(i).accepted() == 0U);
}

BOOST_AUTO_TEST_CASE(run_returns_after_last_release_with_open_connections)
{
    spawn_once();
    run_dry(nodes.context);
    BOOST_TEST(done == 1U);
    for (std::size_t i = 0; i != 3; ++i)
        BOOST_TEST(connected(i));
}

BOOST_AUTO_TEST_CASE(run_returns_although_a_node_is_down)
{
    nodes.proxy(1).refuse();
    spawn_once();
    run_dry(nodes.context);
    BOOST_TEST(done == 1U);
}

BOOST_AUTO_TEST_CASE(run_returns_after_outage_of_all_nodes)
{
    for (auto const& proxy : nodes.proxies)
        proxy->refuse();
    std::optional<error_code> result;
    mutex lock = nodes.lock();
    lock.try_acquire([&](error_code ec, lease) { result = ec; });
    run_dry(nodes.context);
    BOOST_REQUIRE(result.has_value());
    BOOST_TEST(*result == errc::no_quorum);
}

BOOST_AUTO_TEST_CASE(held_lease_keeps_run_going)
{
    std::optional<lease> held;
    mutex lock = nodes.lock("lock", {.ttl = 600ms, .renew = false, .node_timeout = 500ms});
    std::optional<lease_end> end;
    lock.acquire([&](error_code, lease granted) {
        held = std::move(granted);
        held->ended([&](error_code, lease_end how) { end = how; });
    });
    run_dry(nodes.context); // until the lease is over by itself
    BOOST_REQUIRE(end.has_value());
    BOOST_TEST((*end == lease_end::lost));
}

BOOST_AUTO_TEST_CASE(client_works_again_after_run_has_returned)
{
    for (unsigned i = 1; i != 6; ++i) {
        spawn_once();
        run_dry(nodes.context);
        BOOST_TEST(done == i);
    }
    for (std::size_t i = 0; i != 3; ++i)
        BOOST_TEST(nodes.proxy(i).accepted() == 1U); // over the connections it had
    BOOST_TEST(nodes.no_keys());
}

BOOST_AUTO_TEST_CASE(servers_restarted_while_idle_cost_no_vote)
{
    // Straight to the servers: a proxy would keep its side of a dead connection open.
    config settings = patient(nodes.servers.urls());
    settings.observer = nodes.told;
    settings.admission.trust_restarted_nodes = true; // here it is the connections that count
    client locks(nodes.context.get_executor(), settings);
    mutex lock(locks, "lock", long_lived);
    auto const use = [&]() -> asio::awaitable<void> {
        lease held = co_await lock.acquire();
        BOOST_TEST(held.attempts() == 1U);
        for (node_outcome const& row : lock.last_attempt())
            BOOST_TEST((row.result == node_result::granted || row.result == node_result::pending));
        co_await until([&] { return held.votes() == 3; });
        co_await held.release();
    };
    for (int round = 0; round != 3; ++round) {
        nodes.run(use);
        run_dry(nodes.context);
        for (std::size_t i = 0; i != 3; ++i)
            nodes.restart(i);
    }
    BOOST_TEST(nodes.told->attempts.size() == 3U);
    for (error_code const& result : nodes.told->attempts)
        BOOST_TEST(!result);
    BOOST_TEST(nodes.told->count(node_state::ready) == 9);
    BOOST_TEST(nodes.told->count(node_state::down) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <boost/test/data/test_case.hpp>

#include <cstdint>
#include <string>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Returns the token of a client without any earlier knowledge.
asio::awaitable<std::uint64_t> token_of_a_newcomer(cluster& nodes)
{
    client newcomer(nodes.context.get_executor(), nodes.settings);
    fenced_mutex lock(newcomer, "lock", long_lived);
    lease held = co_await lock.acquire();
    BOOST_TEST(held.valid());
    auto const token = held.fencing_token();
    co_await held.release();
    co_await until([&] { return nodes.free_everywhere(); });
    co_return token;
}

/// The node's clock in milliseconds.
std::uint64_t clock_of(probe& node)
{
    auto const said = node.command({"TIME"}); // "[seconds, microseconds]"
    auto const comma = said.find(',');
    return std::stoull(said.substr(1)) * 1000 + std::stoull(said.substr(comma + 1)) / 1000;
}

std::size_t const how_many[] = {2, 3};

} // namespace

BOOST_AUTO_TEST_SUITE(lost_fences)

BOOST_DATA_TEST_CASE(fences_lost_on_nodes_make_no_token_smaller, how_many, lost)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        std::uint64_t last = 0;
        for (std::size_t i = 0; i != 5; ++i) {
            auto const token = co_await token_of_a_newcomer(nodes);
            BOOST_TEST(token > last);
            last = token;
            for (std::size_t node = 0; node != lost; ++node)
                nodes.ask((i + node) % 3).command({"DEL", fence_key});
        }
    });
}

/// Clients that saw the markers wait until the quarantine is over. Other clients depend on the date.
// rule F6
BOOST_DATA_TEST_CASE(fences_lost_by_flush_make_no_token_smaller, either, by_a_newcomer)
{
    cluster nodes(3);
    fenced_mutex lock(*nodes.locks, "lock", {.ttl = 600ms, .slack = 100ms, .node_timeout = 300ms});
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await lock.acquire();
        while (held.votes() != 3) // a node that was still connecting got no vote
            co_await held.extend();
        auto const before = held.fencing_token();
        co_await held.release();
        for (probe& node : nodes.probes)
            node.command({"FLUSHALL"});
        if (by_a_newcomer) {
            BOOST_TEST(co_await token_of_a_newcomer(nodes) > before);
        } else {
            BOOST_TEST(co_await error_of(lock.try_acquire()) == errc::no_quorum);
            held = co_await lock.acquire();
            BOOST_TEST(held.fencing_token() > before);
        }
    });
}

/// Nodes whose clocks are behind, by less than half a quarantine, take a proposal as it is.
BOOST_AUTO_TEST_CASE(fences_lost_with_differing_clocks_make_no_token_smaller)
{
    cluster nodes(3, {}, {.own_clock = true});
    nodes.servers[0].set_clock_ahead(-100s);
    nodes.servers[1].set_clock_ahead(-50s);
    nodes.run([&]() -> asio::awaitable<void> {
        nodes.proxy(0).refuse();
        auto const first = co_await token_of_a_newcomer(nodes);
        for (probe& node : nodes.probes)
            node.command({"PEXPIRE", fence_key, "0"});
        nodes.proxy(0).accept();
        nodes.proxy(2).refuse();
        BOOST_TEST(co_await token_of_a_newcomer(nodes) > first);
    });
}

/// For the client, this is the same as if its own clock were an hour off.
BOOST_DATA_TEST_CASE(fence_is_never_an_hour_ahead_of_node_clocks, either, client_ahead)
{
    cluster nodes(3, {}, {.own_clock = true});
    for (auto const& server : nodes.servers)
        server->set_clock_ahead(client_ahead ? -1h : 1h);
    nodes.run([&]() -> asio::awaitable<void> {
        fenced_mutex lock(*nodes.locks, "lock", long_lived);
        lease held = co_await lock.acquire();
        auto const left = held.remaining();
        BOOST_TEST((left > 8min && left < long_lived.ttl));
        auto const half_of_the_keys_time = std::uint64_t{11 * 60 * 1000 / 2};
        std::uint64_t latest = 0;
        for (probe& node : nodes.probes)
            latest = std::max(latest, clock_of(node));
        BOOST_TEST((held.fencing_token() >> 10U) <= latest + half_of_the_keys_time);
        co_await held.extend();
        auto const first = held.fencing_token();
        co_await held.release();
        co_await until([&] { return nodes.free_everywhere(); });
        BOOST_TEST(co_await token_of_a_newcomer(nodes) > first);
    });
}

BOOST_AUTO_TEST_SUITE_END()

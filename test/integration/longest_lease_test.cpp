// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

using namespace redlock;
using namespace redlock::test;

namespace {

/// A client that meets the servers for the first time.
client newcomer(cluster& nodes, std::optional<std::chrono::milliseconds> longest)
{
    config settings = nodes.settings;
    settings.admission.assume_fresh = false;
    settings.admission.longest_ttl = longest;
    return {nodes.context.get_executor(), settings};
}

/// One server that two clients mark. One of them has long leases.
struct marked_node_fixture : cluster {
    marked_node_fixture() : cluster(1, {}, {.young = true}), short_client(context.get_executor(), settings) {}

    client short_client;
    fenced_mutex long_lock{*locks, "long", long_lived};
    fenced_mutex short_lock{short_client, "short", short_lived};

    asio::awaitable<void> meet_and_flush()
    {
        co_await (co_await long_lock.acquire()).release();
        co_await (co_await short_lock.acquire()).release();
        ask(0).command({"FLUSHALL"});
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(different_longest_ttl)

/// Why C6 speaks of it. Both servers that forget are young enough for the keys they had, but not for shorter ones.
// rule N4
BOOST_AUTO_TEST_CASE(disagreement_on_longest_ttl_lets_both_hold_after_restart)
{
    cluster nodes(3, {}, {.young = true});
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock();
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3; });
        for (std::size_t i : {0U, 1U}) {
            nodes.kill(i);
            nodes.restart(i);
        }
        client informed = newcomer(nodes, long_lived.ttl);
        client uninformed = newcomer(nodes, std::nullopt);
        mutex same(uninformed, "lock", short_lived);
        lease second = co_await same.acquire(); // when its own, short quarantine is over
        BOOST_TEST(second.valid());
        BOOST_TEST(held.valid());
        co_await second.release();
        BOOST_TEST(co_await attempt_once(mutex(informed, "lock", short_lived)) == errc::no_quorum);
    });
}

/// The node keeps the moment of the loss. How long a lock waits from then on is its own.
// rule F6
BOOST_FIXTURE_TEST_CASE(each_client_waits_as_long_as_its_own_keys_may_live, marked_node_fixture)
{
    run([&]() -> asio::awaitable<void> {
        co_await meet_and_flush();
        for (int i = 0; i != 2; ++i) // the first vote finds no marker, the second leaves it
            BOOST_TEST(co_await attempt_once(short_lock) == errc::no_quorum);
        auto const marker = ask(0).get(marker_key);
        BOOST_TEST(marker.has_value());
        lease held = co_await short_lock.acquire();
        BOOST_TEST(held.valid());
        for (int i = 0; i != 3; ++i)
            BOOST_TEST(co_await attempt_once(long_lock) == errc::no_quorum);
        BOOST_TEST((ask(0).get(marker_key) == marker));
    });
}

BOOST_AUTO_TEST_SUITE_END()

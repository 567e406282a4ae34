// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>

using namespace redlock;
using namespace redlock::test;

namespace {

struct marker_fixture : cluster {
    marker_fixture() : cluster(3, {}, {.young = true}) {}

    fenced_mutex fenced(lock_options options = short_lived) { return {*locks, "lock", options}; }

    std::string marker(std::size_t node) { return ask(node).get(marker_key).value_or(""); }

    /// All three hold it, and all three markers stand.
    asio::awaitable<lease> hold(fenced_mutex lock)
    {
        lease held = co_await lock.acquire();
        while (held.votes() != 3) // a node that was still connecting got no vote
            co_await held.extend();
        for (std::size_t i = 0; i != 3; ++i)
            co_await until([&] { return !marker(i).empty(); });
        co_return held;
    }
};

node_result result_of(fenced_mutex const& lock, std::size_t node)
{
    return lock.last_attempt().at(node).result;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(markers, marker_fixture)

// rule F6
BOOST_AUTO_TEST_CASE(plain_lock_leaves_no_marker)
{
    run([&]() -> asio::awaitable<void> {
        mutex plain = lock();
        lease held = co_await plain.acquire();
        co_await until([&] { return held.votes() == 3; });
        for (std::size_t i = 0; i != 3; ++i)
            BOOST_TEST(!ask(i).exists(marker_key));
    });
}

// rule F6
BOOST_AUTO_TEST_CASE(flushed_node_votes_again_after_its_quarantine)
{
    run([&]() -> asio::awaitable<void> {
        fenced_mutex lock = fenced();
        lease held = co_await hold(lock);
        co_await held.release();
        ask(0).command({"FLUSHALL"});
        ask(1).command({"FLUSHALL"});
        BOOST_TEST(co_await error_of(lock.try_acquire()) == make_error_code(errc::no_quorum));
        BOOST_TEST((result_of(lock, 0) == node_result::quarantined ||
                    result_of(lock, 1) == node_result::quarantined));
        co_await until([&] { // for all to see, though its connection stands
            (void)lock.try_acquire([](error_code, lease) {});
            return std::ranges::any_of(locks->node_table(), [](node_status const& node) {
                return node.state == node_state::quarantined && node.remaining > 0ms;
            });
        });
        held = co_await lock.acquire(); // waits for it
        BOOST_TEST(held.valid());
    });
}

// rule F6
BOOST_AUTO_TEST_CASE(flushed_node_does_not_confirm_fenced_lease)
{
    run([&]() -> asio::awaitable<void> {
        lock_options options = long_lived;
        fenced_mutex lock = fenced(options);
        lease held = co_await hold(lock);
        ask(0).command({"FLUSHALL"});
        co_await held.extend();
        co_await until([&] { return held.votes() == 2; });
        ask(1).command({"FLUSHALL"});
        BOOST_TEST(co_await error_of(held.extend()) == make_error_code(errc::no_quorum));
        BOOST_TEST(held.valid()); // its old deadline stands
    });
}

/// The connection, the run id and the uptime survive it, the data do not.
// rule F6
BOOST_AUTO_TEST_CASE(node_with_replaced_data_is_quarantined)
{
    run([&]() -> asio::awaitable<void> {
        fenced_mutex lock = fenced();
        lease held = co_await hold(lock);
        co_await held.release();
        co_await until([&] { return free_everywhere(); });
        std::string const before = marker(0);
        ask(1).command({"CONFIG", "SET", "repl-diskless-sync-delay", "0"});
        ask(0).command({"REPLICAOF", "127.0.0.1", std::to_string(servers[1].port())});
        co_await until([&] { return marker(0) != before; });
        ask(0).command({"REPLICAOF", "NO", "ONE"});
        held = co_await lock.acquire();
        co_await until([&] { return held.votes() >= 2; });
        BOOST_TEST(!ask(0).get("lock").has_value());
        co_await held.release();
        for (std::size_t const i : {std::size_t{1}, std::size_t{2}})
            ask(i).command({"SET", "lock", "stranger"});
        BOOST_TEST(co_await error_of(lock.try_acquire()) == make_error_code(errc::contended));
        // The other nodes may have decided before it answered; when it has answered, the time left is known.
        while (result_of(lock, 0) != node_result::quarantined || !lock.last_attempt().at(0).remaining)
            BOOST_TEST(co_await error_of(lock.try_acquire()) == make_error_code(errc::contended));
    });
}

/// A server gives its data a new name when its first replica connects. Clients that connected before know the old name.
/// old one.
// rule F6
BOOST_AUTO_TEST_CASE(first_replica_does_not_make_clients_fight_over_marker)
{
    cluster one(1);
    redis_server replica;
    client newer(one.context.get_executor(), patient(one.urls()));
    fenced_mutex older_lock(*one.locks, "lock", short_lived);
    fenced_mutex newer_lock(newer, "other", short_lived);
    one.run([&]() -> asio::awaitable<void> {
        auto const marker = [&] { return one.ask(0).get(marker_key).value_or(""); };
        co_await (co_await older_lock.acquire()).release();
        std::string const before = marker();
        probe(replica.port()).command({"REPLICAOF", "127.0.0.1", std::to_string(one.servers[0].port())});
        co_await until([&] { return contains(one.ask(0).info("replication"), "connected_slaves:1"); });
        co_await (co_await newer_lock.acquire()).release();
        std::string const after = marker();
        BOOST_TEST(after != before);
        for (int i = 0; i != 3; ++i) {
            co_await (co_await older_lock.acquire()).release();
            BOOST_TEST(marker() == after);
            co_await (co_await newer_lock.acquire()).release();
            BOOST_TEST(marker() == after);
        }
    });
    BOOST_TEST(one.told->count(node_state::connecting) == 2);
    // A quarantine whose marker is answered late lasts a little longer than was told, and is told again: it is still one.
    auto& changes = one.told->nodes;
    changes.erase(std::ranges::unique(changes, {}, &recorder::node_change::state).begin(), changes.end());
    BOOST_TEST(one.told->count(node_state::quarantined) == 1);
}

/// Only an operator can mend that: nobody connects anew for it, and nobody waits for a quarantine that does not end.
// rule F6
BOOST_AUTO_TEST_CASE(marker_that_cannot_be_set_is_reported)
{
    ask(0).command({"LPUSH", marker_key, "x"});
    ask(1).command({"LPUSH", marker_key, "x"});
    run([&]() -> asio::awaitable<void> {
        fenced_mutex lock = fenced();
        BOOST_TEST(co_await error_of(lock.acquire()) == make_error_code(errc::no_quorum));
        for (std::size_t i = 0; i != 2; ++i) {
            BOOST_TEST((result_of(lock, i) == node_result::refused));
            BOOST_TEST(contains(lock.last_attempt().at(i).detail, "WRONGTYPE"));
            BOOST_TEST(proxy(i).accepted() == 1U);
        }
        ask(0).command({"DEL", marker_key});
        lease held = co_await lock.acquire();
        BOOST_TEST(held.valid());
    });
}

BOOST_AUTO_TEST_SUITE_END()

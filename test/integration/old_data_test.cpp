// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Two clients, on ways of their own, that have met every node. The servers load the copy of their data that was made
/// last, as from a backup, when they start again.
struct backup_fixture : cluster {
    backup_fixture() : cluster(3)
    {
        config others = settings;
        others.nodes = servers.urls();
        other = std::make_unique<client>(context.get_executor(), others);
        run([&]() -> asio::awaitable<void> {
            co_await meet(*locks);
            co_await meet(*other);
        });
    }

    /// Fenced, so that the markers stand.
    asio::awaitable<void> meet(client& who)
    {
        lease held = co_await held_everywhere(fenced_mutex(who, "warm", long_lived));
        co_await held.release();
        co_await until([&] { return free_everywhere("warm"); });
    }
    void back_up(std::size_t node) { BOOST_TEST(ask(node).command({"SAVE"}) == "OK"); }
    /// Then these nodes' copies know an older holder, whose nonce `before` becomes, and not this one.
    asio::awaitable<lease> held_since_backup_of(std::vector<std::size_t> nodes, mutex lock,
                                                std::string& before)
    {
        lease old = co_await lock.acquire();
        co_await until([&] { return old.votes() == 3; });
        before = old.nonce();
        for (std::size_t const node : nodes)
            back_up(node);
        co_await old.release();
        co_await until([&] { return free_everywhere(); });
        co_return co_await voted_everywhere(mutex(*other, "lock", long_lived));
    }
    void crash_and_restore(std::size_t node)
    {
        kill(node);
        restart(node);
    }

    std::unique_ptr<client> other;
};

/// The node is asked only while the client has an operation.
asio::awaitable<void> quarantined(client& who, std::size_t node)
{
    mutex asks(who, "asks", long_lived);
    while (!in_state(who, node, node_state::quarantined))
        (void)co_await attempt_once(asks);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(old_data, backup_fixture)

BOOST_AUTO_TEST_CASE(data_from_before_a_vote_allows_no_second_lease)
{
    run([&]() -> asio::awaitable<void> {
        back_up(1);
        proxy(2).refuse();
        proxy(2).reset_all();
        fenced_mutex lock(*locks, "lock", long_lived);
        lease held = co_await lock.acquire();
        BOOST_TEST(held.votes() == 2U);
        crash_and_restore(1);
        BOOST_TEST(ask(1).exists("redlock-marker"));
        BOOST_TEST(!ask(1).exists("lock"));

        co_await quarantined(*other, 1);
        fenced_mutex theirs(*other, "lock", long_lived);
        BOOST_TEST(co_await error_of(theirs.try_acquire()) == errc::contended);
        BOOST_TEST((theirs.last_attempt().at(1).result == node_result::quarantined));
        BOOST_TEST(!ask(1).exists("lock"));
        BOOST_TEST(held.valid());
    });
}

BOOST_AUTO_TEST_CASE(data_with_older_holders_key_spares_current_and_next_holder)
{
    run([&]() -> asio::awaitable<void> {
        mutex lock = this->lock();
        std::string before;
        std::vector<std::size_t> const restored{1};
        lease held = co_await held_since_backup_of(restored, lock, before);
        crash_and_restore(1);
        BOOST_TEST(ask(1).get("lock").value_or("") == before);
        co_await held.extend();
        BOOST_TEST(held.valid());
        co_await held.release();
        co_await until(
            [&] { return holders("lock", before) == 1 && !ask(0).exists("lock") && !ask(2).exists("lock"); });
        lease next = co_await lock.acquire();
        BOOST_TEST(next.votes() == 2U);
        co_await next.release();
    });
}

BOOST_AUTO_TEST_CASE(old_data_on_majority_does_not_revive_older_holder)
{
    run([&]() -> asio::awaitable<void> {
        mutex lock = this->lock();
        std::string before;
        std::vector<std::size_t> const restored{0, 1};
        lease held = co_await held_since_backup_of(restored, lock, before);
        crash_and_restore(0);
        crash_and_restore(1);
        BOOST_TEST(holders("lock", before) == 2U);
        co_await quarantined(*locks, 0);
        co_await quarantined(*locks, 1);
        lease revived = lock.adopt(before); // two nodes would say "yours"
        BOOST_TEST(co_await error_of(revived.extend()) == errc::no_quorum);
        BOOST_TEST(!revived.valid());
        BOOST_TEST(co_await error_of(held.extend()) == errc::no_quorum);
        BOOST_TEST(held.valid()); // its old deadline stands
    });
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

/// A replica of the second node whose link loses what comes last. It runs for an hour, if one asks it.
struct failover_fixture : backup_fixture {
    failover_fixture()
    {
        probe master(servers[1].port());
        master.command({"CONFIG", "SET", "repl-diskless-sync-delay", "0"});
        probe(replica.port()).command({"REPLICAOF", "127.0.0.1", std::to_string(link.port())});
        run_until(
            [&] { return contains(probe(replica.port()).info("replication"), "master_link_status:up"); });
        replica.set_age(1h);
        config others = settings;
        others.nodes = {servers[0].url(), their_way.url(), servers[2].url()};
        other = std::make_unique<client>(context.get_executor(), others);
        run([&]() -> asio::awaitable<void> { co_await meet(*other); });
    }
    void promote()
    {
        kill(1);
        probe(replica.port()).command({"REPLICAOF", "NO", "ONE"});
        for (fault_proxy* way : {&proxy(1), &their_way})
            way->redirect(replica.port());
    }

    redis_server replica{{.own_clock = true}};
    fault_proxy link{servers[1].port()};
    fault_proxy their_way{servers[1].port()};
};

} // namespace

// rule N5
BOOST_FIXTURE_TEST_CASE(promoted_replica_behind_same_address_allows_no_second_lease, failover_fixture)
{
    run([&]() -> asio::awaitable<void> {
        link.drop(direction::to_client);
        proxy(2).refuse();
        proxy(2).reset_all();
        mutex lock = this->lock();
        lease held = co_await lock.acquire();
        BOOST_TEST(held.votes() == 2U);
        promote();
        BOOST_TEST(contains(probe(replica.port()).info("replication"), "role:master"));
        BOOST_TEST(!probe(replica.port()).exists("lock"));

        co_await quarantined(*other, 1);
        mutex theirs(*other, "lock", long_lived);
        BOOST_TEST(co_await attempt_once(theirs) == errc::contended);
        BOOST_TEST((theirs.last_attempt().at(1).result == node_result::quarantined));
        BOOST_TEST(!probe(replica.port()).exists("lock"));
        BOOST_TEST(held.valid());
    });
}

// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <boost/test/data/test_case.hpp>

#include <memory>
#include <ostream>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace redlock::test {

static std::ostream& operator<<(std::ostream& out, direction way)
{
    return out << (way == direction::to_server ? "requests are held up" : "replies are held up");
}

} // namespace redlock::test

namespace {

/// The keys do not expire while a test looks, and a silent node is given up soon.
lock_options soon_silent()
{
    lock_options options = long_lived;
    options.node_timeout = 200ms;
    return options;
}

/// Every connection stands, and a client that goes past all faults is there.
struct partition_fixture : cluster {
    partition_fixture() : cluster(3)
    {
        warm_up();
        config past = settings;
        past.nodes = servers.urls();
        other = std::make_unique<client>(context.get_executor(), past);
    }

    void cut(direction way)
    {
        proxy(0).cut_one_way(way);
        proxy(2).cut_one_way(way);
    }
    void heal(direction way)
    {
        proxy(0).pass(way);
        proxy(2).pass(way);
    }
    void stop()
    {
        servers[0].pause();
        servers[2].pause();
    }
    void go_on()
    {
        servers[0].resume();
        servers[2].resume();
    }
    asio::awaitable<void> everybody_votes()
    {
        mutex lock = this->lock();
        lease again = co_await lock.acquire();
        co_await until([&] { return again.votes() == 3; });
        co_await again.release();
        co_await until([&] { return no_keys(); });
    }

    std::unique_ptr<client> other;
};

direction const either_way[] = {direction::to_server, direction::to_client};

} // namespace

BOOST_AUTO_TEST_SUITE(partition)

BOOST_DATA_TEST_CASE_F(partition_fixture, one_way_partition_of_minority_does_not_prevent_lease, either_way,
                       way)
{
    proxy(1).cut_one_way(way);
    run([&]() -> asio::awaitable<void> {
        mutex lock = this->lock("lock", unrenewed);
        lease held = co_await lock.acquire();
        BOOST_TEST(held.votes() == 2U);
        co_await held.extend();
        BOOST_TEST(held.valid());
        co_await held.release();
        proxy(1).pass(way);
        co_await until([&] { return no_keys(); });
        co_await everybody_votes();
    });
}

/// Votes are released as soon as anything arrives, so they do not exclude other clients.
BOOST_DATA_TEST_CASE_F(partition_fixture, one_way_partition_of_majority_grants_nothing_and_leaves_no_keys,
                       either_way, way)
{
    cut(way);
    run([&]() -> asio::awaitable<void> {
        BOOST_TEST(co_await attempt_once(this->lock("lock", soon_silent())) == errc::no_quorum);
        co_await until([&] { return no_keys(); });
        mutex theirs(*other, "lock", long_lived);
        lease held = co_await theirs.acquire();
        co_await until([&] { return held.votes() == 3; });
        auto const voted = ask(0).command_calls("set");
        heal(way);
        if (way == direction::to_server) // the late vote is executed, and the release behind it
            co_await until([&] { return ask(0).command_calls("set") == voted + 1; });
        co_await held.extend();
        BOOST_TEST(holders("lock", held.nonce()) == 3U);
        co_await held.release();
        co_await until([&] { return no_keys(); });
        co_await everybody_votes();
    });
}

BOOST_DATA_TEST_CASE_F(partition_fixture, one_way_partition_of_majority_is_a_loss_for_the_holder, either_way,
                       way)
{
    run([&]() -> asio::awaitable<void> {
        mutex lock = this->lock("lock", outlived_by_keys);
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3 || !held.valid(); });
        cut(way);
        BOOST_TEST(co_await held.ended() == lease_end::lost);
        BOOST_TEST(!held.valid());
        auto const renewed = told->count(lease_event::kind::renewed);
        heal(way);
        BOOST_TEST(co_await error_of(held.release()) == errc::lease_lost);
        co_await until([&] { return no_keys(); }); // also behind the extensions that came late
        co_await everybody_votes();
        BOOST_TEST(told->count(lease_event::kind::renewed) == renewed);
        BOOST_TEST(told->count(lease_event::kind::lost) == 1);
    });
}

/// Three of five are a majority for either side, and the one that both see decides.
BOOST_AUTO_TEST_CASE(partition_sharing_one_node_lets_one_side_hold)
{
    cluster nodes(5);
    std::vector<std::unique_ptr<fault_proxy>> right;
    config settings = nodes.settings;
    for (std::size_t i = 0; i != 5; ++i) {
        right.push_back(std::make_unique<fault_proxy>(nodes.servers[i].port()));
        settings.nodes[i] = right[i]->url();
        if (i != 2)
            (i < 2 ? *right[i] : nodes.proxy(i)).refuse();
    }
    client other(nodes.context.get_executor(), settings);
    mutex sides[] = {nodes.lock(), mutex(other, "lock", long_lived)};
    nodes.run([&]() -> asio::awaitable<void> {
        for (std::size_t i = 0; i != 4; ++i) {
            lease held = co_await sides[i % 2].acquire();
            BOOST_TEST(held.votes() == 3U);
            for (mutex& side : sides)
                BOOST_TEST(co_await attempt_once(side) == errc::contended);
            BOOST_TEST(nodes.holders("lock", held.nonce()) == 3U);
            co_await held.release();
            co_await until([&] { return nodes.no_keys(); });
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(stopped_majority, partition_fixture)

BOOST_AUTO_TEST_CASE(votes_executed_late_by_stopped_majority_are_undone)
{
    auto const before = ask(0).command_calls("set");
    stop();
    run([&]() -> asio::awaitable<void> {
        BOOST_TEST(co_await attempt_once(this->lock("lock", soon_silent())) == errc::no_quorum);
        go_on();
        co_await until([&] { return ask(0).command_calls("set") == before + 1; });
        co_await until([&] { return no_keys(); });
        co_await everybody_votes();
    });
}

BOOST_AUTO_TEST_CASE(stopped_majority_does_not_revive_ended_lease)
{
    run([&]() -> asio::awaitable<void> {
        mutex lock = this->lock("lock", outlived_by_keys);
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3 || !held.valid(); });
        stop();
        co_await until([&] { return !held.valid(); });
        BOOST_TEST(co_await held.ended() == lease_end::lost);
        auto const renewed = told->count(lease_event::kind::renewed);
        go_on();
        mutex theirs(*other, "lock", long_lived);
        BOOST_TEST(co_await attempt_once(theirs) == errc::contended); // the keys are still there
        BOOST_TEST(co_await error_of(held.release()) == errc::lease_lost);
        lease next = co_await theirs.acquire();
        BOOST_TEST(!held.valid());
        BOOST_TEST(told->count(lease_event::kind::renewed) == renewed);
        co_await next.release();
        co_await until([&] { return no_keys(); });
        co_await everybody_votes();
    });
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"
#include "watched_waiter.hpp"

#include <boost/test/data/test_case.hpp>

#include <array>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Keys that other libraries' semaphores and readers' locks leave under a lock's name.
std::vector<std::string> const kinds[] = {
    {"ZADD", "lock", "1700000000", "their permit"},
    {"HSET", "lock", "mode", "read"},
    {"SADD", "lock", "their reader"},
    {"RPUSH", "lock", "their place in the queue"},
};
constexpr std::size_t all_kinds[] = {0, 1, 2, 3};

bool is_no_lock(node_outcome const& row)
{
    return row.result == node_result::held_by_other && row.holder == holder_kind::no_lock;
}

struct foreign_keys_fixture : cluster {
    foreign_keys_fixture() : cluster(3) {}

    void leave(std::size_t kind, std::size_t nodes)
    {
        for (std::size_t i = 0; i != nodes; ++i)
            ask(i).command(kinds[kind]);
        for (std::size_t i = 0; i != nodes; ++i)
            before.push_back(ask(i).command({"DUMP", "lock"}));
    }
    /// Checks that the key is unchanged: neither replaced nor deleted, and without an expiry.
    void check_untouched()
    {
        for (std::size_t i = 0; i != before.size(); ++i) {
            BOOST_TEST((ask(i).command({"DUMP", "lock"}) == before[i]));
            BOOST_TEST(ask(i).pttl("lock") == -1);
        }
    }

    std::vector<std::string> before;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(foreign_keys, foreign_keys_fixture)

BOOST_DATA_TEST_CASE_F(foreign_keys_fixture, foreign_key_denies_plain_lock_and_stays, all_kinds, kind)
{
    leave(kind, 2);
    run([&]() -> asio::awaitable<void> {
        mutex plain = lock();
        BOOST_TEST(co_await attempt_once(plain) == errc::contended);
        auto const table = plain.last_attempt();
        for (std::size_t i = 0; i != 2; ++i)
            BOOST_TEST(
                (table.at(i).result == node_result::held_by_other || // the other was enough, with a grant
                 table[i].result == node_result::pending));
        co_await until([&] { return !ask(2).exists("lock"); });
    });
    check_untouched();
}

BOOST_DATA_TEST_CASE_F(foreign_keys_fixture, foreign_key_denies_fenced_lock_and_stays, all_kinds, kind)
{
    leave(kind, 2);
    run([&]() -> asio::awaitable<void> {
        fenced_mutex fenced(*locks, "lock", long_lived);
        BOOST_TEST(co_await attempt_once(fenced) == errc::contended);
        auto const table = fenced.last_attempt();
        BOOST_TEST(std::ranges::any_of(table, is_no_lock), to_string(table));
        co_await until([&] { return !ask(2).exists("lock"); });
    });
    check_untouched();
}

/// Both wait for it to go away, and say what it is that they wait for.
BOOST_AUTO_TEST_CASE(foreign_key_is_waited_for)
{
    for (any_lock waiting : {any_lock(lock()), any_lock(fenced_mutex(*locks, "lock", long_lived))}) {
        leave(1, 3);
        run([&]() -> asio::awaitable<void> {
            bool acquired = false;
            waiting.acquire([&](error_code ec, lease const&) { acquired = !ec; });
            co_await until([&] { return std::ranges::any_of(waiting.last_attempt(), is_no_lock); });
            BOOST_TEST(!acquired);
            everywhere({"DEL", "lock"});
            co_await until([&] { return acquired; });
            co_await until([&] { return free_everywhere(); });
        });
    }
}

/// One server of three has such a key: the lock is acquired from the other ones, and neither its extension nor its
/// release changes that key.
BOOST_DATA_TEST_CASE_F(foreign_keys_fixture, foreign_key_on_one_node_is_left_alone_by_holder, all_kinds, kind)
{
    leave(kind, 1);
    run([&]() -> asio::awaitable<void> {
        mutex plain = lock();
        lease held = co_await plain.acquire();
        BOOST_TEST(held.votes() == 2U);
        co_await held.extend();
        co_await held.release();
        co_await until([&] { return !ask(1).exists("lock") && !ask(2).exists("lock"); });
    });
    check_untouched();
}

BOOST_AUTO_TEST_SUITE_END()

/// The value does not fit into a connection's buffer, and other locks use the same connections.
BOOST_AUTO_TEST_CASE(foreign_key_with_large_value_keeps_connections)
{
    cluster nodes(3);
    nodes.everywhere({"SETRANGE", "lock", std::to_string(3 << 20), "x"});
    nodes.run([&]() -> asio::awaitable<void> {
        bool acquired = false;
        nodes.lock().acquire([&](error_code ec, lease const&) { acquired = !ec; });
        co_await until([&] { return !nodes.told->attempts.empty(); });
        BOOST_TEST(nodes.told->attempts.front() == errc::contended);
        inspection const found = co_await nodes.lock().inspect();
        BOOST_TEST((found.status == lock_status::held && !found.ours));
        nodes.everywhere({"DEL", "lock"});
        co_await until([&] { return acquired; });
    });
    BOOST_TEST(nodes.told->count(node_state::down) == 0);
}

/// Longer than nanoseconds can count: it is not asked for again and again.
BOOST_DATA_TEST_CASE(foreign_key_that_lives_for_centuries_is_voted_for_once, (std::array{false, true}),
                     fenced)
{
    cluster nodes(1);
    nodes.ask(0).command({"SET", "lock", "theirs", "PX", "10000000000000"});
    lock_options options = long_lived;
    options.retry.max_delay = 10min;
    nodes.run([&]() -> asio::awaitable<void> {
        any_lock waiting = fenced ? any_lock(fenced_mutex(*nodes.locks, "lock", options))
                                  : any_lock(nodes.lock("lock", options));
        watched_waiter waiter(waiting);
        co_await until([&] { return !nodes.told->attempts.empty(); });
        BOOST_TEST(co_await waiter.watched_for(300ms) == asio::error::operation_aborted);
        BOOST_TEST(nodes.told->attempts.size() == 1U);
    });
}

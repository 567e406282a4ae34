// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"
#include "kit/native_right.hpp"

#include <boost/test/data/test_case.hpp>

#include <array>
#include <ostream>

using namespace redlock;
using namespace redlock::test;

namespace redlock::test {

/// Not in an unnamed namespace: coroutines in data-driven cases are templates over it (-Wsubobject-linkage).
enum class node_fault { killed, stopped, black_hole, refusing, garbage, reset };

static std::ostream& operator<<(std::ostream& out, node_fault f)
{
    char const* const names[] = {"killed", "stopped", "black hole", "refusing", "garbage", "reset"};
    return out << names[static_cast<int>(f)];
}

} // namespace redlock::test

namespace {

using fault = node_fault;

void inject(cluster& nodes, std::size_t index, fault f)
{
    fault_proxy& proxy = nodes.proxy(index);
    switch (f) {
    case fault::killed: return nodes.kill(index);
    case fault::stopped: return nodes.servers[index].pause();
    case fault::black_hole: return proxy.black_hole();
    case fault::refusing: proxy.refuse(); return proxy.reset_all();
    case fault::garbage: return proxy.garbage("\x01garbage\xff$-7\r\n");
    case fault::reset: proxy.hold(direction::to_client); return proxy.reset_all();
    }
}

fault const faults[] = {fault::killed,   fault::stopped, fault::black_hole,
                        fault::refusing, fault::garbage, fault::reset};

bool free_on_the_others(cluster& nodes, std::size_t except)
{
    for (std::size_t i = 0; i != nodes.size(); ++i)
        if (i != except && !nodes.ask(i).keys().empty())
            return false;
    return true;
}

/// A full round from the first vote to the last release.
void acquire_extend_release(cluster& nodes, std::size_t faulty)
{
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock();
        lease held = co_await lock.acquire();
        BOOST_TEST(held.valid());
        co_await held.extend();
        BOOST_TEST(held.valid());
        co_await held.release();
        co_await until([&] { return free_on_the_others(nodes, faulty); });
    });
}

} // namespace

BOOST_AUTO_TEST_SUITE(node_failure)

BOOST_DATA_TEST_CASE(minority_faulty_from_the_start_does_not_prevent_lease, faults, f)
{
    cluster nodes(3);
    inject(nodes, 1, f);
    acquire_extend_release(nodes, 1);
}

BOOST_DATA_TEST_CASE(minority_failing_later_does_not_prevent_lease, faults, f)
{
    cluster nodes(3);
    nodes.warm_up();
    inject(nodes, 1, f);
    acquire_extend_release(nodes, 1);
}

BOOST_DATA_TEST_CASE(lease_is_renewed_and_released_without_a_minority, faults, f)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock("lock", {.ttl = 6s, .node_timeout = 1s});
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3; });
        inject(nodes, 2, f);
        auto const before = held.expires_at();
        co_await until([&] { return nodes.told->count(lease_event::kind::renewed) > 0; });
        BOOST_TEST(held.valid());
        BOOST_TEST((held.expires_at() > before));
        co_await held.release();
        co_await until([&] { return free_on_the_others(nodes, 2); });
    });
}

BOOST_AUTO_TEST_CASE(two_of_five_nodes_may_fail_in_different_ways)
{
    cluster nodes(5);
    nodes.warm_up();
    nodes.kill(0);
    nodes.servers[3].pause();
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock();
        lease held = co_await lock.acquire();
        BOOST_TEST(held.votes() == 3U);
        co_await held.extend();
        co_await held.release();
        nodes.servers[3].resume();
        co_await until(
            [&] { return nodes.no_keys(); }); // the vote and its release waited at the stopped node
    });
}

BOOST_AUTO_TEST_CASE(attempt_without_majority_lists_reasons)
{
    cluster nodes(3);
    nodes.proxy(1).refuse();
    nodes.proxy(2).refuse();
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock();
        std::string said;
        error_code code;
        try {
            (void)co_await lock.try_acquire();
        } catch (lock_error const& e) {
            said = e.what();
            code = e.code();
        }
        BOOST_TEST(code == errc::no_quorum);
        std::string const url = nodes.proxy(1).url();
        BOOST_TEST(contains(said, url + ", " + nodes.proxy(2).url() + " unreachable (Connection refused)"),
                   said);
        auto const table = lock.last_attempt();
        BOOST_REQUIRE(table.size() == 3U);
        BOOST_TEST(contains(said, "; 1 still pending") == (table[0].result == node_result::pending), said);
        BOOST_TEST(to_string(table[1].result) == "unreachable");
        BOOST_TEST(to_string(table[2].result) == "unreachable");
        co_await until([&] { return nodes.no_keys(); });
    });
}

BOOST_AUTO_TEST_CASE(acquire_gives_up_after_outage_patience)
{
    cluster nodes(3);
    nodes.proxy(0).refuse();
    nodes.proxy(2).refuse();
    nodes.run([&]() -> asio::awaitable<void> {
        auto options = long_lived;
        options.retry.outage_patience = 50ms;
        mutex lock = nodes.lock("lock", options);
        BOOST_TEST(co_await error_of(lock.acquire(asio::use_awaitable)) == errc::no_quorum);
        co_await until([&] { return nodes.no_keys(); });
    });
}

BOOST_AUTO_TEST_CASE(acquire_survives_outage_shorter_than_outage_patience)
{
    cluster nodes(3);
    nodes.proxy(0).refuse();
    nodes.proxy(2).refuse();
    nodes.run([&]() -> asio::awaitable<void> {
        auto options = long_lived;
        options.retry.outage_patience = 1h;
        mutex lock = nodes.lock("lock", options);
        std::optional<lease> got;
        lock.acquire([&](error_code, lease granted) { got = std::move(granted); });
        co_await until([&] { return nodes.told->count(errc::no_quorum) > 0; });
        BOOST_TEST(!got);
        nodes.proxy(0).accept();
        co_await until([&] { return got.has_value(); });
        BOOST_TEST(got->valid());
    });
}

BOOST_AUTO_TEST_CASE(restarted_node_votes_again)
{
    cluster nodes(3, [](config& settings) { settings.admission.trust_restarted_nodes = true; });
    nodes.warm_up();
    nodes.kill(0);
    acquire_extend_release(nodes, 0);
    nodes.restart(0);
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock();
        lease held = co_await lock.acquire(); // while it is held, lost connections are made again
        co_await until([&] { return nodes.locks->node_table()[0].state == node_state::ready; });
        co_await held.release();
        lease again = co_await lock.acquire();
        co_await until([&] { return again.votes() == 3; });
        BOOST_TEST(nodes.holders("lock", again.nonce()) == 3U);
        co_await again.release();
        co_await until([&] { return nodes.no_keys(); });
    });
}

BOOST_AUTO_TEST_CASE(lease_outlives_restart_of_a_node_that_forgets_it)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock();
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3; });
        nodes.restart(0);
        co_await until([&] { return nodes.locks->node_table()[0].state == node_state::quarantined; });
        BOOST_TEST(!nodes.ask(0).exists("lock"));
        co_await held.extend();
        BOOST_TEST(held.valid());
        co_await held.release();
        co_await until([&] { return nodes.no_keys(); });
    });
}

/// Two of three answer: that is no outage, however early the first refusal decides.
BOOST_AUTO_TEST_CASE(lock_held_by_another_is_contended_while_a_node_is_down)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock();
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3; });
        nodes.kill(0);
        co_await until([&] { return nodes.locks->node_table()[0].state == node_state::down; });
        mutex other = nodes.lock();
        for (int i = 0; i != 5; ++i)
            BOOST_TEST(co_await error_of(other.try_acquire()) == make_error_code(errc::contended));
    });
}

/// A plain lock has none where servers compare by themselves (rule K8).
BOOST_DATA_TEST_CASE(scripts_forgotten_by_every_node_are_sent_again, (std::array{false, true}), fenced)
{
    if (!fenced && !native_right().empty())
        return;
    cluster nodes(3);
    nodes.warm_up();
    auto const forget = [&] { nodes.everywhere({"SCRIPT", "FLUSH"}); };
    nodes.run([&]() -> asio::awaitable<void> {
        any_lock lock =
            fenced ? any_lock(fenced_mutex(*nodes.locks, "lock", long_lived)) : any_lock(nodes.lock());
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3; });
        auto const sent_by_hash = [&](std::size_t i) { return nodes.ask(i).command_calls("evalsha") > 0; };
        while (!sent_by_hash(0) || !sent_by_hash(1) ||
               !sent_by_hash(2)) // otherwise there is nothing to forget
            co_await held.extend();
        forget();
        co_await held.extend();
        BOOST_TEST(held.valid());
        forget();
        co_await held.release();
        co_await until([&] { return nodes.free_everywhere(); });
    });
}

BOOST_AUTO_TEST_CASE(vote_with_lost_reply_is_not_counted_and_is_released)
{
    cluster nodes(3);
    nodes.warm_up();
    nodes.proxy(0).drop(direction::to_client);
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock();
        lease held = co_await lock.acquire();
        co_await until([&] { return nodes.holders("lock", held.nonce()) == 3; });
        BOOST_TEST(held.votes() == 2U);
        co_await held.release();
        co_await until([&] { return nodes.no_keys(); });
    });
}

BOOST_AUTO_TEST_CASE(majority_of_lost_replies_is_no_quorum_and_is_undone)
{
    cluster nodes(3);
    nodes.warm_up();
    nodes.proxy(0).drop(direction::to_client);
    nodes.proxy(2).drop(direction::to_client);
    nodes.run([&]() -> asio::awaitable<void> {
        auto options = long_lived;
        options.node_timeout = 1s;
        mutex lock = nodes.lock("lock", options);
        auto const voted = nodes.ask(0).command_calls("set");
        BOOST_TEST(co_await error_of(lock.try_acquire(asio::use_awaitable)) == errc::no_quorum);
        auto const table = lock.last_attempt();
        BOOST_REQUIRE(table.size() == 3U);
        // The verdict falls when the first of them is given up: the other row may be either.
        BOOST_TEST(std::ranges::count(table, node_result::timed_out, &node_outcome::result) >= 1);
        BOOST_TEST(std::ranges::count(table, node_result::granted, &node_outcome::result) <= 1);
        co_await until([&] { return nodes.ask(0).command_calls("set") == voted + 1 && nodes.no_keys(); });
    });
}

BOOST_AUTO_TEST_SUITE_END()

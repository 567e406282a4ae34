// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"
#include "kit/native_right.hpp"

#include <boost/test/data/test_case.hpp>

#include <optional>
#include <string>
#include <string_view>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Counts calls of scripts, or of a command if the server compares by itself (rule K8). Extensions by scripts count,
/// too.
long long releases(cluster& nodes, std::size_t node)
{
    long long all = 0;
    for (std::string_view const one : {"eval", "evalsha", "delex", "delifeq"})
        all += nodes.ask(node).command_calls(one);
    return all;
}

struct warm_cluster_fixture : cluster {
    warm_cluster_fixture() : cluster(3) { warm_up(); }

    config past_all_faults() const
    {
        config past = settings;
        past.nodes = servers.urls();
        return past;
    }
};

/// The first node is reached through a second proxy, which keeps what an old connection said while a new one goes past.
struct old_connection_fixture : warm_cluster_fixture {
    old_connection_fixture()
    {
        proxy(0).redirect(behind.port());
        proxy(0).close_all();
        run([&]() -> asio::awaitable<void> { // on the way that can be held up
            mutex warm = lock("warm");
            lease held = co_await warm.acquire();
            co_await until(
                [&] { return in_state(*locks, 0, node_state::ready) && behind.connections() == 1; });
            co_await held.release();
            co_await until([&] { return no_keys(); });
        });
    }
    void leave_behind()
    {
        behind.wait_held(direction::to_server, 1);
        proxy(0).redirect(servers[0].port());
        proxy(0).close_all();
    }

    fault_proxy behind{servers[0].port()};
};

struct fenced_cluster_fixture : warm_cluster_fixture {
    fenced_mutex fenced(client& whose) { return {whose, "lock", unrenewed}; }

    void begin_to_extend(lease& held)
    {
        held.extend([this](error_code ec) { extended = ec; });
    }
    void begin_to_release(lease& held)
    {
        held.release([this](error_code ec) { released = ec; });
    }
    /// The release ends the lease, also for an extension that is on its way.
    asio::awaitable<void> release_wins()
    {
        co_await until([this] { return extended && released; });
        BOOST_TEST(*extended == errc::released);
        BOOST_TEST(!*released);
    }

    std::optional<error_code> extended;
    std::optional<error_code> released;
};

} // namespace

BOOST_AUTO_TEST_SUITE(late_delivery)

// rule K3
BOOST_FIXTURE_TEST_CASE(late_vote_of_closed_connection_is_a_key_that_expires, old_connection_fixture)
{
    behind.hold(direction::to_server);
    run([&]() -> asio::awaitable<void> {
        mutex lock = this->lock("lock", {.ttl = 1s, .slack = 500ms, .renew = false, .node_timeout = 500ms});
        lease held = co_await lock.acquire();
        BOOST_TEST(held.votes() == 2U);
        std::string const nonce(held.nonce());
        leave_behind();
        auto const before = releases(*this, 0);
        co_await held.release();
        // Over the new connection, too early; and on the node that a majority did not wait for.
        co_await until([&] { return releases(*this, 0) > before && no_keys(); });
        behind.release();
        co_await until([&] { return ask(0).get("lock") == nonce; });
        BOOST_TEST(ask(0).pttl("lock") <= 1500);

        client other(context.get_executor(), past_all_faults());
        mutex theirs(other, "lock", long_lived);
        lease next = co_await theirs.acquire();
        BOOST_TEST(next.valid());
        co_await until([&] { return ask(0).get("lock") != nonce; });
        co_await next.extend();
        co_await next.release();
        co_await until([&] { return no_keys(); });
    });
}

BOOST_DATA_TEST_CASE_F(old_connection_fixture, late_release_of_closed_connection_spares_next_lease, either,
                       by_another_client)
{
    run([&]() -> asio::awaitable<void> {
        client other(context.get_executor(), past_all_faults());
        mutex ours = lock("lock", unrenewed); // and without watching: what is held back is the release
        lease held = co_await ours.acquire();
        co_await until([&] { return held.votes() == 3; });
        behind.hold(direction::to_server);
        co_await held.release();
        leave_behind();
        co_await until([&] { return no_keys(); }); // said again over the new connection

        mutex next_lock = by_another_client ? mutex(other, "lock", long_lived) : ours;
        lease next = co_await next_lock.acquire();
        co_await until([&] { return next.votes() == 3; });
        auto const before = releases(*this, 0);
        behind.release();
        co_await until([&] { return releases(*this, 0) > before; });
        BOOST_TEST(holders("lock", next.nonce()) == 3U);
        co_await next.extend();
        co_await next.release();
        co_await until([&] { return no_keys(); });
    });
}

BOOST_FIXTURE_TEST_CASE(vote_delivered_twice_is_no_second_vote, warm_cluster_fixture)
{
    auto const before = ask(0).command_calls("set");
    proxy(0).duplicate(direction::to_server);
    run([&]() -> asio::awaitable<void> {
        mutex lock = this->lock();
        lease held = co_await lock.acquire();
        co_await until([&] { return ask(0).command_calls("set") == before + 2; });
        co_await until([&] { return proxy(0).accepted() == 2; }); // for a reply that nobody asked for
        co_await held.extend();
        co_await until([&] { return holders("lock", held.nonce()) == 3; });
        co_await held.release();
        co_await until([&] { return no_keys(); });
    });
}

BOOST_FIXTURE_TEST_CASE(late_vote_is_not_sent_again, warm_cluster_fixture)
{
    auto const before = ask(0).command_calls("set");
    proxy(0).hold(direction::to_client);
    run([&]() -> asio::awaitable<void> {
        mutex lock = this->lock("lock", unrenewed);
        lease held = co_await lock.acquire();
        co_await until([&] { return ask(0).exists("lock"); });
        proxy(0).reset_all();
        proxy(0).release();
        co_await until([&] { return proxy(0).accepted() == 2 && in_state(*locks, 0, node_state::ready); });
        co_await held.extend(); // behind any repeated command
        co_await until([&] { return held.votes() == 3; });
        int const extensions = native_right().empty() ? 0 : 1; // by SET
        BOOST_TEST(ask(0).command_calls("set") == before + 1 + extensions);
    });
}

/// The extension would set the keys again, which somebody has deleted: it comes first, and the release behind it.
BOOST_FIXTURE_TEST_CASE(late_extension_is_executed_before_the_release, fenced_cluster_fixture)
{
    run([&]() -> asio::awaitable<void> {
        lease held = co_await held_everywhere(fenced(*locks));
        mutex behind = lock("behind"); // all extensions have been executed once this is
        lease const last = co_await behind.acquire();
        co_await until([&] { return last.votes() == 3; });
        long long run_before[3];
        for (std::size_t i = 0; i != 3; ++i) {
            proxy(i).hold(direction::to_server);
            run_before[i] = releases(*this, i);
        }
        begin_to_extend(held);
        for (std::size_t i = 0; i != 3; ++i) {
            co_await until([&] { return proxy(i).held(direction::to_server) > 0; });
            ask(i).command({"DEL", "lock"});
        }
        begin_to_release(held);
        BOOST_TEST(!held.valid());
        for (std::size_t i = 0; i != 3; ++i)
            proxy(i).release();
        co_await release_wins();
        for (std::size_t i = 0; i != 3; ++i)
            co_await until([&] { return releases(*this, i) >= run_before[i] + 2; });
        BOOST_TEST(free_everywhere());
    });
}

BOOST_FIXTURE_TEST_CASE(late_extension_answers_do_not_revive_released_lock, fenced_cluster_fixture)
{
    run([&]() -> asio::awaitable<void> {
        lease held = co_await held_everywhere(fenced(*locks));
        auto const renewed = told->count(lease_event::kind::renewed);
        for (auto const& each : proxies)
            each->hold(direction::to_client);
        begin_to_extend(held);
        for (auto const& each : proxies)
            co_await until([&] { return each->held(direction::to_client) > 0; });
        begin_to_release(held);
        co_await until([&] { return free_everywhere(); });
        for (auto const& each : proxies)
            each->release();
        co_await release_wins();
        BOOST_TEST(told->count(lease_event::kind::renewed) == renewed);
        lease next = co_await held_everywhere(fenced(*locks)); // on the same connections, behind everything
        BOOST_TEST(holders("lock", next.nonce()) == 3U);
    });
}

/// Two nodes say "yours" in the end, but on one of them somebody else was granted before our vote came.
BOOST_FIXTURE_TEST_CASE(late_own_vote_does_not_prove_unbroken_ownership, fenced_cluster_fixture)
{
    fault_proxy shut(servers[0].port());
    shut.refuse();
    config without_first = past_all_faults();
    without_first.nodes[0] = shut.url();
    client other(context.get_executor(), without_first);
    run([&]() -> asio::awaitable<void> {
        lease first = co_await held_everywhere(fenced(*locks)); // markers stand, scripts are known
        co_await first.release();
        co_await until([&] { return free_everywhere(); });

        proxy(2).hold(direction::to_server);
        lease held = co_await fenced(*locks).acquire();
        BOOST_TEST(held.votes() == 2U);
        ask(1).command({"DEL", "lock"});
        lease theirs = co_await fenced(other).acquire();
        BOOST_TEST(theirs.fencing_token() > held.fencing_token());
        co_await theirs.release();
        co_await until([&] { return !ask(1).exists("lock") && !ask(2).exists("lock"); });
        proxy(2).release();
        co_await until([&] { return ask(2).get("lock") == held.nonce(); });

        BOOST_TEST(co_await error_of(held.extend()) == errc::lease_lost);
        BOOST_TEST(!held.valid());
        held = {};
        co_await until([&] { return free_everywhere(); });
    });
}

BOOST_AUTO_TEST_SUITE_END()

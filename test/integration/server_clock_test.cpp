// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr lock_options one_second_slack{.ttl = 10min, .slack = 1s};

/// Three servers whose clocks can be set, all watched by one lease that relies on them.
struct server_clock_fixture {
    cluster nodes{3,
                  [](config& settings) {
                      settings.health.check_interval = 20ms;
                      settings.reconnect.max_delay = 50ms;
                  },
                  {.own_clock = true}};

    /// The node has been asked for the time again, and the answer has been read.
    asio::awaitable<void> checked(std::size_t node)
    {
        auto const before = nodes.ask(node).command_calls("time");
        co_await until([&] { return nodes.ask(node).command_calls("time") >= before + 3; });
    }
    asio::awaitable<lease> hold()
    {
        mutex lock = nodes.lock("lock", one_second_slack);
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3; });
        co_return held;
    }
    bool quarantined(std::size_t node) { return in_state(*nodes.locks, node, node_state::quarantined); }
    std::ptrdiff_t quarantines() { return nodes.told->count(node_state::quarantined); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(server_clock, server_clock_fixture)

// rule N7
BOOST_AUTO_TEST_CASE(node_with_clock_set_forward_is_quarantined_and_lease_goes_on)
{
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await hold();
        nodes.servers[1].set_clock_ahead(20s);
        co_await until([&] { return quarantined(1); });
        auto const seen = status(*nodes.locks, 1);
        BOOST_TEST(seen.detail.starts_with("its clock was set forward by "), seen.detail);
        BOOST_TEST_REQUIRE(seen.remaining.has_value());
        BOOST_TEST((*seen.remaining > 1min)); // from now on, however old the server is
        co_await held.extend();
        BOOST_TEST(held.valid());

        mutex other = nodes.lock("other", one_second_slack);
        lease second = co_await other.acquire();
        BOOST_TEST(second.votes() == 2U);
        auto const row = other.last_attempt().at(1);
        BOOST_TEST((row.result == node_result::quarantined));
        BOOST_TEST(row.detail.starts_with("its clock was set forward by "), row.detail);
        co_await second.release();
        co_await checked(1); // the same step is not noticed twice
        BOOST_TEST(quarantines() == 1);
        co_await held.release();
        co_await until([&] { return nodes.no_keys(); });
    });
}

/// The marker knows nothing of it.
BOOST_AUTO_TEST_CASE(node_with_clock_set_forward_is_quarantined_for_fenced_locks)
{
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await hold();
        fenced_mutex lock(*nodes.locks, "fenced", one_second_slack);
        lease known = co_await lock.acquire();
        while (known.votes() != 3)
            co_await known.extend();
        co_await known.release();
        nodes.servers[1].set_clock_ahead(20s);
        co_await until([&] { return quarantined(1); });
        lease second = co_await lock.acquire();
        BOOST_TEST(second.votes() == 2U);
        BOOST_TEST((lock.last_attempt().at(1).result == node_result::quarantined));
    });
}

// rule N7
BOOST_AUTO_TEST_CASE(clock_step_within_slack_or_backwards_changes_nothing)
{
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await hold();
        nodes.servers[0].set_clock_ahead(500ms);
        nodes.servers[1].set_clock_ahead(-20s);
        co_await checked(0);
        co_await checked(1);
        BOOST_TEST(quarantines() == 0);
        co_await held.extend();
        co_await held.release();
        co_await until([&] { return nodes.no_keys(); });
    });
}

BOOST_AUTO_TEST_CASE(clock_steps_within_slack_add_up)
{
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await hold();
        nodes.servers[1].set_clock_ahead(700ms);
        co_await checked(1);
        nodes.servers[1].set_clock_ahead(1400ms);
        co_await until([&] { return quarantined(1); });
    });
}

// rule N7
BOOST_AUTO_TEST_CASE(clock_step_while_disconnected_is_noticed_at_reconnection)
{
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await hold();
        nodes.proxy(1).refuse();
        nodes.proxy(1).reset_all();
        co_await until([&] { return in_state(*nodes.locks, 1, node_state::down); });
        nodes.servers[1].set_clock_ahead(20s);
        nodes.proxy(1).accept();
        co_await until([&] { return quarantined(1); });
        auto const detail = status(*nodes.locks, 1).detail;
        BOOST_TEST(detail.starts_with("its clock was set forward by "), detail);
        BOOST_TEST(nodes.told->count(node_state::ready) == 3);
    });
}

BOOST_AUTO_TEST_CASE(node_votes_again_when_keys_from_before_clock_step_are_gone)
{
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock("lock", {.ttl = 3s, .slack = 100ms, .node_timeout = 1s});
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3; }); // all clocks have been read
        nodes.servers[1].set_clock_ahead(20s);
        co_await until([&] { return quarantined(1); });
        co_await until([&] { return in_state(*nodes.locks, 1, node_state::ready); });
        BOOST_TEST(held.valid());
    });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(server_clock_terms)

BOOST_AUTO_TEST_CASE(clock_step_of_trusted_node_is_ignored)
{
    cluster nodes(1,
                  [](config& settings) {
                      settings.health.check_interval = 20ms;
                      settings.admission.trust_server_clocks = true;
                  },
                  {.own_clock = true});
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock("lock", one_second_slack);
        lease held = co_await lock.acquire();
        nodes.servers[0].set_clock_ahead(20s);
        auto const before = nodes.ask(0).command_calls("time");
        co_await until([&] { return nodes.ask(0).command_calls("time") >= before + 3; });
        BOOST_TEST(nodes.told->count(node_state::quarantined) == 0);
    });
}

BOOST_AUTO_TEST_SUITE_END()

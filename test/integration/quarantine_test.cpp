// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

using namespace redlock;
using namespace redlock::test;

namespace {

/// Nobody vouches for the servers, which are as old as the test.
void strangers(config& settings)
{
    settings.admission.assume_fresh = false;
}

/// A connection each, and every node met.
asio::awaitable<void> meet(client& locks)
{
    mutex warm(locks, "warm", long_lived);
    lease held = co_await warm.acquire();
    co_await until([&] { return held.votes() == locks.node_table().size(); });
    co_await held.release();
}

/// A lease that all three granted, and one of them has forgotten.
asio::awaitable<lease> hold_through_a_restart(cluster& nodes, any_lock lock)
{
    lease held = co_await lock.acquire();
    co_await until([&] { return held.votes() == 3; });
    nodes.kill(1);
    nodes.restart(1);
    co_await until([&] { return in_state(*nodes.locks, 1, node_state::quarantined); });
    co_return held;
}

} // namespace

BOOST_AUTO_TEST_SUITE(quarantine)

BOOST_AUTO_TEST_CASE(young_server_is_quarantined_and_outcome_tells_why)
{
    cluster nodes(3, strangers, {.young = true});
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock();
        std::string message;
        try {
            (void)co_await lock.try_acquire();
        } catch (lock_error const& e) {
            message = e.what();
            BOOST_TEST(e.code() == errc::no_quorum);
        }
        BOOST_TEST(contains(message, " quarantined (started "), message);
        BOOST_TEST(contains(message, "s ago; may vote in "), message);
        for (node_outcome const& row : lock.last_attempt()) {
            BOOST_TEST((row.result == node_result::quarantined));
            BOOST_TEST_REQUIRE(row.remaining.has_value());
            BOOST_TEST((*row.remaining > 1min));
        }
        for (node_status const& node : nodes.locks->node_table()) {
            BOOST_TEST((node.state == node_state::quarantined));
            BOOST_TEST(node.detail.starts_with("started "), node.detail);
            BOOST_TEST_REQUIRE(node.remaining.has_value());
            BOOST_TEST((*node.remaining > 1min));
        }
        BOOST_TEST(nodes.told->count(node_state::quarantined) == 3);
        BOOST_TEST(nodes.told->count(node_state::ready) == 0);
    });
    BOOST_TEST(nodes.no_keys());
    run_dry(nodes.context); // nobody waits for the quarantine's end
}

// rule N4
BOOST_AUTO_TEST_CASE(young_server_votes_when_its_quarantine_is_over)
{
    cluster nodes(3, strangers, {.young = true});
    nodes.run([&]() -> asio::awaitable<void> {
        lock_options options{.ttl = 1s, .node_timeout = 500ms};
        options.retry.outage_patience = 0s; // the wait for a quarantine is no outage
        mutex lock = nodes.lock("lock", options);
        lease held = co_await lock.acquire();
        BOOST_TEST(held.votes() >= 2U);
        co_await until([&] {
            return std::ranges::all_of(nodes.locks->node_table(),
                                       [](auto const& n) { return n.state == node_state::ready; });
        });
    });
}

// rule N4
BOOST_AUTO_TEST_CASE(quarantine_ends_while_client_is_idle)
{
    cluster nodes(1, strangers, {.young = true});
    mutex lock = nodes.lock("lock", {.ttl = 1s, .node_timeout = 500ms});
    std::optional<error_code> last;
    nodes.run_until([&] { // every attempt alone: between them nothing is under way and no timer runs
        if (!last || *last)
            last = nodes.run([&] { return attempt_once(lock); });
        run_dry(nodes.context);
        return !*last;
    });
}

/// The holder relies on two nodes, one of which loses its data. A contender must not win through that node.
// rule N4
BOOST_AUTO_TEST_CASE(restarted_node_allows_no_second_lease)
{
    cluster nodes(3);
    config others = nodes.settings;
    others.nodes = nodes.servers.urls(); // past the proxies
    client contender(nodes.context.get_executor(), others);
    nodes.run([&]() -> asio::awaitable<void> {
        co_await meet(contender);
        nodes.proxy(2).refuse();
        mutex lock = nodes.lock();
        lease held = co_await lock.acquire();
        BOOST_TEST(held.votes() == 2U);

        nodes.kill(1);
        nodes.restart(1);
        mutex same(contender, "lock", long_lived);
        BOOST_TEST(co_await attempt_once(same) == errc::contended);
        auto const table = same.last_attempt();
        BOOST_TEST((table[1].result == node_result::quarantined));
        BOOST_TEST(table[1].detail.starts_with("restarted "), table[1].detail);
        BOOST_TEST(!nodes.ask(1).exists("lock"));
    });
}

// rule N4
BOOST_AUTO_TEST_CASE(holder_keeps_majority_while_one_node_is_quarantined)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await hold_through_a_restart(nodes, nodes.lock());
        co_await held.extend();
        BOOST_TEST(held.valid());
        BOOST_TEST(!nodes.ask(1).exists("lock"));
        mutex other = nodes.lock("other");
        lease second = co_await other.acquire();
        BOOST_TEST(second.votes() == 2U);
        co_await second.release();
        co_await held.release();
    });
}

// rule N4
BOOST_AUTO_TEST_CASE(restarted_node_votes_if_trusted)
{
    cluster nodes(3, [](config& settings) { settings.admission.trust_restarted_nodes = true; });
    nodes.run([&]() -> asio::awaitable<void> {
        co_await meet(*nodes.locks);
        for (std::size_t i = 0; i != 3; ++i) {
            nodes.kill(i);
            nodes.restart(i);
        }
        mutex lock = nodes.lock();
        lease held = co_await lock.acquire();
        BOOST_TEST(held.votes() >= 2U);
    });
    BOOST_TEST(nodes.told->count(node_state::quarantined) == 0);
}

// rule N4
BOOST_AUTO_TEST_CASE(release_reaches_quarantined_node)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await hold_through_a_restart(nodes, nodes.lock());
        // As an append-only file would have brought it back.
        nodes.ask(1).command({"SET", "lock", std::string(held.nonce())});
        co_await held.release();
        co_await until([&] { return !nodes.ask(1).exists("lock"); });
    });
}

// rule N5
BOOST_AUTO_TEST_CASE(other_server_behind_same_address_is_quarantined)
{
    cluster nodes(3);
    redis_server other;
    nodes.run([&]() -> asio::awaitable<void> {
        co_await meet(*nodes.locks);
        nodes.proxy(1).redirect(other.port());
        nodes.proxy(1).reset_all();
        mutex lock = nodes.lock();
        lease held = co_await lock.acquire();
        co_await until([&] { return in_state(*nodes.locks, 1, node_state::quarantined); });
        BOOST_TEST(held.votes() == 2U);
        BOOST_TEST(!probe(other.port()).exists("lock"));
    });
}

// rule N5
BOOST_AUTO_TEST_CASE(node_that_was_a_replica_in_between_is_quarantined)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        co_await meet(*nodes.locks);
        nodes.ask(1).command({"REPLICAOF", "127.0.0.1", std::to_string(nodes.servers[0].port())});
        nodes.ask(1).command({"REPLICAOF", "NO", "ONE"});
        nodes.proxy(1).reset_all();
        mutex lock = nodes.lock();
        lease held = co_await lock.acquire();
        co_await until([&] { return in_state(*nodes.locks, 1, node_state::quarantined); });
        auto const detail = status(*nodes.locks, 1).detail;
        BOOST_TEST(detail.starts_with("re-synchronised or promoted "), detail);
        BOOST_TEST(held.votes() == 2U);
    });
}

/// A server that is declared durable, or not, whatever its settings are.
struct durable_server {
    redis_server server;
    asio::io_context context;
    client locks;

    explicit durable_server(std::vector<std::string> arguments, std::string const& word = "?durable=true")
        : server({.arguments = std::move(arguments)}), locks(context.get_executor(), [this, &word] {
              config settings = patient({server.url() + word});
              settings.admission.assume_fresh = false;
              return settings;
          }())
    {}

    error_code attempt_on(std::string const& name)
    {
        return run(context, [&] { return attempt_once(mutex(locks, name, long_lived)); });
    }
};

std::vector<std::string> const never_forgets{
    "--appendonly", "yes", "--appendfsync", "always", "--no-appendfsync-on-rewrite", "no"};

// rule N4
BOOST_AUTO_TEST_CASE(durable_node_votes_at_once_and_after_restart)
{
    durable_server node(never_forgets);
    BOOST_TEST(!node.attempt_on("lock"));
    run_dry(node.context);
    probe(node.server.port()).command({"SET", "taken", "by somebody", "PX", "600000"});
    node.server.kill();
    node.server.restart();
    BOOST_TEST(node.attempt_on("taken") == errc::contended);
    BOOST_TEST(!node.attempt_on("lock"));
}

/// The settings may be new, and the earlier data lost.
// rule N4
BOOST_AUTO_TEST_CASE(durable_settings_alone_do_not_end_quarantine)
{
    durable_server node(never_forgets, "");
    BOOST_TEST(node.attempt_on("lock") == errc::no_quorum);
    BOOST_TEST((status(node.locks, 0).state == node_state::quarantined));
}

// rule N4
BOOST_AUTO_TEST_CASE(durable_node_with_contradicting_settings_is_reported)
{
    struct row {
        std::vector<std::string> arguments;
        std::string why;
    };
    for (auto const& [arguments, why] :
         {row{{}, "appendonly is no"}, row{{"--appendonly", "yes"}, "appendfsync is not always"},
          row{{"--appendonly", "yes", "--appendfsync", "always", "--no-appendfsync-on-rewrite", "yes"},
              "no-appendfsync-on-rewrite is yes"}}) {
        durable_server node(arguments);
        BOOST_TEST(node.attempt_on("lock") == errc::no_quorum);
        auto const detail = status(node.locks, 0).detail;
        BOOST_TEST(detail.starts_with("called durable, but " + why + "; started "), detail);
    }
}

/// The word is about the whole volume: it came back without what was on it.
// rules N4 and F6
BOOST_AUTO_TEST_CASE(durable_node_that_lost_its_marker_is_quarantined)
{
    durable_server node(never_forgets);
    fenced_mutex lock(node.locks, "lock", long_lived);
    auto const attempt = [&] { return run(node.context, [&] { return attempt_once(lock); }); };
    BOOST_TEST(!attempt());
    run_dry(node.context);
    probe(node.server.port()).command({"FLUSHALL"}); // as if there were another volume
    node.server.kill();
    node.server.restart();
    BOOST_TEST(attempt() == errc::no_quorum);
    BOOST_TEST((lock.last_attempt().at(0).result == node_result::quarantined));
    BOOST_TEST(node.attempt_on("plain") == errc::no_quorum);
    BOOST_TEST(status(node.locks, 0).detail.starts_with("lost its data "), status(node.locks, 0).detail);
}

BOOST_AUTO_TEST_SUITE_END()

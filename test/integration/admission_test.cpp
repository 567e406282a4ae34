// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(admission)

// rule N3
BOOST_AUTO_TEST_CASE(replica_is_refused)
{
    cluster nodes(3);
    nodes.ask(1).command({"REPLICAOF", "127.0.0.1", std::to_string(nodes.servers[0].port())});
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock();
        lease held = co_await lock.acquire();
        BOOST_TEST(held.votes() == 2U);
        co_await until([&] { return in_state(*nodes.locks, 1, node_state::down); });
        BOOST_TEST(status(*nodes.locks, 1).detail == "a replica");
        BOOST_TEST(nodes.ask(1).command_calls("set") == 0);
    });
}

void make_evicting(cluster& nodes)
{
    for (std::size_t i = 0; i != nodes.size(); ++i) {
        nodes.ask(i).command({"CONFIG", "SET", "maxmemory", "1gb"});
        nodes.ask(i).command({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
    }
}

// rule N3
BOOST_AUTO_TEST_CASE(node_that_may_evict_keys_is_refused)
{
    cluster nodes(3);
    make_evicting(nodes);
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock();
        BOOST_TEST(co_await attempt_once(lock) == errc::no_quorum);
        for (node_outcome const& row : lock.last_attempt()) {
            BOOST_TEST((row.result == node_result::refused));
            BOOST_TEST(contains(row.detail, "maxmemory-policy"), row.detail);
        }
    });
}

BOOST_AUTO_TEST_CASE(node_that_may_evict_keys_votes_if_allowed)
{
    cluster nodes(3, [](config& settings) { settings.admission.allow_eviction = true; });
    make_evicting(nodes);
    nodes.run([&]() -> asio::awaitable<void> { BOOST_TEST(!co_await attempt_once(nodes.lock())); });
}

// rule N3
BOOST_AUTO_TEST_CASE(cluster_node_is_refused_unless_allowed)
{
    redis_server_options options;
    options.arguments = {"--cluster-enabled", "yes"};
    redis_server server(options);
    for (bool const allowed : {false, true}) {
        asio::io_context context;
        config settings = patient({server.url()});
        settings.admission.allow_cluster_node = allowed;
        client locks(context.get_executor(), settings);
        mutex lock(locks, "lock", long_lived);
        run(context,
            [&]() -> asio::awaitable<void> { BOOST_TEST(co_await attempt_once(lock) == errc::no_quorum); });
        auto const row = lock.last_attempt().at(0); // without slots it votes for nobody
        BOOST_TEST((row.error == (allowed ? server_error::clusterdown : server_error::other)));
        BOOST_TEST(contains(row.detail, "a cluster node") == !allowed, row.detail);
    }
}

/// The node of a cluster refuses a script whose keys are not all in one slot.
// rule F6
BOOST_AUTO_TEST_CASE(fenced_locks_on_a_cluster_node_work_with_a_hash_tag_in_the_prefix)
{
    redis_server_options options;
    options.arguments = {"--cluster-enabled", "yes"};
    redis_server server(options);
    std::vector<std::string> all{"CLUSTER", "ADDSLOTS"};
    for (int slot = 0; slot != 16384; ++slot)
        all.push_back(std::to_string(slot));
    BOOST_TEST_REQUIRE(probe(server.port()).command(all) == "OK");
    asio::io_context context;
    config settings = patient({server.url()});
    settings.admission.allow_cluster_node = true;
    settings.key_prefix = "{locks}:";
    client locks(context.get_executor(), settings);
    run(context, [&]() -> asio::awaitable<void> {
        lease one = co_await fenced_mutex(locks, "lock", long_lived).acquire();
        BOOST_TEST(!co_await error_of(one.extend()));
        BOOST_TEST(!co_await error_of(one.release()));
        std::vector<std::string> const names{"{a}x", "b"};
        lease set = co_await fenced_multi_mutex(locks, names, long_lived).acquire();
        BOOST_TEST(!co_await error_of(set.extend()));
        BOOST_TEST(!co_await error_of(set.release()));
        leadership led = co_await election(locks, "seat", long_lived).campaign("me");
        BOOST_TEST((co_await election(locks, "seat", long_lived).leader()).value == "me");
        BOOST_TEST(!co_await error_of(led.resign()));
    });
}

// rule N3
BOOST_AUTO_TEST_CASE(server_with_two_urls_has_one_vote)
{
    redis_server twice;
    redis_server once;
    auto const port = std::to_string(twice.port());
    asio::io_context context;
    client locks(context.get_executor(),
                 patient({"redis://127.0.0.1:" + port, "redis://localhost:" + port, once.url()}));
    auto const refused = [&] {
        auto const all = locks.node_table();
        return std::ranges::count(all, node_state::down, &node_status::state);
    };
    run(context, [&]() -> asio::awaitable<void> {
        mutex lock(locks, "lock", long_lived);
        lease held = co_await lock.acquire();
        co_await until([&] { return refused() == 1; });
        BOOST_TEST(held.votes() == 2U);
        auto const all = locks.node_table();
        auto const second = in_state(locks, 0, node_state::down) ? 0U : 1U;
        BOOST_TEST(all[second].detail == "the same server as " + all[1 - second].node);
        BOOST_TEST((all[2].state == node_state::ready));
        co_await held.release();
    });
}

/// A server without an identity, and a client of it.
struct silent_node_fixture {
    redis_server server{[] {
        redis_server_options options;
        options.acl = {"user default on nopass ~* &* +@all -info -config"};
        return options;
    }()};
    fault_proxy proxy{server.port()};
    std::shared_ptr<recorder> told = std::make_shared<recorder>();
    asio::io_context context;

    std::vector<std::string> details_when_ready() const
    {
        std::vector<std::string> details;
        for (auto const& change : told->nodes)
            if (change.state == node_state::ready)
                details.push_back(change.detail);
        return details;
    }
    client make(bool trusted)
    {
        config settings = patient({proxy.url()});
        settings.admission.assume_fresh = false;
        settings.admission.trust_restarted_nodes = trusted;
        settings.observer = told;
        return {context.get_executor(), settings};
    }
    error_code attempt(client& locks)
    {
        return run(context, [&] { return attempt_once(mutex(locks, "lock", long_lived)); });
    }
};

// rule N6
BOOST_FIXTURE_TEST_CASE(trusted_node_without_info_votes_and_is_reported_once, silent_node_fixture)
{
    client locks = make(true);
    for (std::size_t connections = 1; connections != 3; ++connections) {
        BOOST_TEST(!attempt(locks));
        auto const detail = locks.node_table().at(0).detail;
        BOOST_TEST(contains(detail, "INFO is not permitted"), detail);
        run_dry(context);
        BOOST_TEST_REQUIRE(details_when_ready().size() == connections);
        proxy.close_all();
        proxy.wait_connections(0);
    }
    auto const details = details_when_ready();
    BOOST_TEST(contains(details[0], "INFO is not permitted"));
    BOOST_TEST(contains(details[0], "no role: a replica is not noticed") == false); // HELLO tells it
    BOOST_TEST(details[1] == "");
}

/// The server may have restarted a moment ago.
// rule N6
BOOST_FIXTURE_TEST_CASE(node_without_info_is_quarantined, silent_node_fixture)
{
    client locks = make(false);
    BOOST_TEST(attempt(locks) == errc::no_quorum);
    auto const shown = locks.node_table().at(0);
    BOOST_TEST((shown.state == node_state::quarantined));
    BOOST_TEST(contains(shown.detail, "INFO does not tell its age"), shown.detail);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "component/scripted_cluster.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Servers that are not Redis, and proxies, in their own words: each fact that they tell is judged, and what they do not
// tell is named (docs/protocol.md, rule N6).

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr lock_options ten_second_lock{.ttl = 10s, .node_timeout = 5s};

/// The server's answers in one handshake.
struct greeting {
    std::string hello{canned::hello};
    std::string info{};
    std::string config{canned::append_settings};
    std::string time{canned::time};
};

/// Dragonfly (dragonflydb/dragonfly, src/server/server_family.cc, ServerFamily::FormatInfoMetrics): no run_id, no
/// master_replid2; a limit of memory always, and a policy of its own name where it is a cache; "replica" for a slave. The
/// sections PERSISTENCE and with it "loading" stand only in INFO ALL.
greeting dragonfly(std::string const& uptime, std::string const& role = "master",
                   std::string const& policy = "noeviction",
                   std::string const& replid = "d1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4")
{
    return {.info = bulk(
                "# Server\r\nredis_version:7.4.0\r\ndragonfly_version:df-v1.30.0\r\nredis_mode:standalone\r\n"
                "arch_bits:64\r\nmultiplexing_api:iouring\r\ntcp_port:6379\r\nuptime_in_seconds:" +
                uptime +
                "\r\nuptime_in_days:0\r\n\r\n# Memory\r\nused_memory:1048576\r\nmaxmemory:8589934592\r\n"
                "maxmemory_human:8.00GiB\r\ncache_mode:" +
                (policy == "noeviction" ? "store" : "cache") + "\r\nmaxmemory_policy:" + policy +
                "\r\n\r\n# Replication\r\nrole:" + role + "\r\nconnected_slaves:0\r\nmaster_replid:" +
                replid + "\r\n\r\n# Keyspace\r\ndb0:keys=0,expires=0,avg_ttl=-1\r\n"),
            .config = "*0\r\n"};
}

/// miniredis (alicebob/miniredis, cmd_info.go and cmd_connection.go): INFO has one line, and HELLO the role. No CONFIG.
greeting miniredis()
{
    return {
        .hello =
            "%7\r\n$6\r\nserver\r\n$9\r\nminiredis\r\n$7\r\nversion\r\n$5\r\n6.0.5\r\n$5\r\nproto\r\n:3\r\n$"
            "2\r\nid\r\n"
            ":42\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n",
        .info = bulk("# Clients\nconnected_clients:1\r\n"),
        .config = "-ERR unknown command `CONFIG`, with args beginning with: `GET`, `*append*`, \r\n"};
}

/// Envoy's proxy (envoyproxy/envoy, source/extensions/filters/network/common/redis/supported_commands.h): neither HELLO nor
/// INFO nor CONFIG are passed on; TIME is answered by the proxy itself.
greeting envoy()
{
    return {.hello = "-ERR unknown command 'HELLO', with args beginning with: 3\r\n",
            .info = "-ERR unknown command 'INFO', with args beginning with: \r\n",
            .config = "-ERR unknown command 'CONFIG', with args beginning with: GET\r\n"};
}

/// A server that draws another run id for each connection, as some proxy in front of many servers shows it.
greeting masquerade(int face)
{
    return {.info = info_reply({{"run_id", std::to_string(face)}})};
}

struct fake_server_fixture {
    asio::io_context context;
    scripted_node node{context};
    std::optional<client> locks;
    std::vector<node_outcome> table;

    fake_server_fixture()
    {
        start([](config&) {});
    }

    void start(std::function<void(config&)> const& change)
    {
        config settings = settings_for({node.url()});
        settings.admission.assume_fresh = false;
        settings.reconnect.min_delay = 1ms;
        settings.reconnect.max_delay = 1ms;
        change(settings);
        locks.emplace(context.get_executor(), settings);
    }

    /// On the next connection. Without HELLO all is asked again, in RESP2.
    void greets(greeting const& words)
    {
        node.expect("HELLO", reply(words.hello));
        for (int times = words.hello.starts_with('-') ? 2 : 1; times != 0; --times)
            node.expect("INFO", reply(words.info))
                .expect("CONFIG", reply(words.config))
                .expect("TIME", reply(words.time));
    }

    node_outcome const& tries()
    {
        auto const result = std::make_shared<outcome>();
        mutex lock(*locks, "lock", ten_second_lock);
        lock.try_acquire(keeps_outcome{result});
        run_until(context, [&] { return result->done(); });
        table = lock.last_attempt();
        granted = !result->ec;
        if (granted) { // so that the next attempt finds it free
            auto const released = std::make_shared<outcome>();
            result->granted.release(keeps_outcome{released});
            run_until(context, [&] { return released->done(); });
        }
        return table.at(0);
    }

    /// Until it has been met anew.
    node_outcome const& tries_anew(greeting const& words)
    {
        greets(words);
        auto const before = node.accepted();
        node.close_all();
        run_until(context, [&] {
            tries();
            return node.accepted() > before && node.done() && table.at(0).result != node_result::unreachable;
        });
        return table.at(0);
    }

    [[nodiscard]] bool names(std::string const& blind_spot) const
    {
        return locks->node_table().at(0).detail.find(blind_spot) != std::string::npos;
    }

    bool granted = false;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(info_fakes, fake_server_fixture)

BOOST_AUTO_TEST_CASE(young_dragonfly_without_run_id_is_quarantined)
{
    greets(dragonfly("3"));
    BOOST_TEST((tries().result == node_result::quarantined));
    BOOST_TEST(table[0].detail.starts_with("started 2."), table[0].detail);
    BOOST_TEST(node.count("SET") == 0U);
}

BOOST_AUTO_TEST_CASE(old_dragonfly_votes_and_missing_facts_are_named)
{
    greets(dragonfly("86400"));
    tries();
    BOOST_TEST(granted);
    BOOST_TEST(names("no run_id: a restart that keeps the data set is not noticed"));
    BOOST_TEST(names("no run_id: a second name of one server is not noticed"));
    BOOST_TEST(!names("each new connection counts as a restart"));
    BOOST_TEST(!names("eviction"));
    BOOST_TEST(!names("no role"));
}

/// Its identity is that of its data set: the same data set is the same server.
BOOST_AUTO_TEST_CASE(dragonfly_is_known_by_replication_id)
{
    greets(dragonfly("86400"));
    tries();
    BOOST_TEST(granted);
    tries_anew(dragonfly("86400"));
    BOOST_TEST(granted);
    BOOST_TEST(
        (tries_anew(dragonfly("0", "master", "noeviction", "another")).result == node_result::quarantined));
    BOOST_TEST(table[0].detail.starts_with("restarted "), table[0].detail);
}

BOOST_AUTO_TEST_CASE(dragonfly_in_cache_mode_is_refused)
{
    greets(dragonfly("86400", "master", "eviction"));
    BOOST_TEST((tries().result == node_result::refused));
    BOOST_TEST(table[0].detail.find("it may evict keys") != std::string::npos, table[0].detail);
}

BOOST_AUTO_TEST_CASE(dragonfly_replica_is_refused)
{
    for (std::string const role : {"replica", "slave"}) {
        start([](config&) {});
        greets(dragonfly("86400", role));
        BOOST_TEST((tries().result == node_result::refused));
        BOOST_TEST(table[0].detail == "a replica");
    }
}

/// Its age counts from the first meeting.
BOOST_AUTO_TEST_CASE(miniredis_is_quarantined_and_missing_facts_are_named)
{
    greets(miniredis());
    BOOST_TEST((tries().result == node_result::quarantined));
    BOOST_TEST(table[0].detail.starts_with("first met, and INFO does not tell its age, "), table[0].detail);
    BOOST_TEST(node.count("SET") == 0U);

    // Taken for new, it votes; then what is not told is all that there is to say of it.
    start([](config& settings) { settings.admission.assume_fresh = true; });
    greets(miniredis());
    tries();
    BOOST_TEST(granted);
    BOOST_TEST(names("no run_id: each new connection counts as a restart"));
    BOOST_TEST(names("no run_id: a second name of one server is not noticed"));
    BOOST_TEST(names("no maxmemory or maxmemory_policy: eviction is not noticed"));
    BOOST_TEST(!names("no role")); // HELLO tells it
    BOOST_TEST(!names("TIME"));

    BOOST_TEST((tries_anew(miniredis()).result == node_result::quarantined));
    BOOST_TEST(table[0].detail.starts_with("connected anew, and does not tell whether it restarted, "),
               table[0].detail);
}

BOOST_AUTO_TEST_CASE(miniredis_with_trusted_restarts_votes_after_reconnection)
{
    for (bool const durable : {false, true}) {
        start([=](config& settings) {
            (durable ? settings.admission.durable_nodes : settings.admission.trust_restarted_nodes) = true;
        });
        greets(miniredis());
        tries();
        BOOST_TEST(granted);
        BOOST_TEST(!names("each new connection counts as a restart"));
        tries_anew(miniredis());
        BOOST_TEST(granted);
    }
}

BOOST_AUTO_TEST_CASE(proxy_without_info_is_new_server_at_each_connection)
{
    start([](config& settings) { settings.admission.assume_fresh = true; });
    greets(envoy());
    tries();
    BOOST_TEST(granted);
    BOOST_TEST(names("INFO is not permitted"));
    BOOST_TEST(names("no run_id: each new connection counts as a restart"));
    BOOST_TEST(names("no role: a replica is not noticed"));
    BOOST_TEST(names("no maxmemory or maxmemory_policy: eviction is not noticed"));
    BOOST_TEST((tries_anew(envoy()).result == node_result::quarantined));
    BOOST_TEST(table[0].detail.starts_with("connected anew, and does not tell whether it restarted, "),
               table[0].detail);

    start([](config& settings) { settings.admission.trust_restarted_nodes = true; });
    greets(envoy());
    tries();
    BOOST_TEST(granted);
    tries_anew(envoy());
    BOOST_TEST(granted);
}

/// twemproxy hangs up at commands that it does not know (twitter/twemproxy, notes/redis.md).
BOOST_AUTO_TEST_CASE(proxy_that_hangs_up_at_hello_is_unreachable)
{
    for (int i = 0; i != 8; ++i)
        node.expect("HELLO", hang_up());
    BOOST_TEST((tries().result == node_result::unreachable));
    BOOST_TEST((table[0].detail.find("a proxy that knows neither HELLO nor AUTH?") != std::string::npos),
               table[0].detail);
    BOOST_TEST(!granted);
    BOOST_TEST(node.count("SET") == 0U);
}

BOOST_AUTO_TEST_CASE(node_with_new_run_id_at_each_connection_keeps_no_keys)
{
    greets(masquerade(1));
    tries();
    BOOST_TEST(granted); // old, and met for the first time
    for (int face = 2; face != 5; ++face) {
        auto const votes = node.count("SET");
        BOOST_TEST((tries_anew(masquerade(face)).result == node_result::quarantined));
        BOOST_TEST(table[0].detail.starts_with("replaced by another server "), table[0].detail);
        BOOST_TEST(node.count("SET") == votes);
    }
    locks->shutdown([](error_code) {}); // after which all has been said
    run_until(context, [&] { return locks->node_table()[0].state == node_state::idle; });
    for (auto const& command : node.heard()) // no key but the lock's was ever named
        if (command.front() == "SET")
            BOOST_TEST(command.at(1) == "lock");
}

BOOST_AUTO_TEST_CASE(missing_facts_are_reported_once)
{
    auto const told = std::make_shared<recorder>();
    start([&](config& settings) {
        settings.admission.assume_fresh = true;
        settings.admission.trust_restarted_nodes = true;
        settings.observer = told;
    });
    greets(miniredis());
    tries();
    BOOST_TEST(granted);
    tries_anew(miniredis());
    BOOST_TEST(granted);
    auto const says_more = [](recorder::node_change const& change) {
        return change.state == node_state::ready && !change.detail.empty();
    };
    BOOST_TEST(std::ranges::count_if(told->nodes, says_more) == 1);
}

BOOST_AUTO_TEST_CASE(missing_fact_about_allowed_setting_is_not_reported)
{
    start([](config& settings) {
        settings.admission.assume_fresh = true;
        settings.admission.allow_eviction = true;
    });
    greets(miniredis());
    tries();
    BOOST_TEST(granted);
    BOOST_TEST(!names("eviction"));
}

BOOST_AUTO_TEST_SUITE_END()

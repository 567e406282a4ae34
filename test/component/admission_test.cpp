// SPDX-License-Identifier: BSL-1.0
#include "component/scripted_cluster.hpp"
#include "engine/admissions.hpp"
#include "redis/info.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

using changes = std::vector<std::pair<std::string, std::string>>;

constexpr lock_options ten_seconds{.ttl = 10s, .node_timeout = 5s};
constexpr lock_options one_minute{.ttl = 60s, .node_timeout = 5s};

/// One scripted server, for whose age nobody vouches.
struct unknown_node_fixture {
    asio::io_context context;
    scripted_node node{context};
    std::shared_ptr<recorder> told = std::make_shared<recorder>();
    std::optional<client> locks;

    unknown_node_fixture()
    {
        config settings = settings_for({node.url()});
        settings.admission.assume_fresh = false;
        settings.observer = told;
        settings.reconnect.min_delay = 1ms;
        settings.reconnect.max_delay = 1ms;
        locks.emplace(context.get_executor(), settings);
    }

    void says(changes const& lines) { node.expect("INFO", reply(info_reply(lines))); }

    std::shared_ptr<outcome> try_acquire(lock_options options) { return try_acquire("lock", options); }
    std::shared_ptr<outcome> try_acquire(std::string const& name, lock_options options)
    {
        auto result = std::make_shared<outcome>();
        mutex lock(*locks, name, options);
        lock.try_acquire(keeps_outcome{result});
        run_until(context, [&] { return result->done(); });
        table = lock.last_attempt();
        return result;
    }

    std::shared_ptr<outcome> extend(outcome& held)
    {
        auto result = std::make_shared<outcome>();
        held.granted.extend(keeps_outcome{result});
        run_until(context, [&] { return result->done(); });
        return result;
    }

    void change_nodes(std::vector<std::string> urls)
    {
        std::optional<error_code> changed;
        locks->change_nodes(urls, [&](error_code ec) { changed = ec; });
        run_until(context, [&] { return changed.has_value(); });
        BOOST_TEST(!*changed);
    }

    std::vector<node_outcome> table;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(admission, unknown_node_fixture)

// rules N2 and K1
BOOST_AUTO_TEST_CASE(quarantined_node_is_sent_neither_vote_nor_release)
{
    says({{"uptime_in_seconds", "3"}});
    auto const got = try_acquire(ten_seconds);
    BOOST_TEST(got->ec == errc::no_quorum);
    BOOST_TEST((table.at(0).result == node_result::quarantined));
    BOOST_TEST(table[0].detail.starts_with("started 2."), table[0].detail);
    locks->shutdown([](error_code) {}); // after which all has been said
    run_until(context, [&] { return locks->node_table()[0].state == node_state::idle; });
    BOOST_TEST(node.count("SET") == 0U);
    BOOST_TEST(node.count("EVAL") == 0U);
}

// rule N4
BOOST_AUTO_TEST_CASE(node_old_enough_for_short_lock_is_quarantined_for_longer_lock)
{
    says({{"uptime_in_seconds", "30"}});
    auto const held = try_acquire("short", ten_seconds);
    BOOST_TEST(!held->ec);
    BOOST_TEST(try_acquire("long", one_minute)->ec == errc::no_quorum);
    BOOST_TEST((table.at(0).result == node_result::quarantined));
    BOOST_TEST((table[0].remaining > 1s && table[0].remaining <= 38s));
    // Nothing happens to anybody else.
    auto const extended = extend(*held);
    BOOST_TEST(!extended->ec);
    BOOST_TEST(!try_acquire("other", ten_seconds)->ec);
    BOOST_TEST(node.accepted() == 1U);
}

/// The key that was lost may be the longer one's.
// rule N4
BOOST_AUTO_TEST_CASE(quarantine_counts_longest_lock_of_a_name)
{
    says({{"uptime_in_seconds", "30"}});
    mutex const longer(*locks, "lock", one_minute);
    BOOST_TEST(try_acquire("lock", ten_seconds)->ec == errc::no_quorum);
    BOOST_TEST((table.at(0).result == node_result::quarantined));
    BOOST_TEST(!try_acquire("other", ten_seconds)->ec);
}

/// The key that was lost may be one that is made only now: of another client, which has such a lock, too.
// rule N4
BOOST_AUTO_TEST_CASE(longer_lock_made_later_stops_extension_on_young_node)
{
    says({{"uptime_in_seconds", "30"}});
    auto const held = try_acquire("lock", ten_seconds);
    BOOST_TEST(!held->ec);
    mutex const longer(*locks, "lock", one_minute);
    auto const extended = extend(*held);
    BOOST_TEST(extended->ec == errc::no_quorum);
    BOOST_TEST(node.count("EVAL") == 0U);
}

/// Locks made for the former nodes count for the new ones, also before they are used.
// rule N9
BOOST_AUTO_TEST_CASE(quarantine_counts_longest_lock_made_before_the_nodes_were_changed)
{
    says({{"uptime_in_seconds", "30"}});
    mutex const longer(*locks, "lock", one_minute);
    mutex const unrelated(*locks, "other", ten_seconds);
    change_nodes({node.url()});
    BOOST_TEST(try_acquire("lock", ten_seconds)->ec == errc::no_quorum);
    BOOST_TEST((table.at(0).result == node_result::quarantined));
    auto const got = try_acquire("other", ten_seconds);
    BOOST_TEST(!got->ec, got->ec.message() << ": " << to_string(table));
}

/// The other way round: a client that goes on with the former nodes may help a second owner to a majority.
// rule N9
BOOST_AUTO_TEST_CASE(longer_lock_made_after_the_nodes_were_changed_stops_extension_on_former_ones)
{
    says({{"uptime_in_seconds", "30"}});
    auto const held = try_acquire("lock", ten_seconds);
    BOOST_TEST(!held->ec);
    locks->change_nodes(std::vector{node.url()}, [](error_code) {});
    run_until(context, [&] { return mutex(*locks, "lock", ten_seconds).last_attempt().empty(); });
    mutex const longer(*locks, "lock", one_minute);
    auto const extended = extend(*held);
    BOOST_TEST(extended->ec == errc::no_quorum);
    BOOST_TEST(node.count("EVAL") == 0U);
}

/// The earlier life was heard of a moment ago, and so this one is no older, whatever its uptime is.
// rules N4 and N9
BOOST_AUTO_TEST_CASE(restart_between_two_lists_of_nodes_is_not_before_what_was_heard)
{
    says({{"uptime_in_seconds", "60"}});
    BOOST_TEST(!try_acquire(ten_seconds)->ec);
    change_nodes({node.url()});
    says({{"run_id", "another"}, {"uptime_in_seconds", "60"}});
    BOOST_TEST(try_acquire("new", ten_seconds)->ec == errc::no_quorum);
    BOOST_TEST((table.at(0).result == node_result::quarantined));
    BOOST_TEST(table[0].detail.starts_with("replaced by another server 0"), table[0].detail);
}

/// Q is 1.01 times the key's whole time, slack included.
// rule N4
BOOST_AUTO_TEST_CASE(quarantine_outlasts_ttl_and_slack)
{
    says({{"uptime_in_seconds", "31"}});
    lock_options const long_slack{.ttl = 10s, .slack = 20s, .node_timeout = 5s};
    BOOST_TEST(try_acquire("lock", long_slack)->ec == errc::no_quorum);
    BOOST_TEST((table.at(0).result == node_result::quarantined));
}

/// The report names the lock that waits, and the time until the node votes for it.
// rule N4
BOOST_AUTO_TEST_CASE(quarantined_node_is_reported_with_lock_name_and_time_left)
{
    says({{"uptime_in_seconds", "30"}});
    BOOST_TEST(!try_acquire("short", ten_seconds)->ec);
    BOOST_TEST(try_acquire("long", one_minute)->ec == errc::no_quorum);
    auto const shown = locks->node_table().at(0);
    BOOST_TEST((shown.state == node_state::quarantined));
    BOOST_TEST(shown.detail.find("no votes for 'long' for ") != std::string::npos, shown.detail);
    BOOST_TEST((shown.remaining > 1s && shown.remaining <= 38s));
    BOOST_TEST_REQUIRE(told->count(node_state::quarantined) == 1);
    auto const change =
        std::ranges::find(told->nodes, node_state::quarantined, &recorder::node_change::state);
    BOOST_TEST(change->resource == "long");
    BOOST_TEST((change->remaining > 1s && change->remaining <= 38s));
}

// rule N4
BOOST_AUTO_TEST_CASE(quarantine_counts_longest_ttl_of_other_clients)
{
    config settings = settings_for({node.url()});
    settings.admission.assume_fresh = false;
    settings.admission.longest_ttl = 60s;
    locks.emplace(context.get_executor(), settings);
    says({{"uptime_in_seconds", "30"}});
    BOOST_TEST(try_acquire(ten_seconds)->ec == errc::no_quorum);
    BOOST_TEST((table.at(0).remaining > 1s));
}

// rule N3
BOOST_AUTO_TEST_CASE(loading_node_is_connected_again_until_ready)
{
    says({{"loading", "1"}});
    auto result = std::make_shared<outcome>();
    mutex lock(*locks, "lock", {.ttl = 400ms, .node_timeout = 100ms}); // its quarantine is waited for
    lock.acquire(keeps_outcome{result});
    run_until(context, [&] { return result->done(); });
    BOOST_TEST(!result->ec);
    BOOST_TEST(node.accepted() >= 2U);
}

// rule N4
BOOST_AUTO_TEST_CASE(quarantined_node_keeps_its_connection)
{
    says({{"uptime_in_seconds", "3"}});
    for (int i = 0; i != 3; ++i)
        BOOST_TEST(try_acquire(ten_seconds)->ec == errc::no_quorum);
    BOOST_TEST(node.accepted() == 1U);
    BOOST_TEST(node.open() == 1U);
}

BOOST_AUTO_TEST_CASE(release_reaches_node_whose_quarantined_connection_closed)
{
    scripted_node other(context);
    scripted_node third(context);
    config settings = settings_for({node.url(), other.url(), third.url()});
    settings.admission.assume_fresh = false;
    locks.emplace(context.get_executor(), settings);
    says({{"uptime_in_seconds", "3"}});
    auto const got = try_acquire(ten_seconds);
    BOOST_TEST_REQUIRE(!got->ec);
    run_until(context, [&] { return locks->node_table()[0].state == node_state::quarantined; });
    node.close_all();
    auto const released = std::make_shared<outcome>();
    got->granted.release(keeps_outcome{released});
    run_until(context, [&] { return released->done() && node.count("EVAL") == 1; });
    BOOST_TEST(!released->ec);
    BOOST_TEST(node.count("SET") == 0U); // a vote that waited for the connection was not sent
    BOOST_TEST(node.accepted() == 2U);
}

BOOST_AUTO_TEST_CASE(closed_connection_of_quarantined_node_is_noticed)
{
    says({{"uptime_in_seconds", "3"}});
    BOOST_TEST(try_acquire(ten_seconds)->ec == errc::no_quorum);
    node.close_all();
    says({{"run_id", "another"}, {"uptime_in_seconds", "0"}});
    run_until(context, [&] {
        BOOST_TEST(try_acquire(ten_seconds)->ec == errc::no_quorum);
        return node.accepted() == 2;
    });
    BOOST_TEST(table.at(0).detail.starts_with("restarted "), table[0].detail);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(group_settings)

BOOST_AUTO_TEST_CASE(group_whose_settings_are_not_known_is_refused_unless_trusted)
{
    redis::server_facts facts{.info = redis::server_info{}, .group = true, .known_replicas = 4};
    auto const against = detail::objection(facts, {});
    BOOST_TEST_REQUIRE(against.has_value());
    BOOST_TEST(
        against->detail.find("CONFIG GET is not permitted, and with 4 replicas it must be 2 at least") !=
            std::string::npos,
        against->detail);
    BOOST_TEST(!detail::objection(facts, {.trust_replication = true}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

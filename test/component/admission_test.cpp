#include "component/scripted_cluster.hpp"

#include <boost/test/unit_test.hpp>

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

/// One scripted server for whose age nobody vouches.
struct stranger {
    asio::io_context context;
    scripted_node node{context};
    std::optional<client> locks;

    stranger()
    {
        config settings = settings_for({node.url()});
        settings.assume_fresh = false;
        settings.reconnect.min_delay = 1ms;
        settings.reconnect.max_delay = 1ms;
        locks.emplace(context.get_executor(), settings);
    }

    void says(changes const& lines) { node.expect("INFO", reply(info_reply(lines))); }

    std::shared_ptr<outcome> try_acquire(lock_options options)
    {
        auto result = std::make_shared<outcome>();
        mutex lock(*locks, "lock", options);
        lock.try_acquire(keeps_outcome{result});
        run_until(context, [&] { return result->done(); });
        table = lock.last_attempt();
        return result;
    }

    std::vector<node_outcome> table;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(admission, stranger)

BOOST_AUTO_TEST_CASE(a_quarantined_node_is_sent_no_vote_and_so_no_release)
{
    says({{"uptime_in_seconds", "3"}});
    auto const got = try_acquire(ten_seconds);
    BOOST_TEST(got->ec == errc::no_quorum);
    BOOST_TEST((table.at(0).result == node_result::quarantined));
    BOOST_TEST(table[0].detail.starts_with("started 2."), table[0].detail);
    locks->shutdown([](error_code) {}); // after which all has been said
    run_until(context, [&] { return locks->nodes()[0].state == node_state::idle; });
    BOOST_TEST(node.count("SET") == 0U);
    BOOST_TEST(node.count("EVAL") == 0U);
}

BOOST_AUTO_TEST_CASE(who_was_old_enough_for_one_lock_may_be_too_young_for_a_longer_one)
{
    says({{"uptime_in_seconds", "30"}});
    BOOST_TEST(!try_acquire(ten_seconds)->ec);
    BOOST_TEST(try_acquire(one_minute)->ec == errc::no_quorum);
    BOOST_TEST((table.at(0).result == node_result::quarantined));
    BOOST_TEST((table[0].remaining > 1s && table[0].remaining <= 38s));
    // Nobody is asked about one lock whom another may not ask: the key that was lost may be either's.
    BOOST_TEST(try_acquire(ten_seconds)->ec == errc::no_quorum);
    BOOST_TEST(node.accepted() == 1U);
}

BOOST_AUTO_TEST_CASE(other_clients_longest_lock_counts)
{
    config settings = settings_for({node.url()});
    settings.assume_fresh = false;
    settings.admission.longest_ttl = 60s;
    locks.emplace(context.get_executor(), settings);
    says({{"uptime_in_seconds", "30"}});
    BOOST_TEST(try_acquire(ten_seconds)->ec == errc::no_quorum);
    BOOST_TEST((table.at(0).remaining > 1s));
}

BOOST_AUTO_TEST_CASE(a_loading_server_is_asked_again)
{
    says({{"loading", "1"}});
    auto result = std::make_shared<outcome>();
    mutex lock(*locks, "lock", ten_seconds);
    lock.acquire(keeps_outcome{result});
    run_until(context, [&] { return result->done(); });
    BOOST_TEST(!result->ec);
    BOOST_TEST(node.accepted() >= 2U);
}

BOOST_AUTO_TEST_CASE(a_quarantined_node_keeps_its_connection)
{
    says({{"uptime_in_seconds", "3"}});
    for (int i = 0; i != 3; ++i)
        BOOST_TEST(try_acquire(ten_seconds)->ec == errc::no_quorum);
    BOOST_TEST(node.accepted() == 1U);
    BOOST_TEST(node.open() == 1U);
}

BOOST_AUTO_TEST_CASE(a_release_finds_a_quarantined_connection_closed)
{
    scripted_node other(context);
    scripted_node third(context);
    config settings = settings_for({node.url(), other.url(), third.url()});
    settings.assume_fresh = false;
    locks.emplace(context.get_executor(), settings);
    says({{"uptime_in_seconds", "3"}});
    auto const got = try_acquire(ten_seconds);
    BOOST_TEST_REQUIRE(!got->ec);
    run_until(context, [&] { return locks->nodes()[0].state == node_state::quarantined; });
    node.close_all();
    auto const released = std::make_shared<outcome>();
    got->granted.release(keeps_outcome{released});
    run_until(context, [&] { return released->done() && node.count("EVAL") == 1; });
    BOOST_TEST(!released->ec);
    BOOST_TEST(node.count("SET") == 0U); // a vote that waited for the connection was not sent
    BOOST_TEST(node.accepted() == 2U);
}

BOOST_AUTO_TEST_CASE(the_end_of_a_quarantined_connection_is_noticed)
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

// SPDX-License-Identifier: BSL-1.0
#include "component/lone_client.hpp"
#include "component/scripted_node.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Some scripted servers, and what a client says of them.
struct setup {
    asio::io_context context;
    std::vector<std::unique_ptr<scripted_node>> nodes;
    std::shared_ptr<recorder> told = std::make_shared<recorder>();
    std::optional<client> locks;
    std::vector<outcome_ptr> held{};

    explicit setup(std::size_t count)
    {
        for (std::size_t i = 0; i != count; ++i)
            nodes.push_back(std::make_unique<scripted_node>(context));
    }

    void says(std::size_t node, std::vector<std::pair<std::string, std::string>> const& lines)
    {
        nodes[node]->expect("INFO", reply(info_reply(lines)));
    }
    void are_young()
    {
        for (std::size_t i = 0; i != nodes.size(); ++i)
            says(i, {{"run_id", std::to_string(i)}, {"uptime_in_seconds", "60"}});
        connect(false);
    }

    void connect(bool fresh = true)
    {
        std::vector<std::string> urls;
        for (auto const& node : nodes)
            urls.push_back(node->url());
        config settings = settings_for(urls);
        settings.admission.assume_fresh = fresh;
        settings.reconnect.min_delay = settings.reconnect.max_delay = 1ms;
        settings.observer = told;
        locks.emplace(context.get_executor(), settings);
    }

    outcome_ptr acquire(std::string const& name)
    {
        held.push_back(std::make_shared<outcome>());
        mutex(*locks, name, long_lived).acquire(keeps_outcome{held.back()});
        return held.back();
    }

    void hold(std::string const& name = "lock")
    {
        auto const got = acquire(name);
        run_until(context, [&] { return got->done(); });
        BOOST_TEST(!got->ec);
    }

    /// All connections stand that ever will.
    void settle()
    {
        run_until(context, [&] {
            return std::ranges::none_of(locks->node_table(), [](node_status const& row) {
                return row.state == node_state::idle || row.state == node_state::connecting;
            });
        });
    }
};

struct two_nodes_fixture : setup {
    two_nodes_fixture() : setup(2) { connect(); }
};
struct warned_nodes_fixture : setup {
    warned_nodes_fixture() : setup(3) {}
};
struct four_nodes_fixture : setup {
    four_nodes_fixture() : setup(4) { connect(); }
};

} // namespace

BOOST_AUTO_TEST_SUITE(warnings)

BOOST_FIXTURE_TEST_CASE(even_number_of_nodes_is_warned_of_once, four_nodes_fixture)
{
    hold("one");
    hold("other");
    settle();
    BOOST_TEST_REQUIRE(told->warnings.size() == 1U);
    BOOST_TEST((told->warnings[0].what == warning_event::kind::even_nodes));
    BOOST_TEST(told->warnings[0].words == "4 nodes survive the failure of 1 node, as 3 nodes do");
    BOOST_TEST(told->warnings[0].node == "");
}

BOOST_FIXTURE_TEST_CASE(two_nodes_are_warned_of_as_surviving_no_failure, two_nodes_fixture)
{
    hold();
    BOOST_TEST_REQUIRE(told->warnings.size() == 1U);
    BOOST_TEST(told->warnings[0].words == "2 nodes survive no failure: both are needed for a majority");
}

BOOST_FIXTURE_TEST_CASE(three_good_nodes_cause_no_warning, warned_nodes_fixture)
{
    connect();
    hold();
    settle();
    BOOST_TEST(told->warnings.empty());
}

BOOST_FIXTURE_TEST_CASE(two_urls_of_one_server_are_warned_of_once, warned_nodes_fixture)
{
    std::string const url = nodes[0]->url();
    nodes[1]->expect("HELLO", late(canned::hello)); // the other one is first
    for (int i = 0; i != 10; ++i)
        says(1, {{"run_id", url.substr(url.rfind(':') + 1)}}); // as every scripted node names itself
    connect();
    hold();
    nodes[1]->deliver_late();
    run_until(context, [&] { return nodes[1]->accepted() >= 5; }); // a refused node is tried again
    BOOST_TEST_REQUIRE(told->warnings.size() == 1U);
    auto const& row = told->warnings[0];
    BOOST_TEST((row.what == warning_event::kind::same_server));
    BOOST_TEST(row.node == nodes[1]->url());
    BOOST_TEST(row.words == "is the same server as " + url + ", and has no vote of its own");
}

BOOST_FIXTURE_TEST_CASE(replicas_of_a_node_are_warned_of_once, warned_nodes_fixture)
{
    says(1, {{"connected_slaves", "2"}});
    connect();
    hold();
    settle();
    BOOST_TEST_REQUIRE(told->warnings.size() == 1U);
    BOOST_TEST((told->warnings[0].what == warning_event::kind::has_replicas));
    BOOST_TEST(told->warnings[0].node == nodes[1]->url());
    BOOST_TEST(told->warnings[0].words == "has 2 replicas: one that is promoted lacks the latest locks");
    says(1, {{"connected_slaves", "2"}});
    nodes[1]->close_all();
    run_until(context, [&] { return nodes[1]->accepted() == 2; });
    settle();
    BOOST_TEST(told->warnings.size() == 1U); // once, whatever happens to the connection
}

// rule N4
BOOST_FIXTURE_TEST_CASE(waiter_for_quarantined_majority_is_warned_at_once_until_when, warned_nodes_fixture)
{
    are_young();
    auto const waits = acquire("seat");
    run_until(context, [&] { return std::ranges::count_if(told->attempts, &error_code::failed) == 1; });
    settle();
    BOOST_TEST(!waits->done());
    BOOST_TEST_REQUIRE(told->warnings.size() == 1U);
    auto const& row = told->warnings[0];
    BOOST_TEST((row.what == warning_event::kind::quarantine));
    BOOST_TEST(row.resource == "seat");
    BOOST_TEST(row.words.starts_with("waits: 3 of 3 nodes quarantined, a majority may vote in "), row.words);
    BOOST_TEST((row.remaining > 8min && row.remaining < 11min)); // 1.01 times eleven minutes, less the age
}

/// The time until enough nodes may vote, not until the first of them may.
BOOST_FIXTURE_TEST_CASE(quarantine_warning_tells_when_a_majority_may_vote, warned_nodes_fixture)
{
    for (std::size_t i = 0; i != 3; ++i)
        says(i, {{"run_id", std::to_string(i)}, {"uptime_in_seconds", std::to_string(60 + 200 * i)}});
    connect(false);
    acquire("seat");
    run_until(context, [&] { return std::ranges::count_if(told->attempts, &error_code::failed) == 1; });
    settle();
    BOOST_TEST_REQUIRE(!told->warnings.empty());
    auto const remaining = told->warnings.back().remaining; // 666 s, less 259
    BOOST_TEST((remaining > 400s && remaining < 410s));
}

BOOST_FIXTURE_TEST_CASE(try_acquire_with_quarantined_nodes_causes_no_warning, warned_nodes_fixture)
{
    are_young();
    auto const result = std::make_shared<outcome>();
    mutex(*locks, "seat", long_lived).try_acquire(keeps_outcome{result});
    run_until(context, [&] { return result->done(); });
    BOOST_TEST(result->ec == errc::no_quorum);
    BOOST_TEST(told->warnings.empty());
}

BOOST_AUTO_TEST_SUITE_END()

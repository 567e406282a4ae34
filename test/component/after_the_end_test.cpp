// SPDX-License-Identifier: BSL-1.0
#include "component/held_clock.hpp"
#include "component/scripted_cluster.hpp"
#include "component/separate_node.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

struct held_clock_fixture : held_clock_base, scripted_cluster {};

struct watched_cluster_fixture : scripted_cluster {
    std::shared_ptr<recorder> const watcher = std::make_shared<recorder>();

    watched_cluster_fixture() { connect_with(watcher); }
};

} // namespace

BOOST_AUTO_TEST_SUITE(after_the_end)

/// An extension that was under way is not reported any more.
// rule H7
BOOST_FIXTURE_TEST_CASE(broken_connection_after_release_changes_nothing, watched_cluster_fixture)
{
    auto const got = try_acquire(lock());
    run_until(context, [&] { return got->granted.votes() == 3; });
    expect_everywhere("EVAL", late(canned::one));
    auto const extended = std::make_shared<outcome>();
    auto const released = std::make_shared<outcome>();
    got->granted.extend(keeps_outcome{extended});
    run_until_heard(2);
    got->granted.release(keeps_outcome{released});
    run_until_heard(3);
    nodes[2]->close_all();
    run_until(context, [&] { return nodes[2]->accepted() == 2; });
    nodes[0]->deliver_late();
    nodes[1]->deliver_late();
    run_until(context, [&] { return released->done(); });
    BOOST_TEST(extended->ec == errc::released);
    BOOST_TEST(released->ec == error_code());
    BOOST_TEST((watcher->leases.back().what == lease_event::kind::released));
}

/// The refusal of the previous vote does not concern this one.
// rule A6
BOOST_FIXTURE_TEST_CASE(cancelled_vote_is_undone_although_previous_vote_was_denied, separate_node)
{
    refuse();
    auto const result = std::make_shared<outcome>();
    asio::cancellation_signal cancel;
    mutex(locks, "resource", without_polling())
        .acquire(asio::bind_cancellation_slot(cancel.slot(), keeps_outcome{result}));
    run_both([&] { return node.done(); });
    node.expect("SET", late(canned::ok));
    node.say(canned::invalidation);
    run_both([&] { return node.count("SET") == 2; });
    std::string const vote = node.heard().back().at(2);
    cancel.emit(asio::cancellation_type::terminal);
    run_both([&] { return node.count("EVAL") == 1; });
    BOOST_TEST(node.heard().back().at(4) == vote);
    node.deliver_late();
}

/// The vote has waited for its connection, and its key lives from then on.
// rule A6
BOOST_FIXTURE_TEST_CASE(vote_executed_late_is_undone, held_clock_fixture)
{
    constexpr lock_options brief{.ttl = 1s, .slack = 100ms, .node_timeout = 500ms};
    nodes[0]->expect("SET", reply(canned::nil));
    nodes[1]->expect("SET", reply(canned::nil));
    nodes[2]->expect("HELLO", late(canned::hello)).expect("SET", hang_up());
    BOOST_TEST(try_acquire(lock("resource", brief))->ec == errc::contended);
    clock.advance(1200ms);
    nodes[2]->deliver_late();
    run_until(context, [&] { return nodes[2]->count("EVAL") == 1; });
    auto const& all = nodes[2]->heard();
    auto const vote = std::ranges::find(all, std::string("SET"), [](auto const& w) { return w[0]; });
    BOOST_TEST(all.back().at(4) == vote->at(2));
}

BOOST_FIXTURE_TEST_CASE(vote_with_broken_connection_is_undone, scripted_cluster)
{
    nodes[0]->expect("SET", reply(canned::nil));
    nodes[1]->expect("SET", late(canned::nil));
    nodes[2]->expect("SET", hang_up());
    auto const result = std::make_shared<outcome>();
    lock().try_acquire(keeps_outcome{result});
    run_until(context, [&] {
        return nodes[1]->done() && nodes[2]->done() && locks->node_table().at(2).state != node_state::ready;
    });
    nodes[1]->deliver_late();
    run_until(context, [&] { return result->done() && nodes[2]->count("EVAL") == 1; });
    BOOST_TEST(result->ec == errc::contended);
    auto const& all = nodes[2]->heard();
    auto const vote = std::ranges::find(all, std::string("SET"), [](auto const& w) { return w[0]; });
    BOOST_TEST(all.back().at(4) == vote->at(2));
}

/// A resent extension would arrive behind the release.
// rule R1
BOOST_FIXTURE_TEST_CASE(extension_with_unknown_script_is_not_resent_after_release, scripted_cluster)
{
    auto const all_is_read = [this](std::string behind) {
        auto const got = try_acquire(lock(std::move(behind)));
        run_until(context, [&] { return got->granted.votes() == 3; });
        return std::move(got->granted);
    };
    auto const got = try_acquire(lock());
    BOOST_TEST(extend(got->granted) == error_code()); // by its text, until it has worked once
    lease const one = all_is_read("one");
    expect_everywhere("EVALSHA", late(canned::noscript));
    auto const extended = std::make_shared<outcome>();
    auto const released = std::make_shared<outcome>();
    got->granted.extend(keeps_outcome{extended});
    run_until_heard(4);
    got->granted.release(keeps_outcome{released});
    run_until_heard(5);
    for (auto const& node : nodes)
        node->deliver_late();
    run_until(context, [&] { return released->done(); });
    BOOST_TEST(extended->ec == errc::released);
    lease const other = all_is_read("other");
    for (auto const& node : nodes)
        BOOST_TEST(node->count("EVAL") + node->count("EVALSHA") == 3U);
    BOOST_TEST(!surprised());
}

// rule R1
BOOST_FIXTURE_TEST_CASE(release_that_missed_a_node_is_sent_when_node_returns, scripted_cluster)
{
    auto const got = try_acquire(lock());
    run_until(context, [&] { return got->granted.votes() == 3; });
    nodes[2]->expect("EVAL", hang_up());
    BOOST_TEST(release(got->granted) == error_code());
    run_until(context, [&] { return nodes[2]->count("EVAL") == 2; });
    BOOST_TEST(nodes[2]->accepted() == 2U);
}

// rule R2
BOOST_FIXTURE_TEST_CASE(release_with_keys_gone_fails_with_lease_lost, scripted_cluster)
{
    auto const got = try_acquire(lock());
    run_until(context, [&] { return got->granted.votes() == 3; });
    expect_everywhere("EVAL", reply(canned::zero));
    BOOST_TEST(release(got->granted) == errc::lease_lost);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "component/held_clock.hpp"
#include "component/scripted_cluster.hpp"
#include "kit/text.hpp"

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <string_view>

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr std::string_view their_nonce = "0123456789abcdef0123456789abcdef";
constexpr std::string_view denied = "-NOPERM this user has no permissions to run the 'get' command\r\n";

std::string number(long long n)
{
    return ':' + std::to_string(n) + "\r\n";
}

struct inspection_fixture : scripted_cluster {
    static constexpr lock_options short_patience{.ttl = 10min, .node_timeout = 50ms};

    void says(std::size_t node, std::string_view owner, std::string_view left)
    {
        nodes[node]->expect("GET", reply(owner)).expect("PTTL", reply(left));
    }
    void says_whose(std::size_t node, std::string_view whose, std::string_view left)
    {
        nodes[node]->expect("EVAL", reply(whose)).expect("PTTL", reply(left));
    }
    void has_key(std::size_t node, std::string_view owner, long long left = 9000)
    {
        says(node, bulk(owner), number(left));
    }
    void has_none(std::size_t node) { says(node, canned::nil, ":-2\r\n"); }

    outcome_ptr begin(inspectable_lock const& lock)
    {
        auto result = std::make_shared<outcome>();
        lock.inspect(keeps_outcome{result});
        return result;
    }
    outcome_ptr inspect(inspectable_lock const& lock)
    {
        auto result = begin(lock);
        run_until(context, [&] { return result->done(); });
        BOOST_TEST(result->completions == 1U);
        return result;
    }
    outcome_ptr inspect() { return inspect(lock()); }
    inspection seen(error_code expected = {})
    {
        auto const result = inspect();
        BOOST_TEST(result->ec == expected, result->ec.message());
        return result->seen;
    }
    /// The connections stand, and the next vote gets the answer that belongs to it.
    void check_usable()
    {
        auto const got = try_acquire(lock("after"));
        BOOST_TEST(!got->ec, got->ec.message());
        BOOST_TEST(!surprised());
    }
};

std::string_view text(lock_status s)
{
    return to_string(s);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(inspections, inspection_fixture)

BOOST_AUTO_TEST_CASE(inspection_names_majority_owner_by_nonce_prefix_only)
{
    has_key(0, their_nonce, 9000);
    has_key(1, their_nonce, 8000);
    has_none(2);
    inspection const told = seen();
    BOOST_TEST(told.held());
    BOOST_TEST(told.owner == their_nonce.substr(0, 8));
    BOOST_TEST(!told.ours);
    BOOST_TEST(told.votes == 2U);
    BOOST_TEST(told.free == 1U);
    BOOST_TEST((told.expires_within <= 8001ms));
    BOOST_TEST((told.expires_after <= *told.expires_within));
    BOOST_TEST((told.holder == holder_kind::owner));
    BOOST_TEST(told.node_table.at(0).result == node_result::held_by_other);
    BOOST_TEST((told.node_table[0].holder == holder_kind::owner));
    BOOST_TEST(told.node_table[0].owner == their_nonce.substr(0, 8));
    BOOST_TEST((told.node_table[0].remaining == 9000ms));
    BOOST_TEST(told.node_table[0].round_trip.has_value());
    BOOST_TEST(told.node_table.at(2).result == node_result::free);
    BOOST_TEST(told.node_table[2].round_trip.has_value());
    BOOST_TEST(told.last_token == 0U);
}

BOOST_AUTO_TEST_CASE(inspection_sends_no_writing_command)
{
    for (std::size_t i = 0; i != 3; ++i)
        has_none(i);
    BOOST_TEST(text(seen().status) == "free");
    for (auto const& node : nodes)
        BOOST_TEST(node->count("SET") + node->count("EVAL") + node->count("EVALSHA") == 0U);
}

BOOST_AUTO_TEST_CASE(inspection_tells_owners_with_equal_prefixes_apart)
{
    for (std::size_t i = 0; i != 3; ++i)
        has_key(i, "the-same-host:" + std::to_string(i));
    inspection const told = seen();
    BOOST_TEST(text(told.status) == "blocked");
    BOOST_TEST(told.votes == 1U);
    BOOST_TEST(told.owner.empty());
    BOOST_TEST(told.node_table.at(0).owner == "the-same");
}

BOOST_AUTO_TEST_CASE(inspection_counts_later_answer_that_key_is_gone)
{
    for (std::size_t i = 0; i != 3; ++i)
        says(i, bulk(their_nonce), ":-2\r\n");
    inspection const told = seen();
    BOOST_TEST(text(told.status) == "free");
    BOOST_TEST(told.node_table.at(0).result == node_result::free);
    BOOST_TEST(told.node_table[0].owner.empty());
    BOOST_TEST((told.expires_within == 0ms));
}

BOOST_AUTO_TEST_CASE(inspection_reports_key_that_is_no_lock)
{
    says(0, canned::wrongtype, ":-1\r\n");
    says(1, canned::wrongtype, ":5000\r\n");
    says_whose(1, canned::wrongtype, ":5000\r\n");
    has_none(2);
    inspection const told = seen();
    BOOST_TEST(text(told.status) == "blocked");
    BOOST_TEST(told.node_table.at(0).detail.starts_with("its key is no lock"));
    BOOST_TEST(told.node_table.at(1).detail == "its key is no lock");
    BOOST_TEST((told.node_table[0].holder == holder_kind::no_lock));
    BOOST_TEST((told.node_table[1].holder == holder_kind::no_lock));
    BOOST_TEST((told.holder == holder_kind::no_lock));
    BOOST_TEST((told.expires_within > 4000ms));
}

BOOST_AUTO_TEST_CASE(inspection_names_readers)
{
    for (std::size_t i : {0U, 1U}) {
        says(i, canned::wrongtype, ":5000\r\n");
        says_whose(i, "+READERS\r\n", ":7000\r\n"); // another one came in between
    }
    has_none(2);
    inspection const told = seen();
    BOOST_TEST(told.held());
    BOOST_TEST((told.holder == holder_kind::readers));
    BOOST_TEST(told.votes == 2U);
    BOOST_TEST(told.free == 1U);
    BOOST_TEST(told.owner.empty());
    BOOST_TEST(!told.ours);
    BOOST_TEST((told.expires_within > 6000ms));
    BOOST_TEST((told.node_table.at(0).holder == holder_kind::readers));
    BOOST_TEST(told.node_table[0].result == node_result::held_by_other);
    BOOST_TEST((told.node_table[0].remaining == 7000ms));
    BOOST_TEST(contains(to_string(told.node_table), "held by readers for 7000 ms"),
               to_string(told.node_table));
    check_usable();
}

/// GET and PTTL prove only this.
BOOST_AUTO_TEST_CASE(inspection_without_permission_to_see_readers_leaves_it_open)
{
    for (std::size_t i = 0; i != 3; ++i) {
        says(i, canned::wrongtype, ":5000\r\n");
        says_whose(i, canned::noperm, ":5000\r\n");
    }
    inspection const told = seen();
    BOOST_TEST(text(told.status) == "blocked");
    BOOST_TEST((told.holder == holder_kind::maybe_readers));
    BOOST_TEST((told.node_table.at(0).holder == holder_kind::maybe_readers));
    BOOST_TEST(contains(to_string(told.node_table),
                        "held by readers or permits, or by another program's data, for 5000 ms"),
               to_string(told.node_table));
}

/// The key that GET could not read may be a writer's by now, or gone.
BOOST_AUTO_TEST_CASE(inspection_counts_later_answer_about_readers)
{
    for (std::size_t i = 0; i != 3; ++i)
        says(i, canned::wrongtype, ":5000\r\n");
    says_whose(0, bulk(their_nonce), ":9000\r\n");
    says_whose(1, bulk(their_nonce), ":9000\r\n");
    says_whose(2, "+NONE\r\n", ":-2\r\n");
    inspection const told = seen();
    BOOST_TEST(told.held());
    BOOST_TEST((told.holder == holder_kind::owner));
    BOOST_TEST(told.owner == their_nonce.substr(0, 8));
    BOOST_TEST(told.free == 1U);
    BOOST_TEST((told.node_table.at(2).holder == holder_kind::unknown));
}

BOOST_AUTO_TEST_CASE(inspection_keeps_what_it_knows_when_nobody_says_whether_readers_have_it)
{
    warm_up();
    for (std::size_t i = 0; i != 3; ++i) {
        says(i, canned::wrongtype, ":5000\r\n");
        nodes[i]->expect("EVAL", hang_up());
    }
    inspection const told = seen();
    BOOST_TEST(text(told.status) == "blocked");
    BOOST_TEST((told.holder == holder_kind::maybe_readers));
}

/// Longer than times are reckoned with.
BOOST_AUTO_TEST_CASE(inspection_reports_key_with_very_late_expiry)
{
    for (std::size_t i = 0; i != 3; ++i)
        says(i, bulk("somebody"), ":9223372036854775807\r\n");
    inspection const told = seen();
    BOOST_TEST(told.held());
    BOOST_TEST((*told.expires_within > std::chrono::years{99}));
}

BOOST_AUTO_TEST_CASE(inspection_reports_key_without_expiry)
{
    for (std::size_t i = 0; i != 3; ++i)
        says(i, bulk("somebody"), ":-1\r\n");
    inspection const told = seen();
    BOOST_TEST(told.held());
    BOOST_TEST((told.expires_after == std::chrono::nanoseconds::max()));
    BOOST_TEST(!told.expires_within);
    BOOST_TEST(told.node_table.at(0).detail == "its key is no lock: it has no expiry");
    BOOST_TEST((told.node_table[0].holder == holder_kind::no_lock));
    BOOST_TEST((told.holder == holder_kind::owner));
}

BOOST_AUTO_TEST_CASE(inspection_without_permission_for_pttl_has_no_expiry)
{
    for (std::size_t i = 0; i != 3; ++i)
        says(i, bulk(their_nonce), canned::noperm);
    inspection const told = seen();
    BOOST_TEST(told.held());
    BOOST_TEST((told.expires_after == 0ms));
    BOOST_TEST(!told.expires_within);
}

BOOST_AUTO_TEST_CASE(inspection_without_permission_for_get_is_refused)
{
    has_key(0, their_nonce);
    says(1, denied, ":9000\r\n");
    says(2, denied, ":9000\r\n");
    inspection const told = seen(make_error_code(errc::no_quorum));
    BOOST_TEST(text(told.status) == "unknown");
    BOOST_TEST(told.votes == 1U);
    BOOST_TEST(told.node_table.at(1).result == node_result::refused);
    BOOST_TEST(told.node_table[1].error == server_error::noperm);
    BOOST_TEST(!told.node_table[1].remaining);
}

BOOST_AUTO_TEST_CASE(inspection_with_impossible_reply_counts_as_refused)
{
    for (std::size_t i = 0; i != 3; ++i)
        says(i, ":1\r\n", ":9000\r\n");
    inspection const told = seen(make_error_code(errc::no_quorum));
    BOOST_TEST(told.node_table.at(2).result == node_result::refused);
    check_usable();
}

BOOST_AUTO_TEST_CASE(inspection_waits_for_silent_node_until_node_timeout)
{
    has_key(0, their_nonce);
    has_key(1, their_nonce);
    nodes[2]->expect("GET", late(bulk(their_nonce))).expect("PTTL", reply(":9000\r\n"));
    auto const result = inspect(lock("resource", short_patience));
    BOOST_TEST(!result->ec);
    BOOST_TEST(result->seen.votes == 2U);
    BOOST_TEST(result->seen.node_table.at(2).result == node_result::timed_out);
    nodes[2]->deliver_late();
    check_usable();
}

BOOST_AUTO_TEST_CASE(inspection_without_quorum_returns_what_is_known)
{
    warm_up();
    has_key(0, their_nonce);
    for (std::size_t i : {1U, 2U})
        nodes[i]->expect("GET", late(bulk(their_nonce))).expect("PTTL", reply(":9000\r\n"));
    auto const result = inspect(lock("resource", short_patience));
    BOOST_TEST(result->ec == errc::no_quorum);
    BOOST_TEST(text(result->seen.status) == "unknown");
    BOOST_TEST(result->seen.votes == 1U);
    BOOST_TEST(result->seen.node_table.at(0).result == node_result::held_by_other);
    BOOST_TEST(result->seen.node_table.at(1).result == node_result::timed_out);
    for (auto const& node : nodes)
        node->deliver_late();
    check_usable();
    for (auto const& node : nodes)
        BOOST_TEST(node->accepted() == 1U);
}

BOOST_AUTO_TEST_CASE(inspection_keeps_answer_from_before_connection_broke)
{
    warm_up();
    nodes[0]->expect("GET", reply(bulk(their_nonce))).expect("PTTL", hang_up());
    nodes[1]->expect("GET", reset());
    has_key(2, their_nonce);
    inspection const told = seen();
    BOOST_TEST(told.held());
    BOOST_TEST(told.node_table.at(0).result == node_result::held_by_other);
    BOOST_TEST(!told.node_table[0].remaining);
    BOOST_TEST(told.node_table.at(1).result == node_result::unreachable);
}

BOOST_AUTO_TEST_CASE(inspection_of_fenced_lock_reads_last_token)
{
    has_key(0, their_nonce);
    nodes[0]->expect("GET", reply(bulk("1700000000000")));
    has_none(1);
    nodes[1]->expect("GET", reply(bulk("1700000000009")));
    has_key(2, their_nonce);
    nodes[2]->expect("GET", reply(bulk("no number")));
    auto const result = inspect(fenced_mutex(*locks, "resource", long_lived));
    BOOST_TEST(result->seen.held());
    BOOST_TEST(result->seen.last_token == 1700000000009U << 10U);
    BOOST_TEST(nodes[0]->heard().back().back() == "resource:redlock-fence");
    for (std::size_t i = 0; i != 3; ++i) {
        has_none(i);
        nodes[i]->expect("GET",
                         reply(i == 0 ? bulk("8796093022208") : std::string(canned::nil))); // beyond the end
    }
    BOOST_TEST(inspect(fenced_mutex(*locks, "resource", long_lived))->seen.last_token == 0U);
    check_usable();
}

/// A later operation may have the same slot in memory.
BOOST_AUTO_TEST_CASE(inspection_is_not_cancelled_by_signal_of_earlier_one)
{
    warm_up();
    asio::cancellation_signal earlier;
    bool done = false;
    for (std::size_t i = 0; i != 3; ++i)
        has_none(i);
    asio::post(context, [&] {
        lock().inspect(
            asio::bind_cancellation_slot(earlier.slot(), [&](error_code, inspection) { done = true; }));
    });
    run_until(context, [&] { return done; });
    for (std::size_t i = 0; i != 3; ++i)
        has_none(i);
    outcome_ptr later;
    asio::post(context, [&] {
        later = begin(lock());
        earlier.emit(asio::cancellation_type::terminal);
    });
    run_until(context, [&] { return later && later->done(); });
    BOOST_TEST(!later->ec, later->ec.message());
}

BOOST_AUTO_TEST_CASE(inspection_does_not_complete_inside_initiating_call)
{
    locks.emplace(context.get_executor(), nobody_there());
    BOOST_TEST(inspect()->ec == errc::no_quorum);
    bool inside = true;
    outcome_ptr later;
    asio::post(context, [&] { // then every node is known to be unreachable, and there is nothing to wait for
        auto const result = begin(lock());
        inside = result->done();
        later = result;
    });
    run_until(context, [&] { return later && later->done(); });
    BOOST_TEST(later->seen.node_table.at(0).result == node_result::unreachable);
    BOOST_TEST(!inside);
}

BOOST_AUTO_TEST_CASE(inspection_ends_with_shut_down_of_its_client)
{
    warm_up();
    expect_everywhere("GET", silence());
    auto const result = begin(lock());
    run_until(context, [&] { return nodes[0]->done() && nodes[1]->done() && nodes[2]->done(); });
    BOOST_TEST(!result->done());
    auto const ended = std::make_shared<outcome>();
    locks->shutdown(keeps_outcome{ended});
    run_until(context, [&] { return result->done() && ended->done(); });
    BOOST_TEST(result->ec == errc::shut_down);
    BOOST_TEST(result->seen.node_table.empty());
    BOOST_TEST(inspect()->ec == errc::shut_down);
}

BOOST_AUTO_TEST_CASE(inspection_waits_for_last_connection_until_node_timeout)
{
    config settings = settings_for({nodes[0]->url(), nodes[1]->url(), nodes[2]->url()});
    settings.reconnect.connect_timeout = 10min;
    locks.emplace(context.get_executor(), settings);
    for (auto const& node : nodes)
        node->expect("HELLO", late(canned::hello));
    auto const result = begin(lock("resource", {.ttl = 10min, .node_timeout = 20ms}));
    run_until(context, [&] { return nodes[0]->done() && nodes[1]->done() && nodes[2]->done(); });
    be_idle(); // for longer than a node may take to answer
    BOOST_TEST(!result->done());
    has_key(0, their_nonce);
    has_key(1, their_nonce);
    nodes[0]->deliver_late();
    nodes[1]->deliver_late();
    run_until(context, [&] { return result->done(); });
    BOOST_TEST(!result->ec);
    BOOST_TEST(result->seen.node_table.at(2).result == node_result::timed_out);
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

/// Servers that are too young to vote.
struct young_node_fixture : inspection_fixture {
    young_node_fixture()
    {
        config settings = settings_for({nodes[0]->url(), nodes[1]->url(), nodes[2]->url()});
        settings.admission.assume_fresh = false;
        locks.emplace(context.get_executor(), settings);
        for (auto const& node : nodes)
            node->expect("INFO",
                         reply(info_reply({{"uptime_in_seconds", "3"},
                                           {"run_id", node->url().substr(node->url().rfind(':') + 1)}})));
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(inspected_nodes)

BOOST_FIXTURE_TEST_CASE(inspection_counts_quarantined_nodes, young_node_fixture)
{
    for (std::size_t i = 0; i != 3; ++i)
        has_key(i, their_nonce);
    BOOST_TEST(inspect()->seen.votes == 3U); // asked before it is known that they are
    BOOST_TEST(try_acquire(lock())->ec == errc::no_quorum);
    for (auto const& row : locks->node_table())
        BOOST_TEST((row.state == node_state::quarantined));
    for (std::size_t i = 0; i != 3; ++i)
        has_none(i);
    BOOST_TEST(inspect()->seen.free == 3U);
    for (auto const& node : nodes)
        BOOST_TEST(node->accepted() == 1U);
}

BOOST_FIXTURE_TEST_CASE(inspection_does_not_ask_refused_nodes, inspection_fixture)
{
    nodes[0]->expect("INFO", reply(info_reply({{"role", "slave"}})));
    has_key(1, their_nonce);
    has_key(2, their_nonce);
    auto const result = inspect();
    BOOST_TEST(!result->ec);
    BOOST_TEST(result->seen.node_table.at(0).result == node_result::refused);
    BOOST_TEST(result->seen.node_table[0].error == server_error::readonly);
    BOOST_TEST(nodes[0]->count("GET") == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

struct timed_inspection_fixture : held_clock_base, inspection_fixture {};

} // namespace

BOOST_FIXTURE_TEST_SUITE(inspection_times, timed_inspection_fixture)

/// Both bounds are a millisecond wide of what the servers said, and as much older as that is.
BOOST_AUTO_TEST_CASE(inspection_bounds_expiry_from_question_and_from_answer)
{
    warm_up();
    has_key(0, their_nonce);
    has_key(1, their_nonce);
    nodes[2]->expect("GET", late(bulk(their_nonce))).expect("PTTL", reply(":9000\r\n"));
    auto const result = begin(lock());
    run_until_all_is_said();
    be_idle();
    clock.advance(1s);
    nodes[2]->deliver_late();
    run_until(context, [&] { return result->done(); });
    BOOST_TEST((result->seen.expires_after == 7999ms));  // sent a second ago
    BOOST_TEST((result->seen.expires_within == 8001ms)); // two were read a second ago
}

BOOST_AUTO_TEST_SUITE_END()

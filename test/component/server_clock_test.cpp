// SPDX-License-Identifier: BSL-1.0
#include "component/held_clock.hpp"
#include "component/scripted_cluster.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <optional>
#include <string>

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr std::chrono::microseconds date{1'700'000'000'000'000};
/// Not renewed, and so not watched, either: the tests alone cause commands.
constexpr lock_options one_second_slack{.ttl = 10min, .slack = 1s, .renew = false, .node_timeout = 20s};

/// One scripted server, which is asked for the time as often as the test says.
struct server_clock_fixture {
    asio::io_context context;
    scripted_node node{context};
    std::optional<client> locks;

    void watch_every(std::optional<std::chrono::milliseconds> interval)
    {
        config settings = settings_for({node.url()});
        settings.health.check_interval = interval;
        settings.reconnect.min_delay = 1ms;
        settings.reconnect.max_delay = 1ms;
        settings.admission.trust_restarted_nodes = true; // here it is the clocks that count
        locks.emplace(context.get_executor(), settings);
    }

    outcome_ptr try_acquire(std::string name = "lock")
    {
        auto result = std::make_shared<outcome>();
        mutex(*locks, std::move(name), one_second_slack).try_acquire(keeps_outcome{result});
        return result;
    }
    lease hold(std::string name = "lock")
    {
        auto const got = try_acquire(std::move(name));
        run_until(context, [&] { return got->done(); });
        BOOST_TEST_REQUIRE(!got->ec);
        return std::move(got->granted);
    }
    /// A lease that was held, and was released.
    void use_once()
    {
        auto const before = node.count("EVAL") + node.count("EVALSHA");
        hold() = {};
        run_until(context, [&] { return node.count("EVAL") + node.count("EVALSHA") > before; });
        pass_time();
    }
    /// Many intervals, in which nothing need happen.
    void pass_time()
    {
        bool over = false;
        asio::steady_timer timer(context, 30ms);
        timer.async_wait([&](error_code) { over = true; });
        run_until(context, [&] { return over; });
    }
    bool in_state(node_state state) { return locks->node_table().at(0).state == state; }
};

/// Time passes on the client's clock and on the server's alike.
struct held_server_clock_fixture : held_clock_base, server_clock_fixture {
    void expect_no_step()
    {
        auto const got = try_acquire("behind what was said");
        run_until(context, [&] { return got->done(); });
        BOOST_TEST(got->ec == error_code());
        BOOST_TEST(in_state(node_state::ready));
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(server_clock, server_clock_fixture)

BOOST_AUTO_TEST_CASE(server_clock_is_read_only_while_lease_is_held)
{
    watch_every(5ms);
    lease held = hold();
    run_until(context, [&] { return node.count("TIME") >= 4; });
    held = {};
    run_until(context, [&] { return node.count("EVAL") == 1; });
    auto const before = node.count("TIME");
    pass_time();
    BOOST_TEST(node.count("TIME") == before);
}

BOOST_AUTO_TEST_CASE(server_clock_is_not_read_if_checks_are_disabled)
{
    watch_every(std::nullopt);
    lease const held = hold();
    for (int i = 0; i != 20; ++i)
        (void)hold("other" + std::to_string(i));
    BOOST_TEST(node.count("TIME") == 1U); // by the handshake
}

// rule N7
BOOST_AUTO_TEST_CASE(server_clock_is_read_while_another_reply_is_pending)
{
    watch_every(5ms);
    lease const held = hold();
    node.expect("SET", late(canned::nil));
    node.expect("TIME", reply(canned::time));
    auto const waiting = try_acquire("other");
    run_until(context, [&] { return node.done(); });
    node.deliver_late();
    run_until(context, [&] { return waiting->done(); });
    BOOST_TEST(waiting->ec == errc::contended);
}

BOOST_AUTO_TEST_CASE(server_clock_is_read_once_at_a_time)
{
    watch_every(1ms);
    lease const held = hold();
    node.expect("TIME", late(canned::time));
    run_until(context, [&] { return node.done(); });
    auto const before = node.count("TIME");
    pass_time();
    BOOST_TEST(node.count("TIME") == before);
    node.deliver_late();
    run_until(context, [&] { return node.count("TIME") > before; });
}

BOOST_AUTO_TEST_CASE(server_clock_without_permission_leaves_node_ready)
{
    watch_every(5ms);
    node.expect("TIME", reply(canned::noperm));
    lease const held = hold();
    std::string const detail = locks->node_table().at(0).detail;
    BOOST_TEST(detail == "TIME is not permitted: steps of its clock are not noticed");
    for (int i = 0; i != 3; ++i) {
        node.expect("TIME", reply(canned::noperm));
        run_until(context, [&] { return node.done(); });
    }
    run_until(context, [&] { return node.count("TIME") > 4; });
    BOOST_TEST(in_state(node_state::ready));
    BOOST_TEST(node.accepted() == 1U);
}

/// After an idle hour the first question goes out in front of the first vote, in the same write.
BOOST_AUTO_TEST_CASE(server_clock_is_read_before_first_vote_after_idle_time)
{
    watch_every(1ms);
    use_once();
    auto const before = node.heard().size();
    (void)hold("other");
    BOOST_TEST(node.heard().at(before).front() == "TIME");
    BOOST_TEST(node.heard().at(before + 1).front() == "SET");
}

// rule N7
BOOST_AUTO_TEST_CASE(server_clock_set_forward_voids_commands_under_way)
{
    watch_every(5ms);
    node.expect("TIME", reply(time_reply(date)));
    lease const held = hold();
    node.expect("TIME", late(time_reply(date + 20s)));
    run_until(context, [&] { return node.done(); });
    auto const got = try_acquire("other"); // behind the question, and granted
    run_until(context, [&] { return node.count("SET") == 2; });
    node.deliver_late();
    run_until(context, [&] { return got->done(); });
    BOOST_TEST(got->ec == errc::no_quorum);
    BOOST_TEST(in_state(node_state::quarantined));
    // The vote that was executed is taken back: a release is none.
    run_until(context, [&] { return node.count("EVAL") >= 1; });
    BOOST_TEST(node.accepted() == 1U);
    BOOST_TEST(node.surprises().empty());
}

// rule N7
BOOST_FIXTURE_TEST_CASE(server_clock_step_within_slack_is_tolerated, held_server_clock_fixture)
{
    watch_every(5ms);
    node.expect("TIME", reply(time_reply(date)));
    lease const held = hold();
    node.expect("TIME", reply(time_reply(date + 900ms)));
    clock.advance(5ms);
    run_until(context, [&] { return node.done(); });
    expect_no_step();
}

/// The server read its clock when it was asked; the next answer is quick.
// rule N7
BOOST_FIXTURE_TEST_CASE(server_clock_read_after_slow_answer_shows_no_step, held_server_clock_fixture)
{
    watch_every(1s);
    node.expect("TIME", reply(time_reply(date)));
    lease const held = hold();
    node.expect("TIME", late(time_reply(date + 1s))).expect("TIME", reply(time_reply(date + 11s)));
    clock.advance(1s);
    run_until(context, [&] { return node.count("TIME") == 2; });
    clock.advance(10s);
    node.deliver_late();
    run_until(context, [&] { return node.done(); });
    expect_no_step();
}

BOOST_AUTO_TEST_CASE(server_clock_is_measured_anew_after_restart)
{
    watch_every(1h);
    node.expect("TIME", reply(time_reply(date)));
    use_once();
    for (auto const& [run_id, state] :
         {std::pair{"another", node_state::ready}, {"another", node_state::quarantined}}) {
        node.close_all();
        node.expect("INFO", reply(info_reply({{"run_id", run_id}})));
        node.expect("TIME", reply(time_reply(date + node.accepted() * 24h)));
        auto const got = try_acquire();
        run_until(context, [&] { return got->done() && node.done(); });
        run_until(context, [&] { return in_state(state); });
    }
    auto const detail = locks->node_table().at(0).detail;
    BOOST_TEST(detail.starts_with("its clock was set forward by 86"), detail);
}

BOOST_AUTO_TEST_SUITE_END()

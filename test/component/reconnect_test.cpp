// SPDX-License-Identifier: BSL-1.0
#include "component/lone_node.hpp"
#include "component/scripted_cluster.hpp"
#include "component/scripted_node.hpp"
#include "component/separate_node.hpp"
#include "redis/url.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <variant>

using namespace redlock;
using namespace redlock::test;

namespace {

answer as_after_a_restart()
{
    return late(info_reply({{"run_id", "another"}, {"uptime_in_seconds", "0"}}));
}

} // namespace

BOOST_AUTO_TEST_SUITE(reconnecting)

BOOST_FIXTURE_TEST_CASE(server_that_hangs_up_on_scripts_is_connected_twice, separate_node)
{
    node.expect("SET", reply(canned::ok));
    for (int i = 0; i != 100; ++i)
        node.expect("EVAL", hang_up());
    auto const granted = [](error_code ec, lease const&) { BOOST_TEST(!ec); };
    mutex(locks, "dropped at once", long_lived).try_acquire(granted);
    come_to_rest();
    BOOST_TEST(node.accepted() == 2U);
    BOOST_TEST(node.surprises().empty());
}

/// Commands that waited for the connection fail with the quarantine. A release is sent again, and meets the
/// connection's end.
BOOST_AUTO_TEST_CASE(node_that_hangs_up_when_quarantined_is_reconnected)
{
    scripted_cluster three;
    three.warm_up();
    auto const got = three.try_acquire(three.lock());
    run_until(three.context, [&] { return got->granted.votes() == 3; });
    scripted_node& restarted = three[2];
    restarted.close_all();
    restarted.expect("INFO", as_after_a_restart());
    auto const released = std::make_shared<outcome>();
    got->granted.release(keeps_outcome{released});
    run_until(three.context, [&] { return released->done() && restarted.count("TIME") == 2; });
    auto const scripts = restarted.count("EVAL") + restarted.count("EVALSHA");
    restarted.deliver_late();
    restarted.close_all();
    run_until(three.context,
              [&] { return restarted.count("EVAL") + restarted.count("EVALSHA") == scripts + 1; });
    BOOST_TEST(!released->ec);
    BOOST_TEST(restarted.accepted() == 3U);
}

BOOST_AUTO_TEST_CASE(half_reply_is_forgotten_with_its_connection)
{
    scripted_cluster three;
    three.warm_up();
    scripted_node& broken = three[2];
    broken.expect("SET", reply("$9\r\nhalf"));
    auto const first = three.try_acquire(three.lock("first"));
    run_until(three.context, [&] { return broken.done(); });
    broken.close_all();
    run_until(three.context, [&] { return broken.accepted() == 2 && broken.count("TIME") == 2; });
    auto const second = three.try_acquire(three.lock("second"));
    run_until(three.context, [&] { return second->granted.votes() == 3; });
    BOOST_TEST(first->granted.votes() == 2U);
    BOOST_TEST(broken.accepted() == 2U);
}

/// The connection shows no more whether its replicas had another master.
// rule N8
BOOST_AUTO_TEST_CASE(master_of_group_that_hides_its_state_is_connected_anew)
{
    asio::io_context context;
    scripted_node both(context); // Sentinel and master
    auto const port = both.url().substr(both.url().rfind(':') + 1);
    auto const told = "*2\r\n" + bulk("127.0.0.1") + bulk(port);
    auto const count = "*2\r\n" + bulk("num-slaves") + bulk("0");
    constexpr std::string_view hidden = "-NOPERM this user has no permissions to run the 'info' command\r\n";
    both.expect("SENTINEL", reply(told))
        .expect("SENTINEL", reply(count))
        .expect("INFO", reply(info_reply({})))
        .expect("INFO", reply(hidden))
        .expect("SENTINEL", reply(told))
        .expect("SENTINEL", reply(count));
    auto const where = redis::parse_url("redis+sentinel://127.0.0.1:" + port + "/group");
    lone_node alone(context, std::get<redis::endpoint>(where), {50ms, 50ms, 20s, 50ms});
    alone.node.keep_connected(true);
    run_until(context, [&] { return both.count("INFO") == 3; });
    BOOST_TEST(both.count("SENTINEL") == 4U);
    BOOST_TEST(both.surprises().empty());
    alone.node.close();
}

BOOST_AUTO_TEST_SUITE_END()

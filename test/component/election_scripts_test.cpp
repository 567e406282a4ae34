// SPDX-License-Identifier: BSL-1.0
// What the scripts of elections do on a real server (docs/protocol.md, rule EL2).
#include "component/script_times.hpp"
#include "kit/probe.hpp"
#include "kit/redis_server.hpp"
#include "redis/scripts.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace redlock::test {

namespace {

using words = std::vector<std::string>;

struct election_key {
    std::string ask(redis::script const& which, words const& keys, words const& arguments)
    {
        words command{"EVAL", std::string(which.text), std::to_string(keys.size())};
        command.insert(command.end(), keys.begin(), keys.end());
        command.insert(command.end(), arguments.begin(), arguments.end());
        return node.command(command);
    }
    std::string extend(std::string const& who, std::string const& number, std::string const& said)
    {
        return ask(redis::scripts::fenced_extend, {"lock", "fence", "marker", "leader"},
                   {lock_time, "36000000", who, number, said, marker});
    }
    std::string release(std::string const& who, std::string const& term)
    {
        return ask(redis::scripts::leader_release, {"lock", "leader"}, {who, term + ' '});
    }
    std::string give_back(std::string const& who, std::string const& term)
    {
        return ask(redis::scripts::give_back, {"lock", "queue", "leader"},
                   {"x", who, "", "take", "0", "", term + ' '});
    }
    void hold(std::string const& who, std::string const& number)
    {
        node.command({"SET", "lock", who, "PX", "1000000"});
        node.command({"SET", "fence", number, "PX", "1000000"});
    }
    std::string leader() { return node.get("leader").value_or("none"); }

    std::string const a = std::string(32, 'a');
    std::string const b = std::string(32, 'b');
    redis_server server;
    probe node{server.port()};
    std::string marker{};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(election_scripts, election_key)

// rule EL2
BOOST_AUTO_TEST_CASE(announcement_needs_our_lock_and_no_higher_fence)
{
    hold(b, "7");
    BOOST_TEST(extend(a, "7", "7168 1 a") == "0");
    BOOST_TEST(leader() == "none");
    hold(a, "8");
    BOOST_TEST(extend(a, "7", "7168 1 a") == "0");
    BOOST_TEST(leader() == "none");
    BOOST_TEST(extend(a, "8", "8192 1 a") == "1");
    BOOST_TEST(leader() == "8192 1 a");
    BOOST_TEST(node.pttl("leader") > 3'500'000);
    marker = "another";
    BOOST_TEST(extend(a, "8", "8192 2 b") == "STRANGER");
    BOOST_TEST(leader() == "8192 1 a");
}

BOOST_AUTO_TEST_CASE(announcement_is_set_where_lock_is_repaired)
{
    BOOST_TEST(extend(a, "8", "8192 1 a") == "2");
    BOOST_TEST(leader() == "8192 1 a");
    node.command({"DEL", "leader"});
    node.command({"SET", "fence", "7"});
    BOOST_TEST(extend(a, "8", "8192 1 a") == "1");
    BOOST_TEST(leader() == "8192 1 a");
}

/// It came after what it was sent before.
// rules K10 and EL2
BOOST_AUTO_TEST_CASE(late_extension_leaves_a_later_revision)
{
    hold(a, "8");
    BOOST_TEST(extend(a, "8", "8192 9 a") == "1");
    BOOST_TEST(extend(a, "8", "8192 10 b") == "1");
    node.command({"PEXPIRE", "leader", "1000"});
    BOOST_TEST(extend(a, "8", "8192 9 a") == "1");
    BOOST_TEST(leader() == "8192 10 b");
    BOOST_TEST(node.pttl("leader") > 3'500'000);
    BOOST_TEST(extend(a, "8", "8192 10 b") == "1");
    node.command({"DEL", "lock"});
    BOOST_TEST(extend(a, "8", "8192 9 a") == "2");
    BOOST_TEST(leader() == "8192 10 b");
}

BOOST_AUTO_TEST_CASE(announcement_of_another_term_is_replaced)
{
    for (std::string const other : {"7168 9 b", "9216 9 b", "819 9 b", "81920 9 b", "8192 x b", "8192 9"}) {
        hold(a, "8");
        node.command({"SET", "leader", other});
        BOOST_TEST(extend(a, "8", "8192 1 a") == "1");
        BOOST_TEST(leader() == "8192 1 a");
    }
}

/// The key may hold any other data: they name no leader.
BOOST_AUTO_TEST_CASE(announcement_replaces_other_data)
{
    hold(a, "8");
    node.command({"RPUSH", "leader", "nobody"});
    BOOST_TEST(extend(a, "8", "8192 1 a") == "1");
    BOOST_TEST(leader() == "8192 1 a");
}

// rule EL2
BOOST_AUTO_TEST_CASE(full_server_renews_and_announces)
{
    hold(a, "8");
    node.command({"CONFIG", "SET", "maxmemory", "1"});
    BOOST_TEST(node.command({"SET", "any", "thing"}).starts_with("-OOM"));
    BOOST_TEST(extend(a, "8", "8192 1 a") == "1");
    BOOST_TEST(leader() == "8192 1 a");
    BOOST_TEST(release(a, "8192") == "1");
    BOOST_TEST(leader() == "none");
}

BOOST_AUTO_TEST_CASE(release_retracts_own_announcement_alone)
{
    for (bool const in_line : {false, true}) {
        auto const end = [&](std::string const& who, std::string const& term) {
            return in_line ? give_back(who, term) : release(who, term);
        };
        hold(a, "8");
        node.command({"SET", "leader", "8192 1 a"});
        BOOST_TEST(end(b, "4096") == "0");
        BOOST_TEST(leader() == "8192 1 a");
        BOOST_TEST(end(a, "819") == "1");
        BOOST_TEST(leader() == "8192 1 a");
        hold(a, "8");
        BOOST_TEST(end(a, "8192") == "1");
        BOOST_TEST(leader() == "none");
        BOOST_TEST(!node.exists("lock"));
        hold(b, "9");
        node.command({"SET", "leader", "8192 1 a"});
        BOOST_TEST(end(a, "8192") == "0");
        BOOST_TEST(leader() == "none");
        BOOST_TEST(end(b, "9216") == "1");
        hold(a, "8");
        node.command({"RPUSH", "leader", "nobody"});
        BOOST_TEST(end(a, "8192") == "1");
        BOOST_TEST(node.exists("leader"));
        node.command({"DEL", "leader"});
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

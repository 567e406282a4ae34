// SPDX-License-Identifier: BSL-1.0
// What commands do on a real server that arrive behind later ones of their client (docs/protocol.md, rule K10).
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

struct late_node {
    std::string ask(redis::script const& which, words const& keys, words const& arguments)
    {
        words command{"EVAL", std::string(which.text), std::to_string(keys.size())};
        command.insert(command.end(), keys.begin(), keys.end());
        command.insert(command.end(), arguments.begin(), arguments.end());
        return node.command(command);
    }
    std::string fenced(redis::script const& which, words arguments)
    {
        arguments.insert(arguments.begin(), {lock_time, fence_time, a});
        return ask(which, {"lock", "fence", "marker"}, arguments);
    }
    std::string vote(std::string const& previous_owner, std::string const& marker)
    {
        return ask(redis::scripts::vote, {"lock", "lock", "fence", "marker"},
                   {"x", a, lock_time, previous_owner, fence_time, "7", marker});
    }
    std::string fence() { return node.get("fence").value_or("none"); }

    std::string const a = std::string(32, 'a');
    std::string const b = std::string(32, 'b');
    redis_server server;
    probe node{server.port()};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(late_scripts, late_node)

// rule K10
BOOST_AUTO_TEST_CASE(late_vote_takes_a_free_lock_for_its_time_alone)
{
    node.command({"SET", "fence", "50"});
    BOOST_TEST(vote("", "") == "51");
    BOOST_TEST(node.pttl("lock") > nearly_a_lock);
    node.command({"SET", "lock", b});
    BOOST_TEST(vote("", "").starts_with("HELD "));
    BOOST_TEST((node.get("lock") == b));
    BOOST_TEST(fence() == "51");
}

/// The claim was repeated, on a connection from before the node had other data.
// rule K10
BOOST_AUTO_TEST_CASE(late_claim_leaves_a_lock_that_is_held)
{
    node.command({"SET", "lock", a, "PX", "1000000"});
    node.command({"SET", "marker", "new"});
    BOOST_TEST(vote(b, "old") == "STRANGER");
    BOOST_TEST((node.get("lock") == a));
    node.command({"SET", "fence", "none of ours"});
    BOOST_TEST(vote(b, "new").starts_with("-WRONGTYPE "));
    BOOST_TEST((node.get("lock") == a));
    node.command({"SET", "lock", b});
    BOOST_TEST(vote(b, "new").starts_with("-WRONGTYPE "));
    BOOST_TEST((node.get("lock") == b));
}

// rule K10
BOOST_AUTO_TEST_CASE(late_commands_lower_no_fence)
{
    for (auto const* const which :
         {&redis::scripts::fenced_raise, &redis::scripts::fenced_extend, &redis::scripts::fenced_adopt}) {
        node.command({"SET", "lock", a, "PX", "1000000"});
        node.command({"SET", "fence", "50"});
        BOOST_TEST(fenced(*which, {"49", ""}) == "0");
        BOOST_TEST(fence() == "50");
        BOOST_TEST(node.pttl("lock") <= 1'000'000);
    }
}

/// Behind its release an extension sets the lock again, unless another client came, and for its time alone.
// rules K10 and F5
BOOST_AUTO_TEST_CASE(late_extension_of_a_released_lock_ends_by_itself)
{
    node.command({"SET", "fence", "50"});
    BOOST_TEST(fenced(redis::scripts::fenced_extend, {"50", ""}) == "2");
    BOOST_TEST(node.pttl("lock") > nearly_a_lock);
    node.command({"SET", "lock", b, "PX", "1000"});
    BOOST_TEST(fenced(redis::scripts::fenced_extend, {"50", ""}) == "0");
    BOOST_TEST((node.get("lock") == b));
    node.command({"DEL", "lock"});
    BOOST_TEST(ask(redis::scripts::extend, {"lock"}, {a, lock_time}) == "0");
    BOOST_TEST(!node.exists("lock"));
}

// rule K10
BOOST_AUTO_TEST_CASE(late_vote_lets_nobody_in)
{
    words const keys{"lock", "queue"};
    auto const vote = [&](std::string const& kind, std::string const& who) {
        return ask(redis::scripts::vote, keys, {kind, who, lock_time, ""});
    };
    BOOST_TEST(vote("r", a) == "1");
    BOOST_TEST(vote("r", b) == "1");
    BOOST_TEST(node.command({"SET", "lock", a, "NX", "PX", lock_time}) == "(nil)");
    BOOST_TEST(ask(redis::scripts::vote, {"lock", "queue", "fence", "marker"},
                   {"x", a, lock_time, "", fence_time, "7", ""})
                   .starts_with("HELD "));
    BOOST_TEST(node.command({"ZCARD", "lock"}) == "2");
    node.command({"DEL", "lock"});
    BOOST_TEST(node.command({"SET", "lock", a, "NX", "PX", lock_time}) == "OK");
    BOOST_TEST(vote("r", a).starts_with("HELD "));
    BOOST_TEST((node.get("lock") == a));
    BOOST_TEST(node.pttl("lock") > nearly_a_lock);
}

/// Behind its downgrade: what is a reader's by now is not made a writer's again.
BOOST_AUTO_TEST_CASE(late_extension_of_a_writer_leaves_readers)
{
    words const keys{"lock", "queue"};
    node.command({"SET", "lock", a, "PX", lock_time});
    node.command({"SET", "fence", "50"});
    BOOST_TEST(ask(redis::scripts::renew, keys, {"r", a, lock_time, ""}) == "1");
    BOOST_TEST(fenced(redis::scripts::fenced_extend, {"50", ""}) == "0");
    BOOST_TEST(ask(redis::scripts::extend, {"lock"}, {a, lock_time}).find("WRONGTYPE") != std::string::npos);
    BOOST_TEST(node.command({"ZRANGE", "lock", "0", "-1"}) == '[' + a + ']');
}

// rule K10
BOOST_AUTO_TEST_CASE(late_release_deletes_nothing_of_others)
{
    node.command({"SET", "lock", b});
    BOOST_TEST(ask(redis::scripts::release, {"lock"}, {a}) == "0");
    for (std::string const kind : {"x", "r"})
        BOOST_TEST(ask(redis::scripts::give_back, {"lock", "queue"}, {kind, a, "", "none", "0", ""}) == "0");
    BOOST_TEST(ask(redis::scripts::multi_release, {"lock"}, {a, "1"}) == "0");
    BOOST_TEST((node.get("lock") == b));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

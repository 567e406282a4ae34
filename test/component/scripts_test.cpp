// SPDX-License-Identifier: BSL-1.0
// What the scripts do on a real server.
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

struct lock_of_readers {
    std::string ask(redis::script const& which, words const& keys, words const& arguments)
    {
        words command{"EVAL", std::string(which.text), std::to_string(keys.size())};
        command.insert(command.end(), keys.begin(), keys.end());
        command.insert(command.end(), arguments.begin(), arguments.end());
        return node.command(command);
    }
    std::string read(std::string const& who, std::string const& time = lock_time)
    {
        return ask(redis::scripts::vote, {"lock", "queue"}, {"r", who, time, ""});
    }
    std::string release(std::string const& who)
    {
        return ask(redis::scripts::give_back, {"lock", "queue"}, {"r", who, "", "take", "0", "", ""});
    }
    std::string whose() { return ask(redis::scripts::whose, {"lock"}, {}); }
    std::string raise(std::string const& who, std::string const& token)
    {
        return ask(redis::scripts::fenced_raise, {"lock", "fence", "marker"},
                   {lock_time, fence_time, who, token, marker});
    }
    std::string adopt(std::string const& who, std::string const& token)
    {
        return ask(redis::scripts::fenced_adopt, {"lock", "fence", "marker"},
                   {lock_time, fence_time, who, token, ""});
    }
    void set_fence(std::string const& number) { node.command({"SET", "fence", number, "PX", "1000000"}); }
    std::string fence() { return node.get("fence").value_or("none"); }
    bool fence_is_renewed() { return node.pttl("fence") > 35'000'000; }

    std::string const a = std::string(32, 'a');
    std::string const b = std::string(32, 'b');
    std::string const c = std::string(32, 'c');
    std::string marker{};
    redis_server server;
    probe node{server.port()};
};

} // namespace

BOOST_AUTO_TEST_SUITE(scripts)

// rule F1
BOOST_AUTO_TEST_CASE(every_script_reports_fence_that_is_no_number)
{
    redis_server const server;
    probe node(server.port());
    std::string const owner = std::string(32, 'a');
    for (auto const& script :
         {redis::scripts::fenced_raise, redis::scripts::fenced_extend, redis::scripts::fenced_adopt})
        for (std::string const value : {"theirs", "", "nan", "inf", "-1", "8796093022208"}) {
            node.command({"SET", "seat:fence", value});
            node.command({"SET", "lock", owner});
            BOOST_TEST(node.command({"EVAL", std::string(script.text), "3", "lock", "seat:fence", "marker",
                                     "3600000", "3600000", owner, "7", ""}) ==
                       "-WRONGTYPE the fence is no number that can be counted on from: seat:fence");
            BOOST_TEST((node.get("seat:fence") == value));
            BOOST_TEST((node.get("lock") == owner));
        }
}

/// It relies on no token that the node does not have, and leaves none.
// rule H9
BOOST_AUTO_TEST_CASE(adoption_script_changes_only_expiries)
{
    redis_server const server;
    probe node(server.port());
    std::string const owner = std::string(32, 'a');
    auto const adopt = [&](std::string const& token) {
        return node.command({"EVAL", std::string(redis::scripts::fenced_adopt.text), "3", "lock", "fence",
                             "marker", "3600000", "7200000", owner, token, ""});
    };
    node.command({"SET", "lock", owner, "PX", "1000000"});
    node.command({"SET", "fence", "7", "PX", "1000000"});
    for (std::string const token : {"6", "8", "8796093022207"}) {
        BOOST_TEST(adopt(token) == "0");
        BOOST_TEST((node.get("fence") == "7"));
        BOOST_TEST(node.pttl("lock") <= 1'000'000);
        BOOST_TEST(node.pttl("fence") <= 1'000'000);
    }
    BOOST_TEST(adopt("7") == "1");
    BOOST_TEST(node.pttl("lock") > 1'000'000);
    BOOST_TEST(node.pttl("fence") > 3'600'000);
    node.command({"DEL", "fence"});
    BOOST_TEST(adopt("7") == "0");
    BOOST_TEST(!node.exists("fence"));
}

/// A node that has lost the fence has lost data, whatever keys it has.
// rule F5
BOOST_AUTO_TEST_CASE(extension_tells_of_fence_that_was_gone)
{
    redis_server const server;
    probe node(server.port());
    std::string const owner(32, 'a');
    auto const extend = [&] {
        return node.command({"EVAL", std::string(redis::scripts::fenced_extend.text), "3", "lock", "fence",
                             "marker", "3600000", "7200000", owner, "7", ""});
    };
    node.command({"SET", "lock", owner, "PX", "1000000"});
    BOOST_TEST(extend() == "2");
    BOOST_TEST((node.get("fence") == "7"));
    BOOST_TEST(extend() == "1");
}

/// A set whose key ends with the last of its members.
// rule S4
BOOST_FIXTURE_TEST_CASE(question_whose_key_it_is_tells_readers_from_other_data, lock_of_readers)
{
    std::string const other = "WRONGTYPE this is no lock: lock";
    BOOST_TEST(whose() == "NONE");
    read(a);
    read(b, "1800000");
    auto const before = node.command({"DUMP", "lock"});
    BOOST_TEST(whose() == "READERS");
    BOOST_TEST((node.command({"DUMP", "lock"}) == before));
    node.command({"PEXPIRE", "lock", "1800000"}); // the key that expires first
    BOOST_TEST(whose().find(other) != std::string::npos);
    node.command({"PERSIST", "lock"});
    BOOST_TEST(whose().find(other) != std::string::npos);
    node.command({"DEL", "lock"});
    node.command({"RPUSH", "lock", "1"});
    node.command({"PEXPIRE", "lock", "1800000"});
    BOOST_TEST(whose().find("WRONGTYPE") != std::string::npos);
    node.command({"SET", "lock", c});
    BOOST_TEST(whose() == c);
}

// rule S16
BOOST_FIXTURE_TEST_CASE(fence_is_raised_while_reader_is_there, lock_of_readers)
{
    set_fence("40");
    read(a);
    BOOST_TEST(raise(b, "50") == "0");
    BOOST_TEST(raise(a, "39") == "0");
    BOOST_TEST(fence() == "40");
    BOOST_TEST(!fence_is_renewed());
    BOOST_TEST(raise(a, "40") == "1");
    BOOST_TEST(fence_is_renewed());
    BOOST_TEST(raise(a, "50") == "1");
    BOOST_TEST(fence() == "50");
    marker = "another";
    BOOST_TEST(raise(a, "60") == "STRANGER");
    marker = "";
    read(b);
    release(a);
    BOOST_TEST(raise(a, "60") == "0");
    node.command({"ZADD", "lock", "1", a}); // its time is over
    BOOST_TEST(raise(a, "60") == "0");
    release(b);
    release(a);
    BOOST_TEST(raise(a, "60") == "0");
    BOOST_TEST(fence() == "50");
}

BOOST_FIXTURE_TEST_CASE(fence_is_raised_for_no_member_of_others_data, lock_of_readers)
{
    for (words const& data :
         {words{"HSET", "lock", a, "8000000000000"}, {"SET", "lock", "theirs"}, {"RPUSH", "lock", a}}) {
        node.command({"DEL", "lock"});
        node.command(data);
        BOOST_TEST(raise(a, "60") == "0");
        BOOST_TEST(!node.exists("fence"));
    }
}

BOOST_FIXTURE_TEST_CASE(reader_is_not_adopted, lock_of_readers)
{
    set_fence("40");
    read(a);
    BOOST_TEST(adopt(a, "40") == "0");
    node.command({"DEL", "lock"});
    node.command({"SET", "lock", a});
    BOOST_TEST(adopt(a, "40") == "1");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

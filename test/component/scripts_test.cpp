// SPDX-License-Identifier: BSL-1.0
// What the scripts do on a real server.
#include "kit/probe.hpp"
#include "kit/redis_server.hpp"
#include "redis/scripts.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace redlock::test {

BOOST_AUTO_TEST_SUITE(scripts)

BOOST_AUTO_TEST_CASE(every_script_reports_fence_that_is_no_number)
{
    redis_server const server;
    probe node(server.port());
    std::string const owner = std::string(32, 'a');
    for (auto const& script : {redis::scripts::fenced_vote, redis::scripts::fenced_raise,
                               redis::scripts::fenced_extend, redis::scripts::fenced_adopt})
        for (std::string const value : {"theirs", "", "nan", "inf", "-1", "8796093022208"}) {
            bool const votes = script.sha1 == redis::scripts::fenced_vote.sha1;
            node.command({"SET", "seat:fence", value});
            votes ? node.command({"DEL", "lock"}) : node.command({"SET", "lock", owner});
            std::vector<std::string> call{"EVAL",       std::string(script.text),
                                          "3",          "lock",
                                          "seat:fence", "marker",
                                          "3600000",    "3600000",
                                          owner,        "7"};
            call.resize(call.size() + (votes ? 2 : 1)); // no giver, no marker
            BOOST_TEST(node.command(call) ==
                       "-WRONGTYPE the fence is no number that can be counted on from: seat:fence");
            BOOST_TEST((node.get("seat:fence") == value));
            BOOST_TEST(node.exists("lock") == !votes);
        }
}

/// Rule H9: it relies on no token that the node does not have, and leaves none.
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

/// Rule F5: a node that has lost the fence has lost data, whatever else is there.
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

BOOST_AUTO_TEST_CASE(fenced_vote_is_granted_once)
{
    redis_server const server;
    probe node(server.port());
    std::string const owner(32, 'a');
    auto const vote = [&](std::string const& giver) {
        return node.command({"EVAL", std::string(redis::scripts::fenced_vote.text), "3", "lock", "fence",
                             "marker", "3600000", "7200000", owner, "7", giver, ""});
    };
    BOOST_TEST(vote("") == "7");
    BOOST_TEST(vote("").starts_with("HELD "));
    BOOST_TEST(vote(owner) == "8");
    node.command({"SET", "lock", std::string(32, 'b'), "PX", "1000"});
    BOOST_TEST(vote(owner).starts_with("HELD "));
    BOOST_TEST(vote(std::string(32, 'b')) == "9");
    BOOST_TEST((node.get("lock") == owner));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

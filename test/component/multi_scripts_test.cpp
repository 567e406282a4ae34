// SPDX-License-Identifier: BSL-1.0
// What the scripts of several locks do on a real server (docs/protocol.md, rules M2 to M4 and M8).
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

struct several_keys {
    std::string ask(redis::script const& which, words const& keys, words const& arguments)
    {
        words command{"EVAL", std::string(which.text), std::to_string(keys.size())};
        command.insert(command.end(), keys.begin(), keys.end());
        command.insert(command.end(), arguments.begin(), arguments.end());
        return node.command(command);
    }
    std::string vote(std::string const& who, std::string const& givers = "")
    {
        return ask(redis::scripts::multi_vote, {"x", "y"}, {"2", who, lock_time, givers});
    }
    std::string fenced_vote(std::string const& who, std::string const& proposal = "1")
    {
        return ask(redis::scripts::multi_vote, with_fences,
                   {"2", who, lock_time, "", fence_time, proposal, marker});
    }
    std::string extend(std::string const& who)
    {
        return ask(redis::scripts::multi_extend, {"x", "y"}, {"2", who, lock_time, ""});
    }
    std::string fenced_extend(std::string const& who, std::string const& token, bool adopts = false)
    {
        return ask(redis::scripts::multi_extend, with_fences,
                   {"2", who, lock_time, adopts ? "1" : "", fence_time, token, marker});
    }
    std::string raise(std::string const& who, std::string const& token)
    {
        return ask(redis::scripts::multi_raise, with_fences,
                   {"2", who, lock_time, "", fence_time, token, marker});
    }
    std::string release(std::string const& who, std::string const& word = "take")
    {
        return ask(redis::scripts::multi_release, {"x", "y", "lx", "ly"}, {who, "2", word, "17"});
    }
    void set(std::string const& key, std::string const& value)
    {
        node.command({"SET", key, value, "PX", "1000000"});
    }
    words everything()
    {
        words found;
        for (std::string const key : {"x", "y", "fx", "fy", "marker"})
            found.push_back(node.command({"DUMP", key}));
        return found;
    }
    std::string there(std::string const& key) { return node.get(key).value_or("nothing"); }

    std::string const a = std::string(32, 'a');
    std::string const b = std::string(32, 'b');
    words const with_fences{"x", "y", "fx", "fy", "marker"};
    redis_server server;
    probe node{server.port()};
    std::string marker{};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(multi_scripts, several_keys)

// rule M2
BOOST_AUTO_TEST_CASE(vote_takes_all_keys_or_none)
{
    BOOST_TEST(vote(a) == "1");
    BOOST_TEST(there("x") == a);
    BOOST_TEST(there("y") == a);
    BOOST_TEST(node.pttl("y") > nearly_a_lock);
    BOOST_TEST(vote(a).ends_with(" 0 0 aaaaaaaa"));
    BOOST_TEST(release(a) == "1");
    set("y", b);
    auto const before = everything();
    std::string const said = vote(a);
    BOOST_TEST(said.find("HELD ") == 0U, said);
    BOOST_TEST(said.ends_with(" 0 1 bbbbbbbb"), said);
    BOOST_TEST(everything() == before);
}

// rule M2
BOOST_AUTO_TEST_CASE(vote_names_the_first_key_in_the_way_whatever_it_is)
{
    node.command({"RPUSH", "x", "data"});
    BOOST_TEST(vote(a) == "HELD -1 0 0 ");
    node.command({"DEL", "x"});
    node.command({"ZADD", "y", "1", "reader"});
    BOOST_TEST(vote(a) == "HELD -1 0 1 ");
    BOOST_TEST(there("x") == "nothing");
}

BOOST_AUTO_TEST_CASE(empty_key_of_another_is_in_the_way)
{
    set("y", "");
    BOOST_TEST(vote(a).ends_with(" 0 1 "));
    BOOST_TEST(fenced_vote(a).ends_with(" 0 1 "));
    BOOST_TEST(there("x") == "nothing");
}

// rule M8
BOOST_AUTO_TEST_CASE(vote_takes_what_was_given_up_for_it)
{
    set("x", b);
    set("y", a);
    BOOST_TEST(vote(std::string(32, 'n'), b).ends_with(" 1 aaaaaaaa"));
    BOOST_TEST(
        vote(std::string(32, 'n'), std::string(16, 'n') + b + std::string(16, 'n')).starts_with("HELD "));
    BOOST_TEST(vote(std::string(32, 'n'), b + a) == "1");
    BOOST_TEST(there("x") == std::string(32, 'n'));
    BOOST_TEST(there("y") == std::string(32, 'n'));
    BOOST_TEST(vote(std::string(32, 'n'), b + a) == "1"); // said again
}

// rule M3
BOOST_AUTO_TEST_CASE(extension_renews_all_keys_or_none)
{
    vote(a);
    for (auto const* const key : {"x", "y"})
        node.command({"PEXPIRE", key, "1000000"});
    BOOST_TEST(extend(b) == "-1");
    BOOST_TEST(node.pttl("x") < nearly_a_lock);
    set("y", b);
    BOOST_TEST(extend(a) == "-2");
    BOOST_TEST(node.pttl("x") < nearly_a_lock);
    node.command({"DEL", "y"});
    BOOST_TEST(extend(a) == "-2"); // a plain lock is not set again
    set("y", a);
    BOOST_TEST(extend(a) == "1");
    BOOST_TEST(node.pttl("x") > nearly_a_lock);
    BOOST_TEST(node.pttl("y") > nearly_a_lock);
}

BOOST_AUTO_TEST_CASE(release_deletes_what_is_ours)
{
    set("x", b);
    set("y", a);
    BOOST_TEST(release(a) == "0");
    BOOST_TEST(there("x") == b);
    BOOST_TEST(there("y") == "nothing");
    node.command({"RPUSH", "y", "data"});
    BOOST_TEST(release(b) == "0");
    BOOST_TEST(release(b) == "0");
}

/// A lease that was released is given up under each of its names.
// rule M2
BOOST_AUTO_TEST_CASE(claim_takes_all_that_one_owner_gave_up)
{
    set("x", b);
    set("y", b);
    BOOST_TEST(vote(a, a).starts_with("HELD "));
    BOOST_TEST(vote(a, b) == "1");
    BOOST_TEST(there("x") == a);
    BOOST_TEST(there("y") == a);
}

// rule M3
BOOST_AUTO_TEST_CASE(release_without_queues_deletes_what_is_ours)
{
    auto const give_back = [&](std::string const& who) {
        return ask(redis::scripts::multi_release, {"x", "y"}, {who, "2", "take", "0"});
    };
    vote(a);
    BOOST_TEST(give_back(b) == "0");
    BOOST_TEST(give_back(a) == "1");
    BOOST_TEST(give_back(a) == "0");
}

BOOST_AUTO_TEST_CASE(queue_that_is_none_does_not_keep_the_lock)
{
    vote(a);
    set("lx", "no queue");
    BOOST_TEST(release(a) == "1");
    BOOST_TEST(there("x") == "nothing");
}

// rule M4
BOOST_AUTO_TEST_CASE(fenced_vote_counts_above_all_fences)
{
    set("fx", "40");
    set("fy", "7");
    BOOST_TEST(fenced_vote(a) == "41");
    BOOST_TEST(there("fx") == "41");
    BOOST_TEST(there("fy") == "41");
    BOOST_TEST(node.pttl("fy") > 10 * nearly_a_lock);
    BOOST_TEST(fenced_vote(b).ends_with(" 41 0 aaaaaaaa"));
    release(a);
    BOOST_TEST(fenced_vote(b, "100") == "100");
}

// rule F3
BOOST_AUTO_TEST_CASE(proposal_does_not_lead_the_clock_by_far)
{
    BOOST_TEST(std::stoll(fenced_vote(a, "8796093022000")) < 8'000'000'000'000);
}

BOOST_AUTO_TEST_CASE(fence_that_is_no_number_refuses_all)
{
    set("fy", "some text");
    auto const before = everything();
    std::string const why = "WRONGTYPE the fence is no number that can be counted on from: fy";
    for (std::string const& said : {fenced_vote(a), fenced_extend(a, "7"), raise(a, "7")})
        BOOST_TEST(said.find(why) != said.npos, said);
    BOOST_TEST(everything() == before);
    set("fy", "8796093022207");
    BOOST_TEST(fenced_vote(a).find("WRONGTYPE") != std::string::npos);
    BOOST_TEST(there("x") == "nothing");
}

BOOST_AUTO_TEST_CASE(other_marker_refuses_all)
{
    marker = "another";
    node.command({"SET", "marker", "the node's"});
    auto const before = everything();
    for (std::string const& said : {fenced_vote(a), fenced_extend(a, "7"), raise(a, "7")})
        BOOST_TEST(said == "STRANGER");
    BOOST_TEST(everything() == before);
}

/// For each name.
// rules M4 and F5
BOOST_AUTO_TEST_CASE(fenced_extension_sets_again_what_nobody_took)
{
    fenced_vote(a, "40");
    BOOST_TEST(fenced_extend(a, "40") == "1");
    node.command({"DEL", "y"});
    BOOST_TEST(fenced_extend(a, "40") == "2");
    BOOST_TEST(there("y") == a);
    node.command({"DEL", "fx"});
    BOOST_TEST(fenced_extend(a, "40") == "2");
    BOOST_TEST(there("fx") == "40");
    node.command({"DEL", "y"});
    set("fy", "41"); // somebody was there
    BOOST_TEST(fenced_extend(a, "40") == "-2");
    BOOST_TEST(there("y") == "nothing");
    node.command({"RPUSH", "y", "data"});
    set("fy", "40");
    BOOST_TEST(fenced_extend(a, "40") == "-2");
}

BOOST_AUTO_TEST_CASE(fence_that_is_behind_is_set_to_the_token)
{
    fenced_vote(a, "40");
    set("fy", "39");
    BOOST_TEST(fenced_extend(a, "40") == "1");
    BOOST_TEST(there("fy") == "40");
}

// rule H9
BOOST_AUTO_TEST_CASE(adoption_sets_nothing)
{
    fenced_vote(a, "40");
    BOOST_TEST(fenced_extend(a, "40", true) == "1");
    BOOST_TEST(fenced_extend(a, "41", true) == "-1");
    set("fy", "39");
    BOOST_TEST(fenced_extend(a, "40", true) == "-2");
    BOOST_TEST(there("fy") == "39");
    set("fy", "40");
    node.command({"DEL", "x"});
    BOOST_TEST(fenced_extend(a, "40", true) == "-1");
    BOOST_TEST(there("x") == "nothing");
}

// rules K10, M4 and F2
BOOST_AUTO_TEST_CASE(raise_needs_all_locks_and_no_higher_fence)
{
    fenced_vote(a, "40");
    BOOST_TEST(raise(b, "50") == "0");
    BOOST_TEST(raise(a, "50") == "1");
    BOOST_TEST(there("fx") == "50");
    BOOST_TEST(there("fy") == "50");
    set("fy", "51");
    BOOST_TEST(raise(a, "50") == "0");
    set("fy", "50");
    set("y", b);
    BOOST_TEST(raise(a, "60") == "0");
    BOOST_TEST(there("fx") == "50");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

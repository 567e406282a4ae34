// SPDX-License-Identifier: BSL-1.0
// What the scripts of a semaphore do on a real server (docs/protocol.md, rules P1 to P9).
#include "component/script_times.hpp"
#include "kit/probe.hpp"
#include "kit/redis_server.hpp"
#include "redis/scripts.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

namespace {

using words = std::vector<std::string>;

constexpr long long nearly_a_fence = 35'000'000;

struct slots_of_a_lock {
    std::string ask(redis::script const& which, words const& keys, words const& arguments)
    {
        words command{"EVAL", std::string(which.text), std::to_string(keys.size())};
        command.insert(command.end(), keys.begin(), keys.end());
        command.insert(command.end(), arguments.begin(), arguments.end());
        return node.command(command);
    }
    std::string vote(std::string const& who, std::string const& count = "1", std::string const& start = "0",
                     std::string const& milliseconds = lock_time)
    {
        return ask(redis::scripts::slots_vote, {"lock", "ends", "line"},
                   {who, milliseconds, limit, "", count, start, ""});
    }
    std::string claim(std::string const& who, std::string const& slots, std::string const& giver = "")
    {
        return ask(redis::scripts::slots_vote, {"lock", "ends", "line"},
                   {who, lock_time, limit, slots, "1", "0", giver});
    }
    std::string fenced_vote(std::string const& who, std::string const& count = "1",
                            std::string const& proposal = "1")
    {
        return ask(redis::scripts::slots_vote, {"lock", "ends", "line", "fences", "marker"},
                   {who, lock_time, limit, "", count, "0", "", fence_time, proposal, marker});
    }
    std::string extend(std::string const& who, std::string const& slots)
    {
        return ask(redis::scripts::slots_extend, {"lock", "ends"}, {who, lock_time, slots});
    }
    std::string fenced_extend(std::string const& who, std::string const& slots, std::string const& token,
                              std::string const& how = "")
    {
        return ask(redis::scripts::slots_extend, with_fences,
                   {who, lock_time, slots, fence_time, token, how, marker});
    }
    std::string raise(std::string const& who, std::string const& slots, std::string const& token)
    {
        return fenced_extend(who, slots, token, "raise");
    }
    std::string release(std::string const& who, std::string const& slots = "", std::string const& place = "",
                        std::string const& how = "whole")
    {
        return ask(redis::scripts::slots_release, {"lock", "ends", "line"}, {who, slots, place, how});
    }
    std::string enter(std::string const& who, std::string const& place, std::string const& longest = "4096")
    {
        return ask(redis::scripts::slots_enter, {"lock", "ends", "line"}, {who, place, "60000", longest});
    }
    static std::string place(std::string const& channel, std::string const& count = "0001")
    {
        return "0050000" + count + "0003" + channel;
    }
    /// They stand there in this order.
    void line_up(words const& members)
    {
        for (std::string const& one : members)
            node.command({"ZADD", "line", std::to_string(++last_place), one});
    }
    bool nobody_stands_there() { return !node.exists("line"); }

    std::string owner(std::string const& slot) { return node.command({"HGET", "lock", slot}); }
    std::string fence(std::string const& slot) { return node.command({"HGET", "fences", slot}); }
    void set_fence(std::string const& slot, std::string const& number)
    {
        node.command({"HSET", "fences", slot, number});
    }
    void let_end(std::string const& slot) { node.command({"ZADD", "ends", "XX", "1", slot}); }
    void end_in(std::string const& slot, long long milliseconds)
    {
        node.command({"ZADD", "ends", "XX", std::to_string(now() + milliseconds), slot});
    }
    long long left(std::string const& slot)
    {
        return std::stoll(node.command({"ZSCORE", "ends", slot})) - now();
    }
    long long now()
    {
        return std::stoll(node.command(
            {"EVAL", "local t = redis.call('time') return t[1] * 1000 + math.floor(t[2] / 1000)", "0"}));
    }
    words everything()
    {
        words found;
        for (std::string const key : {"lock", "ends", "fences", "line", "marker"}) {
            found.push_back(node.command({"DUMP", key}));
            found.push_back(node.pttl(key) < 0 ? "for ever" : "for a time");
        }
        return found;
    }
    void forbid(std::string const& command) { node.command({"ACL", "SETUSER", "default", "-" + command}); }
    /// Each is of another type, and stays there for ever.
    static std::vector<words> others_data(std::string const& key)
    {
        return {{"SET", key, "text"},    {"RPUSH", key, "text"},     {"SADD", key, "text"},
                {"ZADD", key, "1", "0"}, {"HSET", key, "0", "text"}, {"XADD", key, "*", "0", "text"}};
    }
    /// But this one, which may be ours.
    static std::vector<words> others_data(std::string const& key, std::string const& but)
    {
        auto all = others_data(key);
        std::erase_if(all, [&](words const& deed) { return deed[0] == but; });
        return all;
    }

    std::string const a = std::string(32, 'a');
    std::string const b = std::string(32, 'b');
    std::string const c = std::string(32, 'c');
    words const with_fences{"lock", "ends", "fences", "marker"};
    redis_server server;
    probe node{server.port()};
    std::string limit = "3";
    std::string marker{};
    int last_place = 0;
};

bool is_refusal(std::string const& said, std::string const& who)
{
    return said.starts_with("HELD ") && said.ends_with(" 0 " + who);
}

/// "HELD <milliseconds> ...", "LINE <milliseconds> ..."
long long time_in(std::string const& said)
{
    return std::stoll(said.substr(said.find(' ')));
}

/// Who is called.
struct listener {
    listener(redis_server const& server, std::string channel) : its(server.port()), name(std::move(channel))
    {
        its.command({"SUBSCRIBE", name});
    }
    /// What was said to it before now, from the first on; "[pong, ]": nothing any more.
    std::string next() { return its.command({"PING"}); }
    [[nodiscard]] std::string message(std::string const& text) const
    {
        return "[message, " + name + ", " + text + "]";
    }

    probe its;
    std::string name;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(slots_scripts, slots_of_a_lock)

/// Rule P3.
BOOST_AUTO_TEST_CASE(vote_takes_as_many_slots_as_are_wanted_or_none)
{
    BOOST_TEST(vote(a, "2") == "GIVEN 0 2 0 1");
    BOOST_TEST(owner("0") == a);
    BOOST_TEST(owner("1") == a);
    BOOST_TEST(left("1") > nearly_a_lock);
    auto const before = everything();
    std::string const said = vote(b, "2");
    BOOST_TEST(is_refusal(said, "FULL"), said);
    BOOST_TEST(everything() == before);
    BOOST_TEST(vote(b) == "GIVEN 0 3 2");
    BOOST_TEST(owner("2") == b);
}

BOOST_AUTO_TEST_CASE(vote_looks_from_there_on_and_round)
{
    limit = "5";
    BOOST_TEST(vote(a, "1", "3") == "GIVEN 0 1 3");
    BOOST_TEST(vote(b, "3", "3") == "GIVEN 0 4 0 1 4");
    BOOST_TEST(vote(c, "1", "3") == "GIVEN 0 5 2");
}

/// A few are asked for one by one, and then all.
BOOST_AUTO_TEST_CASE(last_of_many_slots_is_found)
{
    limit = "20";
    vote(a, "19", "0");
    BOOST_TEST(vote(b, "1", "1") == "GIVEN 0 20 19");
    release(a, "0");
    BOOST_TEST(vote(b, "1", "1") == "GIVEN 0 20 0");
    BOOST_TEST(is_refusal(vote(c, "1", "1"), "FULL"));
}

BOOST_AUTO_TEST_CASE(refused_vote_says_when_enough_slots_have_ended)
{
    for (std::string const slot : {"0", "1", "2"}) {
        vote(a);
        end_in(slot, 1'000'000 * (3 - std::stoll(slot)));
    }
    auto const is_about = [](long long time, long long wanted) {
        return time <= wanted && time > wanted - 500'000;
    };
    BOOST_TEST(is_about(time_in(vote(b)), 1'000'000));
    BOOST_TEST(is_about(time_in(vote(b, "2")), 2'000'000));
    BOOST_TEST(is_about(time_in(vote(b, "3")), 3'000'000));
    BOOST_TEST(is_about(time_in(claim(b, "1")), 2'000'000));
}

/// Rule P6.
BOOST_AUTO_TEST_CASE(named_slots_are_given_all_or_none)
{
    BOOST_TEST(claim(a, "1") == "GIVEN 0 1 1");
    auto const before = everything();
    BOOST_TEST(is_refusal(claim(b, "0 1"), "aaaaaaaa"));
    BOOST_TEST(is_refusal(claim(b, "1 2"), "aaaaaaaa"));
    BOOST_TEST(everything() == before);
    BOOST_TEST(claim(a, "1 2") == "GIVEN 0 2 1 2"); // said again
}

/// Rule P7.
BOOST_AUTO_TEST_CASE(claim_takes_each_slot_from_its_giver_only)
{
    claim(a, "0");
    claim(b, "1");
    auto const before = everything();
    BOOST_TEST(is_refusal(claim(c, "0 1", a), "bbbbbbbb"));
    BOOST_TEST(is_refusal(claim(c, "0 1", b), "aaaaaaaa"));
    BOOST_TEST(is_refusal(claim(c, "0 1", c), "aaaaaaaa"));
    BOOST_TEST(everything() == before);
    BOOST_TEST(claim(c, "0 2", a) == "GIVEN 0 3 0 2");
    BOOST_TEST(owner("0") == c);
    BOOST_TEST(owner("1") == b);
}

BOOST_AUTO_TEST_CASE(slot_whose_owner_is_no_text_is_anothers)
{
    vote(a);
    node.command({"HSET", "lock", "1", ""});
    BOOST_TEST(is_refusal(claim(b, "1"), ""));
    BOOST_TEST(vote(b) == "GIVEN 0 3 2");
}

BOOST_AUTO_TEST_CASE(slots_that_have_ended_are_free)
{
    vote(a, "3");
    let_end("0");
    let_end("2");
    BOOST_TEST(claim(b, "0") == "GIVEN 0 2 0");
    BOOST_TEST(vote(c) == "GIVEN 0 3 2");
    for (std::string const slot : {"0", "1", "2"})
        let_end(slot);
    BOOST_TEST(vote(a, "3") == "GIVEN 0 3 0 1 2");
    let_end("1");
    BOOST_TEST(extend(a, "0 1") == "0");
    BOOST_TEST(release(a, "1") == "0");
}

/// Rule P9.
BOOST_AUTO_TEST_CASE(number_of_slots_grows_at_once_and_shrinks_as_they_are_given_up)
{
    vote(a, "3");
    limit = "2";
    end_in("2", 1'000'000);
    std::string const said = vote(b);
    BOOST_TEST(is_refusal(said, "FULL"));
    BOOST_TEST(time_in(said) > nearly_a_lock); // when two of the three have ended
    release(a, "0");
    BOOST_TEST(is_refusal(vote(b), "FULL"));
    release(a, "1");
    BOOST_TEST(vote(b, "1", "1") == "GIVEN 0 2 1");
    limit = "4";
    BOOST_TEST(vote(c, "2") == "GIVEN 0 4 0 3");
}

/// Rule P1.
BOOST_AUTO_TEST_CASE(keys_live_as_long_as_the_last_slot)
{
    vote(a);
    vote(b, "1", "0", "1000000");
    for (auto const* const key : {"lock", "ends"})
        BOOST_TEST(node.pttl(key) > nearly_a_lock);
    BOOST_TEST(left("1") <= 1'000'000);
    release(a);
    for (auto const* const key : {"lock", "ends"}) {
        BOOST_TEST(node.pttl(key) <= 1'000'000);
        BOOST_TEST(node.pttl(key) > 0);
    }
    release(b);
    BOOST_TEST(!node.exists("lock"));
    BOOST_TEST(!node.exists("ends"));
}

BOOST_AUTO_TEST_CASE(expiry_that_is_too_late_is_mended)
{
    vote(a);
    for (auto const* const key : {"lock", "ends"})
        node.command({"PEXPIRE", key, "360000000"});
    vote(b);
    for (auto const* const key : {"lock", "ends"})
        BOOST_TEST(node.pttl(key) <= std::stoll(lock_time));
}

/// Rule P5.
BOOST_AUTO_TEST_CASE(extension_renews_all_slots_or_none)
{
    vote(a, "2");
    vote(b);
    for (std::string const slot : {"0", "1", "2"})
        end_in(slot, 1'000'000);
    BOOST_TEST(extend(a, "0 2") == "0");
    BOOST_TEST(extend(a, "2 0") == "0");
    BOOST_TEST(extend(c, "0") == "0");
    BOOST_TEST(left("0") < nearly_a_lock);
    BOOST_TEST(extend(a, "0 1") == "1");
    BOOST_TEST(left("0") > nearly_a_lock);
    BOOST_TEST(left("1") > nearly_a_lock);
    BOOST_TEST(left("2") < nearly_a_lock);
    BOOST_TEST(node.pttl("lock") > nearly_a_lock);
    node.command({"HDEL", "lock", "1"});
    BOOST_TEST(extend(a, "0 1") == "0"); // it is not set again
    BOOST_TEST(owner("1") == "(nil)");
}

/// Rule P4.
BOOST_AUTO_TEST_CASE(release_frees_slots_that_are_ours)
{
    vote(a, "2");
    vote(b);
    auto const before = everything();
    BOOST_TEST(release(b, "0 1") == "0");
    BOOST_TEST(release(c) == "0");
    BOOST_TEST(everything() == before);
    BOOST_TEST(release(a, "1 2") == "1");
    BOOST_TEST(owner("0") == a);
    BOOST_TEST(owner("1") == "(nil)");
    BOOST_TEST(owner("2") == b);
    BOOST_TEST(node.command({"ZRANGE", "ends", "0", "-1"}) == "[0, 2]");
}

BOOST_AUTO_TEST_CASE(release_that_names_no_slot_frees_all_of_a_nonce)
{
    limit = "5";
    vote(a, "2");
    vote(b);
    vote(a, "2");
    BOOST_TEST(release(a) == "1");
    BOOST_TEST(node.command({"HGETALL", "lock"}) == "[2, " + b + "]");
    BOOST_TEST(node.command({"ZRANGE", "ends", "0", "-1"}) == "[2]");
}

BOOST_AUTO_TEST_CASE(others_data_in_place_of_the_lock_are_held_by_nobody)
{
    for (words const& deed : others_data("lock")) {
        node.command(deed);
        auto const before = everything();
        std::string const who = deed[0] == "SET" ? "text" : "";
        BOOST_TEST(vote(a) == "HELD -1 0 " + who);
        BOOST_TEST(claim(a, "0", a) == "HELD -1 0 " + who);
        BOOST_TEST(fenced_vote(a) == "HELD -1 0 " + who);
        BOOST_TEST(extend(a, "0") == "0");
        BOOST_TEST(fenced_extend(a, "0", "7") == "0");
        BOOST_TEST(release("text") == "0");
        BOOST_TEST(everything() == before);
        BOOST_TEST(enter(a, place("x")) == "LINE -1 0 " + who);
        node.command({"DEL", "line"});
        BOOST_TEST(everything() == before);
        node.command({"DEL", "lock"});
    }
}

/// Somebody has deleted what stands beside the lock.
BOOST_AUTO_TEST_CASE(slots_whose_ends_are_gone_are_left_to_expire)
{
    vote(a);
    node.command({"DEL", "ends"});
    auto const before = everything();
    std::string const said = vote(b);
    BOOST_TEST(is_refusal(said, ""));
    BOOST_TEST(time_in(said) > nearly_a_lock);
    BOOST_TEST(extend(a, "0") == "0");
    BOOST_TEST(release(a) == "0");
    BOOST_TEST(everything() == before);
}

BOOST_AUTO_TEST_CASE(others_data_beside_the_lock_are_left_alone)
{
    std::string const why = "WRONGTYPE these are no slots of a semaphore: ends";
    for (words const& deed : others_data("ends")) {
        node.command(deed);
        auto const before = everything();
        for (std::string const& said :
             {vote(a), claim(a, "0"), extend(a, "0"), release(a), enter(a, place("x"))})
            BOOST_TEST(said.find(why) != said.npos, said);
        BOOST_TEST(everything() == before);
        node.command({"DEL", "ends"});
    }
}

BOOST_AUTO_TEST_CASE(others_data_in_place_of_fences_refuse_all)
{
    std::string const why = "WRONGTYPE these are no fences of a semaphore: fences";
    for (words const& deed : others_data("fences", "HSET")) {
        node.command(deed);
        auto const before = everything();
        for (std::string const& said : {fenced_vote(a), fenced_extend(a, "0", "7"), raise(a, "0", "7")})
            BOOST_TEST(said.find(why) != said.npos, said);
        BOOST_TEST(everything() == before);
        node.command({"DEL", "fences"});
    }
}

BOOST_AUTO_TEST_CASE(others_data_in_place_of_the_line_keep_no_slot)
{
    for (words const& deed : others_data("line", "ZADD")) {
        vote(a, "3");
        node.command(deed);
        auto const before = everything();
        BOOST_TEST(enter(b, place("x")).find("WRONGTYPE") != std::string::npos);
        BOOST_TEST(everything() == before);
        BOOST_TEST(release(a) == "1");
        BOOST_TEST(!node.exists("lock"));
        BOOST_TEST(node.exists("line"));
        node.command({"DEL", "line"});
    }
}

BOOST_AUTO_TEST_CASE(slots_are_free_when_somebody_deletes_the_lock)
{
    vote(a, "3");
    node.command({"DEL", "lock"});
    BOOST_TEST(extend(a, "0") == "0");
    BOOST_TEST(vote(b) == "GIVEN 0 1 0");
    BOOST_TEST(node.command({"ZRANGE", "ends", "0", "-1"}) == "[0]");
}

/// Somebody has written into the lock.
BOOST_AUTO_TEST_CASE(slot_without_end_is_in_the_way)
{
    vote(a);
    node.command({"HSET", "lock", "2", "somebody"});
    BOOST_TEST(claim(b, "2") == "HELD 0 0 somebody");
    BOOST_TEST(vote(b, "1", "2") == "GIVEN 0 3 1");
    BOOST_TEST(is_refusal(vote(c), "FULL"));
}

BOOST_AUTO_TEST_CASE(other_kinds_of_locks_are_excluded)
{
    namespace scripts = redis::scripts;
    vote(a);
    auto const before = everything();
    BOOST_TEST(node.command({"SET", "lock", b, "NX", "PX", lock_time}) == "(nil)");
    BOOST_TEST(is_refusal(ask(scripts::vote, {"lock", "queue"}, {"r", b, lock_time, ""}), ""));
    BOOST_TEST(ask(scripts::multi_vote, {"lock"}, {"1", b, lock_time, ""}).starts_with("HELD "));
    BOOST_TEST(everything() == before);
    release(a);
    BOOST_TEST(node.command({"SET", "lock", b, "NX", "PX", lock_time}) == "OK");
    BOOST_TEST(is_refusal(vote(a), "bbbbbbbb"));
    BOOST_TEST(is_refusal(claim(a, "0", b), "bbbbbbbb"));
    node.command({"DEL", "lock"});
    BOOST_TEST(ask(scripts::vote, {"lock", "queue"}, {"r", b, lock_time, ""}) == "1");
    std::string const said = vote(a);
    BOOST_TEST(is_refusal(said, ""));
    BOOST_TEST(time_in(said) > nearly_a_lock);
}

BOOST_AUTO_TEST_CASE(vote_counts_above_the_fences_of_all_its_slots)
{
    set_fence("0", "7");
    set_fence("1", "40");
    set_fence("2", "90");
    BOOST_TEST(fenced_vote(a, "2") == "GIVEN 41 2 0 1");
    BOOST_TEST(fence("0") == "41");
    BOOST_TEST(fence("1") == "41");
    BOOST_TEST(fence("2") == "90"); // nobody has that slot
    BOOST_TEST(node.pttl("fences") > nearly_a_fence);
    release(a);
    BOOST_TEST(fenced_vote(b, "2", "100") == "GIVEN 100 2 0 1");
    BOOST_TEST(is_refusal(fenced_vote(c, "2"), "FULL"));
    BOOST_TEST(fenced_vote(c) == "GIVEN 91 3 2");
}

/// Rule F3.
BOOST_AUTO_TEST_CASE(proposal_does_not_lead_the_clock_by_far)
{
    fenced_vote(a, "1", "8796093022000");
    BOOST_TEST(std::stoll(fence("0")) >= std::stoll(lock_time) / 2);
    BOOST_TEST(std::stoll(fence("0")) <= now() + std::stoll(lock_time) / 2);
}

BOOST_AUTO_TEST_CASE(fence_that_is_no_number_refuses_all)
{
    vote(a, "2");
    std::string const why = "WRONGTYPE a fence is no number that can be counted on from: fences";
    for (std::string const number : {"some text", "", "-1", "nan", "8796093022208"}) {
        set_fence("1", number);
        set_fence("2", number);
        auto const before = everything();
        for (std::string const& said : {fenced_vote(b), fenced_extend(a, "0 1", "7"), raise(a, "0 1", "7")})
            BOOST_TEST(said.find(why) != said.npos, said);
        BOOST_TEST(everything() == before);
    }
    set_fence("2", "8796093022207"); // there is none above it
    BOOST_TEST(fenced_vote(b).find(why) != std::string::npos);
    BOOST_TEST(owner("2") == "(nil)");
}

/// Rule F6.
BOOST_AUTO_TEST_CASE(other_marker_refuses_all)
{
    vote(a);
    marker = "another";
    node.command({"SET", "marker", "the node's"});
    auto const before = everything();
    for (std::string const& said : {fenced_vote(a), fenced_extend(a, "0", "7"), raise(a, "0", "7")})
        BOOST_TEST(said == "STRANGER");
    BOOST_TEST(everything() == before);
    marker = "the node's";
    BOOST_TEST(fenced_extend(a, "0", "7") == "2");
}

/// Rules F4 and F5, for each slot.
BOOST_AUTO_TEST_CASE(fenced_extension_sets_fences_that_are_behind_and_yields_to_higher_ones)
{
    fenced_vote(a, "2", "40");
    BOOST_TEST(fenced_extend(a, "0 1", "40") == "1");
    node.command({"HDEL", "fences", "1"});
    BOOST_TEST(fenced_extend(a, "0 1", "40") == "2");
    BOOST_TEST(fence("1") == "40");
    set_fence("1", "39");
    node.command({"PEXPIRE", "fences", "1000000"});
    BOOST_TEST(fenced_extend(a, "0 1", "40") == "1");
    BOOST_TEST(fence("1") == "40");
    BOOST_TEST(node.pttl("fences") > nearly_a_fence);
    set_fence("1", "41"); // somebody came after us
    end_in("0", 1'000'000);
    auto const before = everything();
    BOOST_TEST(fenced_extend(a, "0 1", "40") == "0");
    BOOST_TEST(everything() == before);
    BOOST_TEST(fenced_extend(a, "0", "40") == "1"); // but not for that slot
    BOOST_TEST(fenced_extend(b, "0", "50") == "0");
}

/// Rule F2.
BOOST_AUTO_TEST_CASE(raise_needs_all_slots_and_no_higher_fence)
{
    fenced_vote(a, "2", "40");
    fenced_vote(b, "1", "40");
    end_in("0", 1'000'000);
    auto const before = everything();
    BOOST_TEST(raise(b, "0", "50") == "0");
    BOOST_TEST(raise(a, "0 2", "50") == "0");
    BOOST_TEST(raise(a, "0 1", "39") == "0");
    BOOST_TEST(everything() == before);
    BOOST_TEST(raise(a, "0 1", "50") == "1");
    BOOST_TEST(fence("0") == "50");
    BOOST_TEST(fence("1") == "50");
    BOOST_TEST(fence("2") == "40");
    BOOST_TEST(left("0") < nearly_a_lock); // the slots are not renewed
}

/// A lease that is there does not end because its server is full.
BOOST_AUTO_TEST_CASE(extension_needs_no_memory)
{
    fenced_vote(a, "2", "40");
    node.command({"CONFIG", "SET", "maxmemory", "1"});
    BOOST_TEST(fenced_extend(a, "0 1", "40") == "1");
    BOOST_TEST(extend(a, "0 1") == "1");
    BOOST_TEST(fenced_extend(a, "0 1", "41", "raise") == "1");
}

BOOST_AUTO_TEST_CASE(who_enters_is_given_what_is_free_or_stands_in_line)
{
    BOOST_TEST(enter(a, place("a", "0002")).starts_with("GIVEN 0 2 "));
    BOOST_TEST(node.command({"HVALS", "lock"}) == "[" + a + ", " + a + "]");
    BOOST_TEST(node.pttl("lock") <= 50'000);
    std::string const said = enter(b, place("b", "0002"));
    BOOST_TEST(said.starts_with("LINE "));
    BOOST_TEST(said.ends_with(" 0 FULL"));
    BOOST_TEST(time_in(said) <= 50'000);
    BOOST_TEST(enter(c, place("c", "0002")).ends_with(" 1 FULL"));
    BOOST_TEST(enter(b, place("b", "0002")).ends_with(" 0 FULL")); // it keeps its place
    BOOST_TEST(node.pttl("line") > 0);
    BOOST_TEST(enter(std::string(32, 'd'), place("d", "0003"), "2") == "FULL");
    BOOST_TEST(node.command({"ZCARD", "line"}) == "2");
}

BOOST_AUTO_TEST_CASE(who_enters_has_what_was_handed_to_it_meanwhile)
{
    vote(a, "2");
    BOOST_TEST(enter(a, place("a", "0002")) == "GIVEN 0 2 0 1");
    BOOST_TEST(nobody_stands_there());
}

BOOST_AUTO_TEST_CASE(other_lock_is_waited_for)
{
    node.command({"SET", "lock", b, "PX", lock_time});
    std::string const said = enter(a, place("a"));
    BOOST_TEST(said.ends_with(" 0 bbbbbbbb"), said);
    BOOST_TEST(time_in(said) > nearly_a_lock);
}

/// Rule P7.
BOOST_AUTO_TEST_CASE(release_hands_slots_to_the_first_in_line)
{
    listener heir(server, "heir");
    vote(a, "3");
    line_up({b + place("heir", "0002")});
    BOOST_TEST(release(a, "1 2") == "2");
    BOOST_TEST(heir.next() == heir.message("take " + b + " 0 " + a + " 1 2"));
    BOOST_TEST(owner("0") == a);
    BOOST_TEST(owner("1") == b);
    BOOST_TEST(owner("2") == b);
    BOOST_TEST(left("1") <= 50'000);
    BOOST_TEST(nobody_stands_there());
}

/// Rule Q5: what the rest of the nonce is may not be taken.
BOOST_AUTO_TEST_CASE(heir_of_a_part_takes_it_from_nobody)
{
    listener heir(server, "heir");
    vote(a, "3");
    line_up({b + place("heir")});
    BOOST_TEST(release(a, "1", "", "") == "2");
    BOOST_TEST(heir.next() == heir.message("take " + b + " 0 " + b + " 1"));
}

BOOST_AUTO_TEST_CASE(several_are_served_from_what_one_gives_up)
{
    listener first(server, "first");
    listener second(server, "second");
    listener third(server, "third");
    vote(a, "3");
    line_up({b + place("first"), c + place("second"), std::string(32, 'd') + place("third", "0002")});
    BOOST_TEST(release(a) == "2");
    BOOST_TEST(first.next() == first.message("take " + b + " 0 " + a + " 0"));
    BOOST_TEST(second.next() == second.message("take " + c + " 0 " + a + " 1"));
    std::string const told = third.next();
    BOOST_TEST(told.starts_with("[message, third, first " + std::string(32, 'd') + ' '), told);
    BOOST_TEST(node.command({"HLEN", "lock"}) == "2");
}

BOOST_AUTO_TEST_CASE(places_of_the_dead_are_skipped)
{
    listener heir(server, "heir");
    vote(a, "3");
    line_up({c + place("gone"), b + place("heir")});
    BOOST_TEST(release(a) == "2");
    BOOST_TEST(heir.next().find("take " + b) != std::string::npos);
    BOOST_TEST(node.command({"HVALS", "lock"}) == "[" + b + "]");
    release(b);
    vote(a, "3");
    line_up({c + place("gone")});
    BOOST_TEST(release(a) == "1"); // to nobody
    BOOST_TEST(nobody_stands_there());
}

BOOST_AUTO_TEST_CASE(member_of_the_line_that_is_no_place_is_skipped)
{
    listener heir(server, "heir");
    vote(a, "3");
    line_up({"short", c + "0050000heir", c + "0050000000x0003heir", b + place("heir")});
    BOOST_TEST(enter(c, place("c")).ends_with(" 1 FULL"));
    BOOST_TEST(node.command({"ZCARD", "line"}) == "2");
    BOOST_TEST(release(a, "0") == "2");
    BOOST_TEST(owner("0") == b);
}

/// Rule P7: otherwise those who want many would never have them.
BOOST_AUTO_TEST_CASE(nobody_passes_the_first_who_wants_more_than_is_free)
{
    listener first(server, "first");
    listener second(server, "second");
    vote(a, "2");
    vote(a);
    line_up({b + place("first", "0002"), c + place("second")});
    BOOST_TEST(release(a, "0") == "1");
    BOOST_TEST(owner("0") == "(nil)");
    BOOST_TEST(enter(c, place("second")).ends_with(" 1 FULL"));
    BOOST_TEST(enter(std::string(32, 'd'), place("d")).ends_with(" 2 FULL"));
    BOOST_TEST(owner("0") == "(nil)");
    BOOST_TEST(second.next() == "[pong, ]");
    BOOST_TEST(release(a, "2") == "2");
    BOOST_TEST(first.next() == first.message("take " + b + " 0 " + a + " 0 2"));
    BOOST_TEST(second.next().find("first " + c) != std::string::npos);
}

/// Rule K3.
BOOST_AUTO_TEST_CASE(whatever_right_is_missing_nothing_is_left_that_does_not_end)
{
    for (std::string const command : {"hset", "zadd", "pexpireat", "zrange", "hlen", "pexpire"}) {
        forbid(command);
        BOOST_TEST_CONTEXT(command)
        {
            std::string const said = fenced_vote(a);
            BOOST_TEST(!said.starts_with("GIVEN"), said);
            for (std::string const key : {"lock", "ends", "fences"})
                BOOST_TEST(node.pttl(key) != -1, key);
        }
        node.command({"ACL", "SETUSER", "default", "+" + command});
        node.command({"DEL", "lock", "ends", "fences"});
    }
}

/// Rule P7: dead places keep nobody.
BOOST_AUTO_TEST_CASE(vote_for_any_slot_goes_behind_those_who_stand_in_line)
{
    listener first(server, "first");
    vote(a, "2");
    line_up({c + place("nobody-hears"), b + place("first", "0002")});
    BOOST_TEST(is_refusal(vote(std::string(32, 'd')), "FULL"));
    BOOST_TEST(first.next().find("first " + b) != std::string::npos);
    BOOST_TEST(node.command({"ZCARD", "line"}) == "1");
    BOOST_TEST(claim(std::string(32, 'd'), "2") == "GIVEN 0 3 2"); // it was chosen where all meet
    line_up({});
    node.command({"DEL", "line"});
    release(std::string(32, 'd'));
    BOOST_TEST(vote(std::string(32, 'd')) == "GIVEN 0 3 2");
}

/// Somebody before it was called at last.
BOOST_AUTO_TEST_CASE(who_enters_lets_those_before_it_go_first)
{
    listener first(server, "first");
    line_up({b + place("first", "0002")});
    BOOST_TEST(enter(c, place("c")).starts_with("GIVEN 0 3 "));
    BOOST_TEST(first.next().find("take " + b + " 0 " + b) != std::string::npos);
}

/// Rule Q12.
BOOST_AUTO_TEST_CASE(next_in_line_hears_that_the_first_has_left)
{
    listener next(server, "next");
    vote(a, "2");
    line_up({b + place("first", "0002"), c + place("next", "0003")});
    end_in("0", 1'000'000);
    BOOST_TEST(release(c, "", place("elsewhere")) == "0");
    BOOST_TEST(next.next() == "[pong, ]");
    BOOST_TEST(release(b, "", place("first", "0002")) == "0");
    std::string const told = next.next();
    BOOST_TEST(told.starts_with("[message, next, first " + c), told);
    BOOST_TEST(node.command({"ZCARD", "line"}) == "1");
}

BOOST_AUTO_TEST_CASE(next_in_line_hears_that_the_first_has_left_another_lock)
{
    listener next(server, "next");
    line_up({b + place("first"), c + place("next")});
    node.command({"SET", "lock", a, "PX", lock_time});
    BOOST_TEST(release(b, "", place("first")) == "0");
    BOOST_TEST(next.next().starts_with("[message, next, first " + c));
}

BOOST_AUTO_TEST_CASE(slots_are_free_where_nobody_may_be_called)
{
    vote(a, "3");
    line_up({b + place("heir")});
    forbid("publish");
    BOOST_TEST(release(a, "0") == "1");
    BOOST_TEST(owner("0") == "(nil)");
    BOOST_TEST(node.command({"ZCARD", "line"}) == "1");
}

/// Nothing is there that would stay for ever.
BOOST_AUTO_TEST_CASE(without_the_right_to_let_slots_end_none_is_given)
{
    forbid("pexpireat");
    BOOST_TEST(vote(a).front() == '-');
    BOOST_TEST(!node.exists("lock"));
    BOOST_TEST(!node.exists("ends"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

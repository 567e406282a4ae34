// SPDX-License-Identifier: BSL-1.0
// What the scripts of readers and writers do on a real server where the lock has a fence (docs/protocol.md, rule S16).
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

constexpr long long half_a_lock = 1'800'000;
std::string const mark_time = "900000";
std::string const quarantine = "4000000";
std::string const no_number = "WRONGTYPE the fence is no number that can be counted on from: fence";

struct fenced_shared_key {
    std::string ask(redis::script const& which, words const& keys, words const& arguments)
    {
        words command{"EVAL", std::string(which.text), std::to_string(keys.size())};
        command.insert(command.end(), keys.begin(), keys.end());
        command.insert(command.end(), arguments.begin(), arguments.end());
        return node.command(command);
    }
    std::string read(std::string const& who)
    {
        return ask(redis::scripts::shared_vote, {"lock", "gate", "fence", "marker"},
                   {who, lock_time, "450000", mark_time, fence_time, quarantine, marker});
    }
    std::string write(std::string const& who, std::string const& proposal = "1")
    {
        return ask(redis::scripts::exclusive_vote, {"lock", "gate", "fence", "marker"},
                   {who, lock_time, mark_time, "1", fence_time, proposal, marker});
    }
    std::string extend(std::string const& who, std::string const& token)
    {
        return ask(redis::scripts::shared_extend, {"lock", "fence", "marker"},
                   {who, lock_time, fence_time, token, marker});
    }
    std::string downgrade(std::string const& who, std::string const& token)
    {
        return ask(redis::scripts::downgrade, {"lock", "fence", "marker"},
                   {who, lock_time, fence_time, token, marker});
    }
    std::string raise(std::string const& who, std::string const& token)
    {
        return ask(redis::scripts::fenced_raise, {"lock", "fence", "marker"},
                   {lock_time, fence_time, who, token, marker});
    }
    std::string adopt(std::string const& who, std::string const& token)
    {
        return ask(redis::scripts::fenced_adopt, {"lock", "fence", "marker"},
                   {lock_time, fence_time, who, token, marker});
    }
    std::string release(std::string const& who)
    {
        return ask(redis::scripts::shared_release, {"lock", "gate"}, {who, mark_time, "0", "1"});
    }
    void set_fence(std::string const& number) { node.command({"SET", "fence", number, "PX", "1000000"}); }
    std::string fence() { return node.get("fence").value_or("none"); }
    bool fence_is_renewed() { return node.pttl("fence") > 35'000'000; }
    words everything()
    {
        words all;
        for (std::string const key : {"lock", "gate", "fence", "marker"})
            all.push_back(node.command({"DUMP", key}));
        return all;
    }
    long long now()
    {
        return std::stoll(node.command(
            {"EVAL", "local t = redis.call('time') return t[1] * 1000 + math.floor(t[2] / 1000)", "0"}));
    }
    /// Beside another one, so that the key is still there.
    void add_reader_whose_time_is_over(std::string const& who)
    {
        node.command({"ZADD", "lock", std::to_string(now() - 1), who});
    }

    std::string const a = std::string(32, 'a');
    std::string const b = std::string(32, 'b');
    std::string const c = std::string(32, 'c');
    redis_server server;
    probe node{server.port()};
    std::string marker{};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(fenced_shared_scripts, fenced_shared_key)

BOOST_AUTO_TEST_CASE(writer_counts_and_readers_do_not)
{
    BOOST_TEST(write(a, "40") == "40");
    release(a);
    set_fence("40");
    BOOST_TEST(read(b) == "40");
    BOOST_TEST(fence_is_renewed());
    BOOST_TEST(read(c) == "40");
    BOOST_TEST(fence() == "40");
    release(b);
    release(c);
    set_fence("40");
    BOOST_TEST(write(a, "7") == "41");
    BOOST_TEST(fence() == "41");
    BOOST_TEST(fence_is_renewed());
}

BOOST_AUTO_TEST_CASE(writers_vote_counts_no_further_than_half_a_lock_beyond_clock)
{
    long long const before = now();
    long long const counted = std::stoll(write(a, "8796093022000"));
    BOOST_TEST(counted >= before + half_a_lock);
    BOOST_TEST(counted <= now() + half_a_lock);
}

/// Writers that are forgotten had earlier dates.
BOOST_AUTO_TEST_CASE(reader_sets_fence_that_is_gone_to_round_date)
{
    long long const before = now();
    long long const set = std::stoll(read(a));
    BOOST_TEST(set > before);
    BOOST_TEST(set <= now() + half_a_lock);
    BOOST_TEST(set % half_a_lock == 0);
    BOOST_TEST(fence() == std::to_string(set));
    BOOST_TEST(fence_is_renewed());
    BOOST_TEST(read(b) == std::to_string(set));
    release(a);
    release(b);
    BOOST_TEST(write(c) == std::to_string(set + 1));
}

/// It may have an older fence since then than it had.
BOOST_AUTO_TEST_CASE(reader_raises_fence_of_node_that_may_have_forgotten)
{
    auto const place_marker = [&](long long when) {
        node.command({"SET", "marker", "run:data/0a1b2c3d/0/" + std::to_string(when)});
    };
    set_fence("40");
    place_marker(36'000'000);
    BOOST_TEST(read(a) == "41400000"); // the multiple after 40'000'000
    place_marker(37'000'000);
    BOOST_TEST(read(b) == "41400000");
    place_marker(37'500'000);
    BOOST_TEST(read(c) == "43200000");
    set_fence("50000000");
    BOOST_TEST(read(c) == "50000000");
    place_marker(now());
    long long const set = std::stoll(read(a));
    BOOST_TEST(set > now());
    BOOST_TEST(set <= now() + half_a_lock); // no farther than it may have
    BOOST_TEST(set % half_a_lock == 0);
}

BOOST_AUTO_TEST_CASE(fence_of_zero_is_one_to_readers)
{
    set_fence("0");
    BOOST_TEST(read(a) == "1");
    BOOST_TEST(fence() == "1");
}

BOOST_AUTO_TEST_CASE(refused_vote_tells_fence_and_leaves_it)
{
    write(a, "40");
    set_fence("40");
    BOOST_TEST(read(b).starts_with("HELD 3"));
    BOOST_TEST(read(b).ends_with(" 40 aaaaaaaa"));
    BOOST_TEST(write(b, "50").ends_with(" 40 aaaaaaaa"));
    release(a);
    node.command({"DEL", "gate"});
    BOOST_TEST(read(b) == "40");
    set_fence("40");
    BOOST_TEST(write(c, "50").ends_with(" 40 READERS"));
    BOOST_TEST(read(a).ends_with(" 40 WRITER"));
    BOOST_TEST(fence() == "40");
    BOOST_TEST(!fence_is_renewed());
}

BOOST_AUTO_TEST_CASE(node_with_another_marker_changes_nothing)
{
    node.command({"SET", "marker", "theirs"});
    for (bool const is_held : {false, true}) {
        if (is_held)
            read(a);
        auto const before = everything();
        marker = "ours";
        BOOST_TEST(read(b) == "STRANGER");
        BOOST_TEST(write(b) == "STRANGER");
        BOOST_TEST(extend(a, "50") == "STRANGER");
        BOOST_TEST(downgrade(a, "50") == "STRANGER");
        BOOST_TEST(raise(a, "8000000000000") == "STRANGER");
        BOOST_TEST((everything() == before));
        marker = "theirs";
        BOOST_TEST(write(b).starts_with(is_held ? "HELD" : "1"));
        release(b);
        node.command({"DEL", "gate"});
    }
    BOOST_TEST(extend(a, "50") == "1");
}

BOOST_AUTO_TEST_CASE(fence_that_is_no_number_is_named_and_left)
{
    for (words const& data : {words{"SET", "fence", "theirs"},
                              {"SET", "fence", "-1"},
                              {"SET", "fence", "nan"},
                              {"SET", "fence", "8796093022208"},
                              {"RPUSH", "fence", "theirs"}})
        for (bool const is_held : {false, true}) {
            node.command({"DEL", "lock", "gate", "fence"});
            if (is_held)
                read(a);
            node.command({"DEL", "fence"});
            node.command(data);
            auto const before = everything();
            for (std::string const& said :
                 {read(b), write(b), extend(a, "50"), raise(a, "50"), downgrade(a, "50")})
                BOOST_TEST(said.find(no_number) != std::string::npos, said);
            BOOST_TEST((everything() == before));
        }
}

BOOST_AUTO_TEST_CASE(vote_that_would_count_too_far_changes_nothing)
{
    set_fence("8796093022207");
    auto const before = everything();
    BOOST_TEST(write(a).find(no_number) != std::string::npos);
    BOOST_TEST((everything() == before));
}

BOOST_AUTO_TEST_CASE(fence_is_raised_while_reader_is_there)
{
    set_fence("40");
    read(a);
    BOOST_TEST(raise(b, "50") == "0");
    BOOST_TEST(raise(a, "39") == "0");
    BOOST_TEST(fence() == "40");
    set_fence("40");
    BOOST_TEST(raise(a, "40") == "1");
    BOOST_TEST(fence_is_renewed());
    BOOST_TEST(raise(a, "50") == "1");
    BOOST_TEST(fence() == "50");
    BOOST_TEST(read(b) == "50");
    release(a);
    BOOST_TEST(raise(a, "60") == "0");
    add_reader_whose_time_is_over(a);
    BOOST_TEST(raise(a, "60") == "0");
    release(b);
    release(a);
    BOOST_TEST(raise(a, "60") == "0");
    BOOST_TEST(fence() == "50");
}

BOOST_AUTO_TEST_CASE(fence_is_raised_for_no_member_of_others_data)
{
    for (words const& data :
         {words{"HSET", "lock", a, "8000000000000"}, {"SET", "lock", "theirs"}, {"RPUSH", "lock", a}}) {
        node.command({"DEL", "lock"});
        node.command(data);
        BOOST_TEST(raise(a, "60") == "0");
        BOOST_TEST(!node.exists("fence"));
    }
}

BOOST_AUTO_TEST_CASE(readers_extension_raises_fence_and_minds_no_higher_one)
{
    read(a);
    node.command({"PEXPIRE", "lock", "5000000"});
    for (auto const& [before, then] : std::vector<std::pair<std::string, std::string>>{
             {"40", "50"}, {"50", "50"}, {"60", "60"}, {"", "50"}}) {
        before.empty() ? (void)node.command({"DEL", "fence"}) : set_fence(before);
        BOOST_TEST(extend(a, "50") == "1");
        BOOST_TEST(fence() == then);
        BOOST_TEST(fence_is_renewed());
    }
    BOOST_TEST(node.pttl("lock") <= 3'600'000);
}

BOOST_AUTO_TEST_CASE(writers_extension_raises_fence_unless_it_is_higher)
{
    write(a);
    for (auto const& [before, then] :
         std::vector<std::pair<std::string, std::string>>{{"40", "50"}, {"50", "50"}, {"", "50"}}) {
        before.empty() ? (void)node.command({"DEL", "fence"}) : set_fence(before);
        node.command({"PEXPIRE", "lock", "5000"});
        BOOST_TEST(extend(a, "50") == "1");
        BOOST_TEST(fence() == then);
        BOOST_TEST(fence_is_renewed());
        BOOST_TEST(node.pttl("lock") > 3'000'000);
    }
    set_fence("51");
    auto const all = everything();
    node.command({"PEXPIRE", "lock", "5000"});
    BOOST_TEST(extend(a, "50") == "0");
    BOOST_TEST((everything() == all));
    BOOST_TEST(node.pttl("lock") <= 5000);
}

/// A higher one may come from another reader.
BOOST_AUTO_TEST_CASE(downgrade_raises_fence_and_minds_no_higher_one)
{
    for (bool const writes : {true, false})
        for (auto const& [before, then] : std::vector<std::pair<std::string, std::string>>{
                 {"40", "50"}, {"50", "50"}, {"60", "60"}, {"", "50"}}) {
            node.command({"DEL", "lock", "gate", "fence"});
            writes ? write(a) : read(a);
            before.empty() ? (void)node.command({"DEL", "fence"}) : set_fence(before);
            BOOST_TEST(downgrade(a, "50") == "1");
            BOOST_TEST(fence() == then);
            BOOST_TEST(fence_is_renewed());
            BOOST_TEST(node.command({"ZCARD", "lock"}) == "1");
        }
    auto const before = everything();
    BOOST_TEST(downgrade(b, "70") == "0");
    BOOST_TEST((everything() == before));
}

/// Unlike that of a lock without readers.
BOOST_AUTO_TEST_CASE(extension_repairs_nothing)
{
    set_fence("40");
    BOOST_TEST(extend(a, "50") == "0");
    BOOST_TEST(!node.exists("lock"));
    read(b);
    add_reader_whose_time_is_over(a);
    auto const before = everything();
    BOOST_TEST(extend(a, "50") == "0");
    BOOST_TEST(extend(c, "50") == "0");
    BOOST_TEST((everything() == before));
    BOOST_TEST(fence() == "40");
}

BOOST_AUTO_TEST_CASE(writer_is_adopted_by_its_token)
{
    write(a, "40");
    BOOST_TEST(adopt(a, "41") == "0");
    BOOST_TEST(adopt(b, "40") == "0");
    BOOST_TEST(adopt(a, "40") == "1");
    release(a);
    read(a);
    BOOST_TEST(adopt(a, "40") == "0");
}

/// Nothing is left then of a vote that was not counted.
BOOST_AUTO_TEST_CASE(vote_whose_fence_may_not_be_set_leaves_no_reader)
{
    node.command({"ACL", "SETUSER", "default", "-set"});
    BOOST_TEST(read(a) != "1");
    BOOST_TEST(!node.exists("lock"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

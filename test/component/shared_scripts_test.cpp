// SPDX-License-Identifier: BSL-1.0
// What the scripts of readers and writers do on a real server (docs/protocol.md, rules S1 to S9).
#include "kit/probe.hpp"
#include "kit/redis_server.hpp"
#include "redis/scripts.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace redlock::test {

namespace {

std::string const long_time = "3600000";
std::string const short_time = "1800000";
std::string const mark = "900000";
std::string const need = "450000";

struct shared_key {
    std::string ask(redis::script const& which, std::vector<std::string> const& keys,
                    std::vector<std::string> const& arguments)
    {
        std::vector<std::string> command{"EVAL", std::string(which.text), std::to_string(keys.size())};
        command.insert(command.end(), keys.begin(), keys.end());
        command.insert(command.end(), arguments.begin(), arguments.end());
        return node.command(command);
    }
    std::string read(std::string const& who, std::string const& time = long_time,
                     std::string const& turn = need)
    {
        return ask(redis::scripts::shared_vote, {"lock", "gate"}, {who, time, turn, mark});
    }
    std::string write(std::string const& who, std::string const& waits = "1")
    {
        return ask(redis::scripts::exclusive_vote, {"lock", "gate"}, {who, long_time, mark, waits});
    }
    std::string extend(std::string const& who)
    {
        return ask(redis::scripts::shared_extend, {"lock"}, {who, long_time});
    }
    std::string downgrade(std::string const& who)
    {
        return ask(redis::scripts::downgrade, {"lock"}, {who, long_time});
    }
    std::string release(std::string const& who, std::string const& waits_on = "0")
    {
        return ask(redis::scripts::shared_release, {"lock", "gate"}, {who, mark, waits_on, "1"});
    }
    void forbid(std::string const& command) { node.command({"ACL", "SETUSER", "default", "-" + command}); }
    std::string whose() { return ask(redis::scripts::whose, {"lock"}, {}); }
    std::string vote_of_plain_lock() { return node.command({"SET", "lock", c, "NX", "PX", long_time}); }
    bool marked(std::string const& who) { return node.command({"ZSCORE", "gate", who}) != "(nil)"; }
    long long now()
    {
        return std::stoll(node.command(
            {"EVAL", "local t = redis.call('time') return t[1] * 1000 + math.floor(t[2] / 1000)", "0"}));
    }
    /// A mark that is left anew ends at another moment.
    void let_clock_go_on()
    {
        for (auto const before = now(); now() == before;)
            continue;
    }
    /// In seconds from now on.
    void leave_mark(std::string const& who, int seconds)
    {
        node.command({"ZADD", "gate", std::to_string(now() + 1000LL * seconds), who});
        node.command({"PEXPIRE", "gate", long_time});
    }
    /// Of the readers' turn, in milliseconds.
    long long turn_left() { return std::stoll(node.command({"ZSCORE", "gate", "turn"})) - now(); }

    std::string const a = std::string(32, 'a');
    std::string const b = std::string(32, 'b');
    std::string const c = std::string(32, 'c');
    redis_server server;
    probe node{server.port()};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(shared_scripts, shared_key)

/// S1: the key ends with the last of them, whoever came last.
BOOST_AUTO_TEST_CASE(readers_keep_key_as_long_as_the_last_of_them)
{
    BOOST_TEST(read(a, long_time) == "1");
    BOOST_TEST(read(b, short_time) == "1");
    BOOST_TEST(node.pttl("lock") > 3'500'000);
    BOOST_TEST(release(a) == "1");
    BOOST_TEST(node.pttl("lock") <= 1'800'000);
    BOOST_TEST(node.pttl("lock") > 1'700'000);
    BOOST_TEST(release(b) == "1");
    BOOST_TEST(!node.exists("lock"));
}

BOOST_AUTO_TEST_CASE(readers_and_other_locks_exclude_each_other)
{
    BOOST_TEST(read(a) == "1");
    BOOST_TEST(vote_of_plain_lock() == "(nil)");
    BOOST_TEST(write(b).starts_with("HELD 3"));
    BOOST_TEST(write(b).ends_with(" 0 READERS"));
    BOOST_TEST(release(a) == "1");
    BOOST_TEST(vote_of_plain_lock() == "OK");
    BOOST_TEST(read(a).ends_with(" 0 cccccccc"));
    BOOST_TEST(write(b).ends_with(" 0 cccccccc"));
}

/// S4: a set whose key ends with the last of its members.
BOOST_AUTO_TEST_CASE(question_whose_key_it_is_tells_readers_from_other_data)
{
    BOOST_TEST(whose() == "NONE");
    read(a);
    read(b, short_time);
    auto const before = node.command({"DUMP", "lock"});
    BOOST_TEST(whose() == "READERS");
    BOOST_TEST((node.command({"DUMP", "lock"}) == before));
    node.command({"PEXPIRE", "lock", short_time}); // of the one that ends first
    BOOST_TEST(whose().find("WRONGTYPE this is no lock: lock") != std::string::npos);
    node.command({"PERSIST", "lock"});
    BOOST_TEST(whose().find("WRONGTYPE this is no lock: lock") != std::string::npos);
    node.command({"DEL", "lock"});
    node.command({"RPUSH", "lock", "1"});
    node.command({"PEXPIRE", "lock", short_time});
    BOOST_TEST(whose().find("WRONGTYPE") != std::string::npos);
    node.command({"DEL", "lock"});
    write(c);
    BOOST_TEST(whose() == c);
}

/// S14, and what ends it.
BOOST_AUTO_TEST_CASE(writer_that_waits_keeps_new_readers_out)
{
    read(a);
    write(b);
    BOOST_TEST(read(c).ends_with(" 0 WRITER"));
    BOOST_TEST(extend(a) == "1"); // who reads goes on
    release(a);
    BOOST_TEST(read(c).ends_with(" 0 WRITER"));
    BOOST_TEST(write(b) == "1");
    BOOST_TEST(!marked("writer"));
}

BOOST_AUTO_TEST_CASE(vote_that_is_taken_back_keeps_new_readers_out)
{
    BOOST_TEST(write(b) == "1");
    BOOST_TEST(release(b, "1") == "1");
    BOOST_TEST(!node.exists("lock"));
    BOOST_TEST(read(c).ends_with(" 0 WRITER"));
}

/// S15.
BOOST_AUTO_TEST_CASE(readers_that_were_kept_out_come_before_next_writer)
{
    write(a);
    read(b);
    write(c);
    release(a);
    BOOST_TEST(write(c).ends_with(" 0 READERS"));
    BOOST_TEST(read(b) == "1");
    release(b);
    BOOST_TEST(write(c).ends_with(" 0 READERS"));
    BOOST_TEST(read(b) == "1");
    release(b);
    leave_mark("turn", -1);
    BOOST_TEST(write(c) == "1");
    BOOST_TEST(release(c) == "1");
    BOOST_TEST(write(c) == "1"); // one turn for each mark
}

BOOST_AUTO_TEST_CASE(turn_lasts_as_long_as_its_farthest_reader_needs)
{
    write(a);
    read(b, long_time, need);
    read(c, long_time, "1");
    release(a);
    BOOST_TEST(turn_left() > 400'000);
    BOOST_TEST(turn_left() <= 450'000);
    leave_mark("turn", -1);
    write(a);
    read(b, long_time, "3000000");
    release(a);
    BOOST_TEST(turn_left() > 850'000);
    BOOST_TEST(turn_left() <= 900'000); // no longer than a mark
}

/// A vote in vain, or a reader that leaves, is one of many.
BOOST_AUTO_TEST_CASE(reader_that_leaves_takes_no_mark_of_others)
{
    write(a);
    read(b);
    BOOST_TEST(release(b) == "0");
    BOOST_TEST(marked("reader"));
    release(a);
    BOOST_TEST(read(b) == "1");
    BOOST_TEST(release(b) == "1");
    BOOST_TEST(turn_left() > 0);
}

/// Whoever is refused last does not shorten the marks of those before.
BOOST_AUTO_TEST_CASE(gate_lives_as_long_as_its_longest_mark)
{
    write(a);
    read(b);
    write(c);
    BOOST_TEST(node.pttl("gate") > 3'500'000);
}

/// Each change of the gate wakes all who wait.
BOOST_AUTO_TEST_CASE(fresh_mark_is_not_left_anew)
{
    write(a);
    read(b);
    write(c);
    auto const before = node.command({"DUMP", "gate"});
    let_clock_go_on();
    read(b);
    write(c);
    BOOST_TEST((node.command({"DUMP", "gate"}) == before));
}

BOOST_AUTO_TEST_CASE(mark_that_is_fresh_outlasts_a_vote_that_is_taken_back)
{
    leave_mark("writer", 900);
    auto const before = node.command({"ZSCORE", "gate", "writer"});
    let_clock_go_on();
    node.command({"SET", "lock", a, "PX", long_time});
    release(a, "1");
    BOOST_TEST(node.command({"ZSCORE", "gate", "writer"}) == before);
}

BOOST_AUTO_TEST_CASE(who_does_not_wait_leaves_no_mark)
{
    write(a);
    BOOST_TEST(read(b, long_time, "0").ends_with(" 0 aaaaaaaa"));
    BOOST_TEST(write(c, "0").ends_with(" 0 aaaaaaaa"));
    BOOST_TEST(!node.exists("gate"));
}

/// Whoever waits for a shorter lease does not shorten the wait of others.
BOOST_AUTO_TEST_CASE(mark_of_readers_keeps_its_later_end)
{
    write(a);
    read(b, long_time);
    read(c, "1");
    BOOST_TEST(std::stoll(node.command({"ZSCORE", "gate", "reader"})) - now() > 3'500'000);
}

BOOST_AUTO_TEST_CASE(need_of_readers_that_have_gone_is_forgotten)
{
    write(a);
    read(b);
    leave_mark("reader", -1);
    read(c, long_time, "1000");
    release(a);
    BOOST_TEST(turn_left() <= 1000);
}

BOOST_AUTO_TEST_CASE(others_data_are_no_gate)
{
    for (std::vector<std::string> const& data :
         {std::vector<std::string>{"ZADD", "gate", "1", "theirs"}, {"RPUSH", "gate", "theirs"}}) {
        node.command({"DEL", "lock", "gate"});
        write(a);
        node.command(data);
        auto const before = node.command({"DUMP", "gate"});
        BOOST_TEST(read(b).find("WRONGTYPE this is no gate of a lock: gate") != std::string::npos);
        BOOST_TEST(write(b).find("WRONGTYPE this is no gate of a lock: gate") != std::string::npos);
        for (std::string const waits_on : {"0", "1"}) {
            node.command({"SET", "lock", a, "PX", long_time});
            BOOST_TEST(release(a, waits_on) == "1");
            BOOST_TEST(!node.exists("lock"));
        }
        BOOST_TEST((node.command({"DUMP", "gate"}) == before));
    }
}

/// They would keep the lock shut for as long as that.
BOOST_AUTO_TEST_CASE(marks_from_before_clock_was_set_back_do_not_count)
{
    leave_mark("writer", 10'000);
    BOOST_TEST(read(a) == "1");
    release(a);
    leave_mark("turn", 10'000);
    BOOST_TEST(write(a) == "1");
}

BOOST_AUTO_TEST_CASE(writers_mark_from_before_clock_was_set_back_is_left_anew)
{
    read(a);
    leave_mark("writer", 10'000);
    write(b);
    BOOST_TEST(read(c).ends_with(" 0 WRITER"));
}

/// Its nonce may be that of other readers, too.
BOOST_AUTO_TEST_CASE(release_of_a_writer_removes_no_reader)
{
    read(a);
    BOOST_TEST(ask(redis::scripts::shared_release, {"lock", "gate"}, {a, mark, "0", "0"}) == "0");
    BOOST_TEST(node.exists("lock"));
}

BOOST_AUTO_TEST_CASE(writer_that_kept_nobody_out_opens_no_turn)
{
    write(a);
    release(a);
    BOOST_TEST(write(c) == "1");
}

/// S6: never who is not there any more.
BOOST_AUTO_TEST_CASE(writer_is_released_by_itself_alone)
{
    write(a);
    BOOST_TEST(release(b) == "0");
    BOOST_TEST(release(a) == "1");
}

BOOST_AUTO_TEST_CASE(extension_adds_no_reader)
{
    read(a, short_time);
    BOOST_TEST(extend(b) == "0");
    BOOST_TEST(extend(a) == "1");
    BOOST_TEST(node.pttl("lock") > 3'500'000);
    release(a);
    BOOST_TEST(extend(a) == "0");
    BOOST_TEST(!node.exists("lock"));
    write(c);
    BOOST_TEST(extend(a) == "0");
    BOOST_TEST((node.get("lock") == c));
}

BOOST_AUTO_TEST_CASE(extension_leaves_writer_what_it_is)
{
    write(a);
    node.command({"PEXPIRE", "lock", short_time});
    BOOST_TEST(extend(a) == "1");
    BOOST_TEST((node.get("lock") == a));
    BOOST_TEST(node.pttl("lock") > 3'500'000);
}

/// S12.
BOOST_AUTO_TEST_CASE(writer_becomes_a_reader_in_one_step)
{
    write(a);
    BOOST_TEST(downgrade(b) == "0");
    BOOST_TEST(downgrade(a) == "1");
    BOOST_TEST(downgrade(a) == "1"); // said again
    BOOST_TEST(downgrade(b) == "0");
    BOOST_TEST(read(b) == "1");
    BOOST_TEST(vote_of_plain_lock() == "(nil)");
    BOOST_TEST(release(a) == "1");
    BOOST_TEST(release(b) == "1");
}

BOOST_AUTO_TEST_CASE(downgrade_that_is_not_permitted_changes_nothing)
{
    write(a);
    for (std::string const right : {"zadd", "pexpireat"}) {
        forbid(right);
        BOOST_TEST(downgrade(a) != "1");
        BOOST_TEST((node.get("lock") == a));
        node.command({"ACL", "SETUSER", "default", "+" + right});
    }
}

/// No set may be left that never expires.
BOOST_AUTO_TEST_CASE(reader_whose_end_may_not_be_set_changes_nothing)
{
    forbid("pexpireat");
    BOOST_TEST(read(a) != "1");
    BOOST_TEST(!node.exists("lock"));
}

/// Nor a gate: all votes would fail there.
BOOST_AUTO_TEST_CASE(mark_whose_end_may_not_be_set_is_not_left)
{
    for (std::string const right : {"pttl", "pexpire"}) {
        write(a);
        forbid(right);
        BOOST_TEST(write(c) != "1");
        BOOST_TEST(read(b) != "1");
        BOOST_TEST(release(a, "1") != "1");
        BOOST_TEST(!node.exists("gate"));
        node.command({"ACL", "SETUSER", "default", "+" + right});
    }
}

BOOST_AUTO_TEST_CASE(vote_of_writer_that_may_remove_no_mark_stands)
{
    forbid("zrem");
    BOOST_TEST(write(a) == "1");
    BOOST_TEST((node.get("lock") == a));
}

BOOST_AUTO_TEST_CASE(others_data_are_left_alone)
{
    for (std::vector<std::string> const& data : {std::vector<std::string>{"ZADD", "lock", "1", "theirs"},
                                                 {"RPUSH", "lock", "theirs"},
                                                 {"SET", "lock", "theirs"},
                                                 {"SADD", "lock", "theirs"},
                                                 {"HSET", "lock", "theirs", "1"}}) {
        node.command({"DEL", "lock", "gate"});
        node.command(data);
        auto const before = node.command({"DUMP", "lock"});
        BOOST_TEST(read(a).starts_with("HELD -1 0 "));
        BOOST_TEST(write(a).starts_with("HELD -1 0 "));
        BOOST_TEST(write(a).find("READERS") == std::string::npos);
        BOOST_TEST(downgrade(a) == "0");
        BOOST_TEST(extend(a) == "0");
        BOOST_TEST(release(a) == "0");
        BOOST_TEST((node.command({"DUMP", "lock"}) == before));
        node.command({"PEXPIRE", "lock", long_time});
        BOOST_TEST(read(a).starts_with("HELD 3"));
        BOOST_TEST((node.command({"DUMP", "lock"}) == before));
    }
}

/// Its scores are times, as ours are, but the key does not go with the last of them.
BOOST_AUTO_TEST_CASE(others_set_of_times_is_left_alone)
{
    node.command({"ZADD", "lock", std::to_string(now()), "theirs"});
    BOOST_TEST(read(a).starts_with("HELD -1 0 "));
    BOOST_TEST((node.command({"ZRANGE", "lock", "0", "-1"}).find("theirs") != std::string::npos));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

// SPDX-License-Identifier: BSL-1.0
// The queue of a lock as its scripts keep it: exclusive owners, polling waiters, other data.
#include "component/queue_nodes.hpp"
#include "component/script_times.hpp"
#include "redis/scripts.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

namespace redlock::test {

namespace {

struct queue : queue_nodes {
    /// Each of them is heard.
    void listen(std::string const& all)
    {
        for (char const who : all)
            queue_nodes::listen(who);
    }
    void stand(std::string const& all, char kind = 'x')
    {
        for (char const who : all)
            BOOST_TEST(enter(who, kind).starts_with("LINE "));
    }
    /// A polling position, as it is stored.
    static std::string polled(char who, char kind, char mark, std::chrono::milliseconds ago)
    {
        using namespace std::chrono;
        auto const date = duration_cast<milliseconds>(system_clock::now().time_since_epoch() - ago).count();
        return polling(who, kind) + mark + std::to_string(date);
    }
    void put(words const& positions)
    {
        for (std::string const& each : positions)
            administer({"ZADD", "queue", std::to_string(++last_score_), each});
        administer({"PEXPIRE", "queue", "60000"});
    }

private:
    int last_score_ = 0;
};

constexpr std::chrono::milliseconds just_now{0};
constexpr std::chrono::milliseconds long_ago{1200};

} // namespace

BOOST_FIXTURE_TEST_SUITE(queue_scripts, queue)

// rule Q4
BOOST_AUTO_TEST_CASE(release_calls_the_first_and_tells_the_second)
{
    listen("bc");
    BOOST_TEST(set('a') == "OK");
    BOOST_TEST(enter('b', 'x') == "LINE # 0 aaaaaaaa");
    BOOST_TEST(enter('c', 'x') == "LINE # 1 aaaaaaaa");
    BOOST_TEST(give_back('a', 'x') == "2");
    BOOST_TEST(heard('b') == "take ME 17 a");
    BOOST_TEST(heard('c') == "first ME #");
    BOOST_TEST(state() == "string b; zset [cx#c]; none");
    BOOST_TEST(left("lock") <= 50'000);
}

// rule Q2
BOOST_AUTO_TEST_CASE(position_is_kept_by_a_waiter_that_asks_again)
{
    listen("bc");
    set('a');
    stand("bc");
    administer({"PEXPIRE", "queue", "1000"});
    BOOST_TEST(enter('b', 'x') == "LINE # 0 aaaaaaaa");
    BOOST_TEST(enter('c', 'x') == "LINE # 1 aaaaaaaa");
    BOOST_TEST(left("queue") > 50'000);
    BOOST_TEST(state("queue") == "zset [bx#b, cx#c]");
}

// rule Q6
BOOST_AUTO_TEST_CASE(claim_takes_the_lock_from_the_previous_owner_only)
{
    set('a');
    BOOST_TEST(vote('b', 'x', 'c') == "HELD # 0 aaaaaaaa");
    BOOST_TEST(vote('b', 'x', 'b') == "HELD # 0 aaaaaaaa");
    BOOST_TEST(vote('b', 'x') == "HELD # 0 aaaaaaaa");
    BOOST_TEST(state("lock") == "string a");
    BOOST_TEST(vote('b', 'x', 'a') == "1");
    BOOST_TEST(state("lock") == "string b");
    BOOST_TEST(vote('a', 'x', 'a') == "HELD # 0 bbbbbbbb");
}

BOOST_AUTO_TEST_CASE(claim_keeps_the_lock_for_its_whole_time)
{
    listen("b");
    set('a');
    stand("b");
    give_back('a', 'x');
    BOOST_TEST(left("lock") <= 50'000);
    BOOST_TEST(vote('b', 'x', 'a') == "1");
    BOOST_TEST(left("lock") > nearly_a_lock);
    administer({"DEL", "lock"});
    BOOST_TEST(vote('b', 'x', 'a') == "1");
    BOOST_TEST(left("lock") > nearly_a_lock);
}

// rules Q3 and K10
BOOST_AUTO_TEST_CASE(dead_waiters_are_passed)
{
    listen("bcde");
    set('a');
    stand("bcde");
    hang_up('b');
    hang_up('d');
    BOOST_TEST(give_back('a', 'x') == "2");
    BOOST_TEST(heard('c') == "take ME 17 a");
    BOOST_TEST(heard('e') == "first ME #");
    BOOST_TEST(state() == "string c; zset [ex#e]; none");
    hang_up('e');
    BOOST_TEST(give_back('c', 'x') == "1");
    BOOST_TEST(state() == "none; none; none");
}

BOOST_AUTO_TEST_CASE(more_dead_waiters_than_are_looked_at_at_once_are_passed)
{
    for (char who = 'a'; who != 'z'; ++who)
        put({position(who, 'x')});
    listen("z");
    put({position('z', 'x')});
    BOOST_TEST(enter('A', 'x') == "LINE # 0 zzzzzzzz");
    BOOST_TEST(heard('z') == "take ME 0 ME");
    BOOST_TEST(state("lock") == "string z");
}

// rule Q2
BOOST_AUTO_TEST_CASE(free_lock_is_given_to_the_waiter_that_enters)
{
    BOOST_TEST(enter('b', 'x') == "1");
    BOOST_TEST(state() == "string b; none; none");
    BOOST_TEST(left("lock") <= 50'000);
    BOOST_TEST(enter('b', 'x') == "1"); // it did not hear of it
    BOOST_TEST(enter('c', 'x') == "LINE # 0 bbbbbbbb");
}

// rule Q2
BOOST_AUTO_TEST_CASE(entry_serves_the_positions_before_it)
{
    listen("bcd");
    set('a');
    stand("bc");
    administer({"DEL", "lock"});
    BOOST_TEST(enter('d', 'x') == "LINE # 1 bbbbbbbb");
    BOOST_TEST(heard('b') == "take ME 0 ME");
    BOOST_TEST(state() == "string b; zset [cx#c, dx#d]; none");
}

// rules Q11 and S9
BOOST_AUTO_TEST_CASE(release_of_another_nonce_changes_nothing)
{
    listen("b");
    set('a');
    stand("b");
    BOOST_TEST(give_back('c', 'x') == "0");
    BOOST_TEST(give_back('b', 'x') == "0");
    BOOST_TEST(state() == "string a; zset [bx#b]; none");
    BOOST_TEST(heard('b').empty());
}

// rule Q5
BOOST_AUTO_TEST_CASE(vote_that_is_taken_back_names_no_previous_owner)
{
    listen("b");
    set('a');
    stand("b");
    BOOST_TEST(give_back('a', 'x', "none") == "2");
    BOOST_TEST(heard('b') == "take ME 17 ME");
}

// rule Q12
BOOST_AUTO_TEST_CASE(first_that_leaves_is_followed_by_the_next)
{
    listen("bcd");
    set('a');
    stand("bcd");
    BOOST_TEST(leave('c', 'x') == "0");
    BOOST_TEST(heard('d').empty());
    BOOST_TEST(leave('b', 'x') == "0");
    BOOST_TEST(heard('d') == "first ME #");
    BOOST_TEST(state() == "string a; zset [dx#d]; none");
}

// rule Q12
BOOST_AUTO_TEST_CASE(called_waiter_that_leaves_hands_the_lock_on)
{
    listen("bc");
    set('a');
    stand("bc");
    give_back('a', 'x');
    heard('c');
    BOOST_TEST(leave('b', 'x') == "2");
    BOOST_TEST(heard('c') == "take ME 17 b");
    BOOST_TEST(leave('c', 'x') == "1");
    BOOST_TEST(state() == "none; none; none");
}

// rule Q19
BOOST_AUTO_TEST_CASE(open_window_leaves_the_lock_free)
{
    listen("bcd");
    set('a');
    stand("bcd");
    hang_up('b');
    BOOST_TEST(give_back('a', 'x', "free") == "1");
    BOOST_TEST(heard('c') == "free ME 17 a");
    BOOST_TEST(heard('d').empty());
    BOOST_TEST(state() == "none; zset [cx#c, dx#d]; none");
    BOOST_TEST(set('e') == "OK");
    BOOST_TEST(enter('c', 'x') == "LINE # 0 eeeeeeee");
}

// rule Q9
BOOST_AUTO_TEST_CASE(waiter_whose_claim_was_refused_comes_back_in_front)
{
    listen("bcd");
    set('a');
    stand("bc");
    BOOST_TEST(enter('d', 'x', 1, 1, "front") == "LINE # 0 aaaaaaaa");
    BOOST_TEST(enter('e', 'x', 1, 1, "front") == "LINE # 0 aaaaaaaa");
    BOOST_TEST(enter('f', 'x') == "LINE # 4 aaaaaaaa");
    BOOST_TEST(state("queue") == "zset [ex#e, dx#d, bx#b, cx#c, fx#f]");
}

// rule Q1
BOOST_AUTO_TEST_CASE(full_queue_lets_nobody_in)
{
    set('a');
    auto const enter_one_of = [&](std::string const& most, char who, std::string const& where = "") {
        return run(redis::scripts::enter, lock_and_queue, {position(who, 'x'), "60000", most, where});
    };
    put({position('b', 'x'), position('c', 'x')});
    for (std::string const where : {"", "front"}) {
        BOOST_TEST(enter_one_of("2", 'd', where) == "FULL");
        BOOST_TEST(state("queue") == "zset [bx#b, cx#c]");
    }
    BOOST_TEST(enter_one_of("2", 'c') == "LINE # 1 aaaaaaaa");
    BOOST_TEST(enter_one_of("1", 'c') == "LINE # 1 aaaaaaaa"); // it stands there already
    BOOST_TEST(enter_one_of("3", 'd') == "LINE # 2 aaaaaaaa");
}

BOOST_AUTO_TEST_CASE(longest_queue_is_kept)
{
    set('a');
    administer({"EVAL",
                "local some = {} for i = 1, 4095 do some[#some + 1] = i some[#some + 1] = "
                "string.format('%032d', i) .. 'x000050000010001none' if i % 819 == 0 then "
                "redis.call('zadd', 'queue', unpack(some)) some = {} end end",
                "0"});
    BOOST_TEST(enter('b', 'x') == "LINE # 4095 aaaaaaaa");
    BOOST_TEST(enter('c', 'x') == "FULL");
    BOOST_TEST(enter('c', 'r') == "FULL");
}

// rule Q1
BOOST_AUTO_TEST_CASE(queue_without_an_expiry_gets_one)
{
    set('a');
    administer({"ZADD", "queue", "1", position('b', 'x')});
    BOOST_TEST(enter('c', 'x') == "LINE # 1 aaaaaaaa");
    BOOST_TEST(left("queue") > 50'000);
}

/// The election's rule about its announcement.
// rule Q22
BOOST_AUTO_TEST_CASE(release_of_an_election_retracts_its_own_announcement)
{
    auto const resign = [&] {
        return run(redis::scripts::give_back, {"lock", "queue", "leader"},
                   {"x", nonce('a'), "", "take", "17", "", "7 "});
    };
    set('a');
    administer({"SET", "leader", "7 1 me"});
    BOOST_TEST(resign() == "1");
    BOOST_TEST(state("leader") == "none");
    administer({"SET", "leader", "7 2 me"});
    BOOST_TEST(set('b') == "OK");
    BOOST_TEST(resign() == "0"); // the next leader has not announced itself
    BOOST_TEST(state("leader") == "none");
    administer({"SET", "leader", "8 1 another"});
    BOOST_TEST(resign() == "0");
    BOOST_TEST(state("leader") == "string 8 1 another for ever");
    BOOST_TEST(state("lock") == "string b");
    administer({"DEL", "leader"});
    administer({"RPUSH", "leader", "other data"});
    administer({"SET", "lock", nonce('a')});
    listen("c");
    put({position('c', 'x')});
    BOOST_TEST(resign() == "2");
    BOOST_TEST(heard('c') == "take ME 17 a");
    BOOST_TEST(state("lock") == "string c");
}

BOOST_AUTO_TEST_CASE(lock_is_kept_for_a_polling_waiter_that_has_asked_as_the_first)
{
    set('a');
    BOOST_TEST(poll('b', 'x') == "LINE # 0 aaaaaaaa");
    BOOST_TEST(state("queue") == "zset [bx#!#]");
    BOOST_TEST(enter('c', 'x') == "LINE # 1 aaaaaaaa");
    BOOST_TEST(give_back('a', 'x') == "2");
    BOOST_TEST(state("lock") == "string b");
    BOOST_TEST(poll('b', 'x') == "1");
}

BOOST_AUTO_TEST_CASE(polling_waiter_that_has_not_asked_as_the_first_is_passed_over)
{
    listen("bde");
    set('a');
    stand("b");
    BOOST_TEST(poll('c', 'x') == "LINE # 1 aaaaaaaa");
    stand("d");
    BOOST_TEST(state("queue") == "zset [bx#b, cx#@#, dx#d]");
    BOOST_TEST(give_back('a', 'x') == "2");
    BOOST_TEST(give_back('b', 'x') == "2");
    BOOST_TEST(heard('d') == "take ME 17 b");
    BOOST_TEST(poll('c', 'x') == "LINE # 0 dddddddd");
    stand("e");
    BOOST_TEST(give_back('d', 'x') == "2");
    BOOST_TEST(state("lock") == "string c");
    BOOST_TEST(poll('c', 'x') == "1");
    BOOST_TEST(heard('e') == "first ME #");
}

BOOST_AUTO_TEST_CASE(polling_waiter_that_leaves_is_found_by_its_nonce)
{
    listen("d");
    set('a');
    poll('b', 'x');
    poll('c', 'x');
    stand("d");
    BOOST_TEST(give_back('c', 'x', "take", polling('c', 'x')) == "0");
    BOOST_TEST(heard('d').empty());
    BOOST_TEST(give_back('b', 'x', "take", polling('b', 'x')) == "0");
    BOOST_TEST(heard('d') == "first ME #");
    BOOST_TEST(state("queue") == "zset [dx#d]");
}

BOOST_AUTO_TEST_CASE(polling_waiter_that_asks_no_more_is_removed)
{
    listen("d");
    set('a');
    put({polled('b', 'x', '!', long_ago), polled('c', 'r', '@', -long_ago), position('d', 'x')});
    BOOST_TEST(give_back('a', 'x') == "2");
    BOOST_TEST(heard('d') == "take ME 17 a");
    BOOST_TEST(state("queue") == "none");
}

BOOST_AUTO_TEST_CASE(polling_waiter_that_asks_no_more_refuses_nobody)
{
    BOOST_TEST(vote('a', 'r') == "1");
    put({polled('b', 'x', '@', long_ago)});
    BOOST_TEST(vote('c', 'r') == "1");
    put({polled('b', 'x', '@', just_now)});
    BOOST_TEST(vote('d', 'r') == "QUEUED");
}

BOOST_AUTO_TEST_CASE(dead_polling_waiter_behind_the_first_is_not_told)
{
    listen("bd");
    set('a');
    put({position('b', 'x'), polled('c', 'x', '@', long_ago), position('d', 'x')});
    BOOST_TEST(give_back('a', 'x') == "2");
    BOOST_TEST(heard('d') == "first ME #");
    BOOST_TEST(state("queue") == "zset [dx#d]");
}

/// Another version of the library wrote the positions, or another program.
/// A client cannot read 2e+14.
// rules Q2 and S4
BOOST_AUTO_TEST_CASE(time_that_is_left_is_a_whole_number)
{
    administer({"SET", "lock", nonce('a'), "PX", "200000000000000"});
    BOOST_TEST(vote('b', 'x') == "HELD # 0 aaaaaaaa");
    BOOST_TEST(vote('b', 'r') == "HELD # 0 aaaaaaaa");
    BOOST_TEST(enter('b', 'x') == "LINE # 0 aaaaaaaa");
    administer({"DEL", "lock"});
    administer({"RPUSH", "lock", "any"});
    administer({"PEXPIRE", "lock", "200000000000000"});
    BOOST_TEST(vote('b', 'x') == "HELD # 0 ");
    BOOST_TEST(enter('b', 'x') == "LINE # 0 ");
}

/// A Redis 7.0 may find a key that has ended.
// rules Q2 and S4
BOOST_AUTO_TEST_CASE(time_that_is_left_is_not_negative)
{
    administer({"EVAL",
                "local time = redis.call('time') redis.call('zadd', 'lock', time[1] * 1000 + "
                "math.floor(time[2] / 1000) - 1, ARGV[1]) redis.call('pexpire', 'lock', 900)",
                "0", nonce('a')});
    BOOST_TEST(vote('b', {.limit = 1}) == "HELD 0 0 READERS");
}

/// Lua cannot unpack so many.
// rule Q2
BOOST_AUTO_TEST_CASE(large_hash_of_another_program_is_left_alone)
{
    administer({"EVAL", "for i = 1, 9000 do redis.call('hset', 'lock', 'field' .. i, '1') end", "0"});
    BOOST_TEST(enter('b', 'x') == "LINE -1 0 ");
    BOOST_TEST(enter('c', 'p') == "LINE -1 1 ");
    for (char const kind : {'x', 'r', 'p'})
        BOOST_TEST(give_back('a', kind) == "0");
    BOOST_TEST(administer({"HLEN", "lock"}) == "9000");
}

// rule Q1
BOOST_AUTO_TEST_CASE(positions_that_cannot_be_read_are_removed)
{
    std::string const known = position('b', 'x');
    for (std::string const& text :
         {std::string(), std::string("short"), nonce('b'), nonce('b') + 'x', known.substr(0, 47),
          known.substr(0, 48), nonce('b') + "y" + known.substr(33),
          nonce('b') + "x-000001" + known.substr(40), position('b', 'x', 1, 1, "0000000"),
          position('b', 'p', 0, 3), position('b', 'p', 4, 3),
          polled('b', 'x', '!', just_now).insert(61, "x").substr(0, 62)}) {
        reset();
        listen("bc");
        set('a');
        put({text, position('c', 'x')});
        BOOST_TEST_CONTEXT(text)
        {
            BOOST_TEST(give_back('a', 'x') == "2");
            BOOST_TEST(heard('c') == "take ME 17 a");
            BOOST_TEST(state() == "string c; none; none");
            administer({"DEL", "lock"});
            put({text});
            BOOST_TEST(vote('d', 'r') == "1");
            BOOST_TEST(state("queue") == "none");
        }
    }
}

BOOST_AUTO_TEST_CASE(position_that_cannot_be_read_is_not_entered)
{
    vote('a', 'r');
    std::string const said =
        run(redis::scripts::enter, lock_and_queue, {position('b', 'p', 2, 1), "60000", "4096", ""});
    BOOST_TEST(said.starts_with("-ERR this is no position in a queue"), said);
    BOOST_TEST(state() == "zset [a]; none; none");
}

// rules Q4, S4 and P1
BOOST_AUTO_TEST_CASE(other_data_under_the_locks_key_are_left_alone)
{
    listen("b");
    for (words const& deed : {words{"RPUSH", "lock", "1"},
                              {"ZADD", "lock", "1", "x"},
                              {"HSET", "lock", "a", "b"},
                              {"HSET", "lock", "0", nonce('c') + "1"}}) {
        reset();
        listen("b");
        administer(deed);
        auto const before = state();
        BOOST_TEST_CONTEXT(deed[0])
        {
            BOOST_TEST(set('a') == "(nil)");
            BOOST_TEST(vote('a', 'r') == "HELD -1 0 ");
            BOOST_TEST(vote('a', 'r', 'b') == "HELD -1 0 ");
            BOOST_TEST(vote('a', {.limit = 2}) == "HELD -1 0 ");
            BOOST_TEST(vote('a', 'p', 'b', {.limit = 2, .exact = "1"}) == "HELD -1 0 ");
            BOOST_TEST(vote('a', 'x', 'b') == "HELD -1 0 ");
            BOOST_TEST(renew('a', 'r') == "0");
            BOOST_TEST(renew('a', 'p', "0") == "0");
            for (char const kind : {'x', 'r', 'p'})
                BOOST_TEST(give_back('a', kind) == "0");
            BOOST_TEST(state() == before);
            for (char const kind : {'x', 'r', 'p'})
                BOOST_TEST(enter('b', kind).starts_with("LINE -1 "));
            BOOST_TEST(give_back('a', 'x') == "0");
            BOOST_TEST(heard('b').empty());
        }
    }
}

// rule Q1
BOOST_AUTO_TEST_CASE(other_data_under_the_queues_key_do_not_keep_a_lock)
{
    for (words const& deed :
         {words{"SET", "queue", "1"}, {"RPUSH", "queue", "1"}, {"HSET", "queue", "a", "b"}}) {
        reset();
        administer(deed);
        auto const before = state("queue");
        set('a');
        BOOST_TEST(enter('b', 'x').starts_with("-WRONGTYPE"));
        BOOST_TEST(state("lock") == "string a");
        BOOST_TEST(give_back('a', 'x') == "1");
        BOOST_TEST(vote('a', 'x', 'b') == "1");
        administer({"DEL", "lock"});
        for (char const kind : {'r', 'p'}) {
            BOOST_TEST(enter('b', kind).starts_with("-WRONGTYPE"));
            BOOST_TEST(vote('a', kind) == (kind == 'r' ? "1" : "GIVEN 1 0"));
            BOOST_TEST(give_back('a', kind) == "1");
            BOOST_TEST(state("lock") == "none");
        }
        BOOST_TEST(vote('a', 'r', 'a') == "1");
        BOOST_TEST(renew('a', 'r') == "1");
        BOOST_TEST(give_back('a', 'r') == "1");
        BOOST_TEST(vote('a', 'p', 'a', {.exact = "0"}) == "GIVEN 1 0");
        BOOST_TEST(give_back('a', 'p') == "1");
        BOOST_TEST(state("queue") == before);
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

// SPDX-License-Identifier: BSL-1.0
// Readers and writers in one queue.
#include "component/queue_nodes.hpp"
#include "component/script_times.hpp"
#include "redis/scripts.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace redlock::test {

BOOST_FIXTURE_TEST_SUITE(queue_readers, queue_nodes)

// rules S1 and S4
BOOST_AUTO_TEST_CASE(readers_are_together)
{
    BOOST_TEST(vote('a', 'r') == "1");
    BOOST_TEST(vote('b', 'r') == "1");
    BOOST_TEST(state("lock") == "zset [a, b]");
    BOOST_TEST(left("lock") > nearly_a_lock);
    BOOST_TEST(set('c') == "(nil)");
    BOOST_TEST(vote('c', 'x') == "HELD # 0 READERS");
    BOOST_TEST(vote('c', permit_words{}) == "HELD # 0 READERS");
    BOOST_TEST(give_back('a', 'r') == "1");
    BOOST_TEST(give_back('a', 'r') == "0");
    BOOST_TEST(give_back('b', 'r') == "1");
    BOOST_TEST(state() == "none; none; none");
    BOOST_TEST(set('c') == "OK");
    BOOST_TEST(vote('a', 'r') == "HELD # 0 cccccccc");
}

// rules S1 and S9
BOOST_AUTO_TEST_CASE(key_expires_with_the_last_reader)
{
    vote('a', 'r');
    run(redis::scripts::vote, lock_and_queue, {"r", nonce('b'), "1000000", ""});
    BOOST_TEST(left("lock") > nearly_a_lock);
    give_back('a', 'r');
    BOOST_TEST(left("lock") <= 1'000'000);
    BOOST_TEST(left("lock") > 500'000);
    vote('a', 'r');
    run(redis::scripts::vote, lock_and_queue, {"r", nonce('a'), "1000", ""}); // a late one
    BOOST_TEST(left("lock") > nearly_a_lock);
    BOOST_TEST(vote('c', 'r') == "1");
}

// rules Q4 and S4
BOOST_AUTO_TEST_CASE(ended_readers_are_removed)
{
    vote('a', 'r');
    vote('b', 'r');
    end_reader('a');
    BOOST_TEST(vote('c', 'r') == "1");
    BOOST_TEST(state("lock") == "zset [b, c]");
    end_reader('b');
    BOOST_TEST(renew('b', 'r') == "0");
    BOOST_TEST(vote('d', 'x', 'c') == "1");
}

// rules Q10 and S4
BOOST_AUTO_TEST_CASE(new_readers_pass_no_writer_that_waits)
{
    listen('b');
    vote('a', 'r');
    BOOST_TEST(enter('b', 'x') == "LINE # 0 READERS");
    BOOST_TEST(vote('c', 'r') == "QUEUED");
    BOOST_TEST(enter('c', 'r') == "LINE # 1 READERS");
    BOOST_TEST(state() == "zset [a]; zset [bx#b, cr#c]; none");
    BOOST_TEST(heard('b') == "first ME #"); // is it there?
    BOOST_TEST(enter('c', 'r') == "LINE # 1 READERS");
    BOOST_TEST(heard('b') == "first ME #");
}

// rules Q4 and S9
BOOST_AUTO_TEST_CASE(last_reader_calls_the_writer)
{
    listen('c');
    vote('a', 'r');
    vote('b', 'r');
    enter('c', 'x');
    BOOST_TEST(give_back('b', 'r') == "1");
    BOOST_TEST(heard('c').starts_with("first ME #"));
    BOOST_TEST(give_back('a', 'r') == "2");
    BOOST_TEST(heard('c') == "take ME 17 a");
    BOOST_TEST(state() == "string c; none; none");
    BOOST_TEST(vote('c', 'x', 'a') == "1");
}

// rule Q11
BOOST_AUTO_TEST_CASE(first_is_told_when_the_longest_reader_leaves)
{
    listen('c');
    vote('a', 'r');
    run(redis::scripts::vote, lock_and_queue, {"r", nonce('b'), "1000000", ""});
    enter('c', 'x');
    give_back('a', 'r');
    BOOST_TEST(heard('c') == "first ME #");
    vote('d', 'r', 'd'); // a late claim
    give_back('b', 'r');
    BOOST_TEST(heard('c').empty());
}

// rule Q4
BOOST_AUTO_TEST_CASE(reader_at_the_head_brings_all_readers_along)
{
    for (char const who : {'b', 'c', 'd', 'e'})
        listen(who);
    set('a');
    enter('b', 'r');
    enter('c', 'x');
    enter('d', 'r');
    enter('e', 'r');
    hang_up('e');
    BOOST_TEST(give_back('a', 'x') == "2");
    BOOST_TEST(heard('b') == "take ME 17 a");
    BOOST_TEST(heard('d') == "take ME 17 a");
    BOOST_TEST(heard('c') == "first ME #");
    BOOST_TEST(state() == "zset [b, d]; zset [cx#c]; none");
    BOOST_TEST(left("lock") <= 50'000);
    BOOST_TEST(vote('b', 'r', 'a') == "1");
    BOOST_TEST(left("lock") > nearly_a_lock);
    BOOST_TEST(give_back('d', 'r') == "1");
    BOOST_TEST(give_back('b', 'r') == "2");
    BOOST_TEST(heard('c') == "take ME 17 b");
}

// rule Q3
BOOST_AUTO_TEST_CASE(readers_that_are_called_have_the_longest_of_their_windows)
{
    listen('b');
    listen('c');
    set('a');
    enter('b', 'r');
    run(redis::scripts::enter, lock_and_queue, {position('c', 'r', 1, 1, "0900000"), "60000", "4096", ""});
    give_back('a', 'x');
    BOOST_TEST(left("lock") > 800'000);
    BOOST_TEST(left("lock") <= 900'000);
}

BOOST_AUTO_TEST_CASE(reader_that_enters_among_readers_is_one_of_them)
{
    listen('b');
    vote('a', 'r');
    BOOST_TEST(enter('c', 'r') == "1");
    BOOST_TEST(state() == "zset [c, a]; none; none");
    BOOST_TEST(enter('c', 'r') == "1"); // it did not hear of it
    end_reader('c');
    BOOST_TEST(enter('c', 'r') == "1");
}

// rule Q2
BOOST_AUTO_TEST_CASE(dead_writer_is_passed_by_a_reader_that_enters)
{
    listen('b');
    vote('a', 'r');
    enter('b', 'x');
    hang_up('b');
    BOOST_TEST(vote('c', 'r') == "QUEUED");
    BOOST_TEST(enter('c', 'r') == "1");
    BOOST_TEST(state() == "zset [c, a]; none; none");
}

// rule Q2
BOOST_AUTO_TEST_CASE(dead_writer_is_passed_by_a_reader_that_asks_again)
{
    listen('b');
    vote('a', 'r');
    enter('b', 'x');
    BOOST_TEST(enter('c', 'r') == "LINE # 1 READERS");
    hang_up('b');
    BOOST_TEST(enter('c', 'r') == "1");
    BOOST_TEST(state("queue") == "none");
}

/// It asks every few milliseconds.
// rules Q2 and Q18
BOOST_AUTO_TEST_CASE(polling_reader_asks_for_the_first_once)
{
    listen('b');
    vote('a', 'r');
    enter('b', 'x');
    BOOST_TEST(poll('c', 'r') == "LINE # 1 READERS");
    BOOST_TEST(heard('b') == "first ME #");
    BOOST_TEST(poll('c', 'r') == "LINE # 1 READERS");
    BOOST_TEST(heard('b').empty());
}

// rule Q10
BOOST_AUTO_TEST_CASE(dead_queue_of_a_free_lock_refuses_nobody)
{
    administer({"ZADD", "queue", "1", position('b', 'x'), "2", position('c', 'r'), "3", position('d', 'p')});
    BOOST_TEST(vote('a', 'r') == "1");
    BOOST_TEST(state() == "zset [a]; none; none");
}

// rule Q10
BOOST_AUTO_TEST_CASE(vote_serves_the_positions_before_it)
{
    listen('b');
    listen('c');
    set('a');
    enter('b', 'r');
    enter('c', 'x');
    administer({"DEL", "lock"});
    BOOST_TEST(vote('d', 'r') == "QUEUED");
    BOOST_TEST(heard('b') == "take ME 0 ME");
    BOOST_TEST(state() == "zset [b]; zset [cx#c]; none");
}

// rule Q6
BOOST_AUTO_TEST_CASE(writer_takes_a_set_only_if_all_readers_gave_it_up)
{
    vote('a', 'r');
    vote('b', 'r');
    for (char const previous_owner : {'a', 'b', 'c'})
        BOOST_TEST(vote('c', 'x', previous_owner) == "HELD # 0 READERS");
    BOOST_TEST(state("lock") == "zset [a, b]");
    give_back('a', 'r');
    BOOST_TEST(vote('c', 'x', 'a') == "HELD # 0 READERS");
    BOOST_TEST(vote('c', 'x', 'b') == "1"); // said again
    BOOST_TEST(state("lock") == "string c");
}

/// The previous owner was a reader here, or its vote came late.
BOOST_AUTO_TEST_CASE(writer_takes_a_set_of_itself_and_the_previous_owner)
{
    vote('a', 'r');
    vote('c', 'r');
    BOOST_TEST(vote('c', 'x', 'a') == "1");
}

// rule Q6
BOOST_AUTO_TEST_CASE(reader_takes_the_string_of_the_previous_owner)
{
    set('a');
    BOOST_TEST(vote('c', 'r', 'b') == "HELD # 0 aaaaaaaa");
    BOOST_TEST(state("lock") == "string a");
    BOOST_TEST(vote('c', 'r', 'a') == "1");
    BOOST_TEST(vote('d', 'r', 'a') == "1");
    BOOST_TEST(state("lock") == "zset [c, d]");
}

/// The claim may pass other positions: they were behind it.
// rule Q10
BOOST_AUTO_TEST_CASE(claim_of_a_reader_heeds_no_queue)
{
    administer({"ZADD", "queue", "1", position('b', 'x')});
    BOOST_TEST(vote('c', 'r', 'c') == "1");
    BOOST_TEST(state() == "zset [c]; zset [bx#b] for ever; none");
}

// rules Q10 and S5
BOOST_AUTO_TEST_CASE(writers_vote_heeds_no_queue)
{
    administer({"ZADD", "queue", "1", position('b', 'x')});
    BOOST_TEST(vote('c', 'x') == "1");
}

// rule S6
BOOST_AUTO_TEST_CASE(renewal_needs_a_reader_that_is_there)
{
    BOOST_TEST(renew('a', 'r') == "0");
    vote('a', 'r');
    administer({"EVAL",
                "local now = redis.call('time')[1] * 1000 redis.call('zadd', 'lock', now + 1000000, ARGV[1]) "
                "redis.call('pexpireat', 'lock', now + 1000000)",
                "0", nonce('a')});
    BOOST_TEST(renew('a', 'r') == "1");
    BOOST_TEST(left("lock") > nearly_a_lock);
    BOOST_TEST(renew('b', 'r') == "0");
    BOOST_TEST(state("lock") == "zset [a]");
    administer({"DEL", "lock"});
    set('b');
    BOOST_TEST(renew('a', 'r') == "0");
    BOOST_TEST(state("lock") == "string b");
}

// rules Q20 and S12
BOOST_AUTO_TEST_CASE(writer_that_becomes_a_reader_calls_all_readers)
{
    for (char const who : {'b', 'c', 'd'})
        listen(who);
    set('a');
    enter('b', 'r');
    enter('c', 'x');
    enter('d', 'r');
    administer({"PEXPIRE", "lock", "1000"});
    BOOST_TEST(renew('a', 'r') == "1");
    BOOST_TEST(left("lock") > nearly_a_lock);
    BOOST_TEST(heard('b') == "take ME 0 ME");
    BOOST_TEST(heard('d') == "take ME 0 ME");
    BOOST_TEST(heard('c').empty());
    BOOST_TEST(state() == "zset [b, d, a]; zset [cx#c]; none");
    BOOST_TEST(renew('a', 'r') == "1");
    BOOST_TEST(vote('e', 'r') == "QUEUED");
}

BOOST_AUTO_TEST_CASE(polling_reader_is_called_with_the_others)
{
    listen('c');
    set('a');
    poll('b', 'r');
    enter('c', 'r');
    poll('d', 'r');
    BOOST_TEST(give_back('a', 'x') == "2");
    BOOST_TEST(state("lock") == "zset [b, c]");
    BOOST_TEST(poll('b', 'r') == "1");
    BOOST_TEST(poll('d', 'r') == "1");
    BOOST_TEST(state() == "zset [b, c, d]; none; none");
}

// rule Q4
BOOST_AUTO_TEST_CASE(phase_has_as_many_readers_as_positions_are_looked_at)
{
    listen('a');
    set('b');
    administer({"EVAL",
                "for i = 1, 300 do redis.call('zadd', 'queue', i, string.format('%032d', i) .. "
                "'r005000000010001a') end",
                "0"});
    BOOST_TEST(give_back('b', 'x') == "2");
    BOOST_TEST(administer({"ZCARD", "lock"}) == "256");
    BOOST_TEST(administer({"ZCARD", "queue"}) == "44");
    BOOST_TEST(enter('c', 'r') == "1"); // and so were the other ones
    BOOST_TEST(state("queue") == "none");
}

/// The scores are times, as ours are, but the key does not expire with the last of them.
BOOST_AUTO_TEST_CASE(other_sets_of_times_are_no_readers)
{
    for (std::string const expiry : {"redis.call('pexpire', 'lock', 1000000)", ""}) {
        reset();
        administer({"EVAL",
                    "redis.call('zadd', 'lock', redis.call('time')[1] * 1000 + 3600000, ARGV[1]) " + expiry,
                    "0", nonce('a')});
        auto const before = state();
        std::string const refusal = expiry.empty() ? "HELD -1 0 " : "HELD # 0 ";
        BOOST_TEST(vote('b', 'r') == refusal);
        BOOST_TEST(vote('b', 'x', 'a') == refusal);
        BOOST_TEST(renew('a', 'r') == "0");
        BOOST_TEST(state() == before);
    }
}

// rule Q19
BOOST_AUTO_TEST_CASE(last_reader_may_open_a_window)
{
    listen('c');
    vote('a', 'r');
    vote('b', 'r');
    enter('c', 'x');
    BOOST_TEST(give_back('a', 'r', "free") == "1");
    BOOST_TEST(heard('c').empty());
    BOOST_TEST(give_back('b', 'r', "free") == "1");
    BOOST_TEST(heard('c') == "free ME 17 b");
    BOOST_TEST(state() == "none; zset [cx#c]; none");
}

// rule Q12
BOOST_AUTO_TEST_CASE(first_reader_that_leaves_lets_those_behind_in)
{
    listen('c');
    vote('a', 'r');
    listen('b');
    enter('b', 'x');
    enter('c', 'r');
    heard('b');
    BOOST_TEST(leave('b', 'x') == "0");
    BOOST_TEST(heard('c') == "take ME 17 ME");
    BOOST_TEST(state() == "zset [c, a]; none; none");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

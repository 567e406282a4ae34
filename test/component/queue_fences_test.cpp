// SPDX-License-Identifier: BSL-1.0
// Fences with the scripts of the queue (docs/protocol.md, rules F1 to F6 and S16).
#include "component/queue_nodes.hpp"
#include "component/script_times.hpp"
#include "redis/scripts.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>

namespace redlock::test {

namespace {

std::string const unusable = "-WRONGTYPE the fence is no number that can be counted on from: fence";

struct with_fence : queue_nodes {
    std::string fenced_vote(char who, char kind, std::string const& number, char previous_owner = '\0',
                            permit_words const& some = {})
    {
        return run(redis::scripts::vote, fenced,
                   {std::string(1, kind), nonce(who), lock_time,
                    previous_owner == '\0' ? "" : nonce(previous_owner), std::to_string(some.count),
                    std::to_string(some.limit), "0", some.exact, some.before, fence_time, number, marker});
    }
    std::string fenced_renewal(char who, char kind, std::string const& token, std::string const& some = "",
                               std::string const& how = "")
    {
        return run(redis::scripts::renew, fenced,
                   {std::string(1, kind), nonce(who), lock_time, some, fence_time, token, how, marker});
    }
    void put_fence(std::string const& number) { administer({"SET", "fence", number, "PX", fence_time}); }
    void put_fences(std::string const& numbers_of_0, std::string const& of_1)
    {
        administer({"HSET", "fence", "0", numbers_of_0, "1", of_1});
    }

    std::string marker{};
};

constexpr long long nearly_a_fence = 35'000'000;

} // namespace

BOOST_FIXTURE_TEST_SUITE(queue_fences, with_fence)

// rule Q22
BOOST_AUTO_TEST_CASE(grant_counts_above_the_fence)
{
    BOOST_TEST(fenced_vote('a', 'x', "7") == "7");
    BOOST_TEST(state() == "string a; none; string 7");
    BOOST_TEST(left("fence") > nearly_a_fence);
    BOOST_TEST(fenced_vote('b', 'x', "3") == "HELD # 7 aaaaaaaa");
    give_back('a', 'x');
    BOOST_TEST(fenced_vote('b', 'x', "3") == "8");
    BOOST_TEST(fenced_vote('c', 'x', "50", 'b') == "50");
    BOOST_TEST(state() == "string c; none; string 50");
}

// rule Q6
BOOST_AUTO_TEST_CASE(vote_is_granted_once)
{
    BOOST_TEST(fenced_vote('a', 'x', "7") == "7");
    BOOST_TEST(fenced_vote('a', 'x', "7") == "HELD # 7 aaaaaaaa");
    BOOST_TEST(fenced_vote('a', 'x', "7", 'a') == "8");
    BOOST_TEST(fenced_vote('b', 'x', "7", 'b') == "HELD # 8 aaaaaaaa");
    BOOST_TEST(fenced_vote('b', 'x', "7", 'c') == "HELD # 8 aaaaaaaa");
    BOOST_TEST(fenced_vote('b', 'x', "7", 'a') == "9");
    BOOST_TEST(state() == "string b; none; string 9");
}

BOOST_AUTO_TEST_CASE(vote_that_cannot_count_leaves_the_lock)
{
    std::string const no_time = "0";
    auto const vote = [&](std::string const& previous_owner) {
        return run(redis::scripts::vote, fenced,
                   {"x", nonce('a'), lock_time, previous_owner, no_time, "7", ""});
    };
    BOOST_TEST(vote("").starts_with("-ERR "));
    BOOST_TEST(state() == "none; none; none");
    set('b');
    BOOST_TEST(vote(nonce('b')).starts_with("-ERR "));
    BOOST_TEST(state() == "string b; none; none");
}

/// A client may lack the right to the queue.
BOOST_AUTO_TEST_CASE(exclusive_vote_does_not_use_the_queue)
{
    words const of_another_program{"RPUSH", "queue", "data"};
    administer(of_another_program);
    BOOST_TEST(fenced_vote('a', 'x', "7") == "7");
    BOOST_TEST(fenced_vote('b', 'x', "7") == "HELD # 7 aaaaaaaa");
    BOOST_TEST(fenced_vote('b', 'x', "7", 'a') == "8");
    reset();
    vote('a', 'r');
    administer(of_another_program);
    BOOST_TEST(fenced_vote('b', 'x', "7") == "HELD # 0 READERS");
    BOOST_TEST(fenced_vote('b', 'x', "7", 'a') == "7");
    BOOST_TEST(state("lock") == "string b");
}

// rule F3
BOOST_AUTO_TEST_CASE(proposal_does_not_lead_the_clock_by_far)
{
    std::string const no_clock = "8796093022000";
    BOOST_TEST(fenced_vote('a', 'x', no_clock) == "#");
    BOOST_TEST(
        administer({"EVAL", "return redis.call('get', 'fence') * 1 < redis.call('time')[1] * 1000 + 1900000",
                    "0"}) == "1");
    administer({"DEL", "fence", "lock"});
    BOOST_TEST(fenced_vote('a', 'p', no_clock) == "GIVEN # 0");
    BOOST_TEST(
        administer({"EVAL",
                    "return redis.call('hget', 'fence', 0) * 1 < redis.call('time')[1] * 1000 + 1900000",
                    "0"}) == "1");
}

// rules S16 and F6
BOOST_AUTO_TEST_CASE(another_marker_refuses_all)
{
    administer({"SET", "marker", "the node's"});
    marker = "another";
    for (char const kind : {'x', 'r', 'p'})
        BOOST_TEST(fenced_vote('a', kind, "7") == "STRANGER");
    BOOST_TEST(state() == "none; none; none");
    vote('a', 'r');
    BOOST_TEST(fenced_renewal('a', 'r', "7") == "STRANGER");
    administer({"DEL", "lock"});
    vote('a', permit_words{});
    BOOST_TEST(fenced_renewal('a', 'p', "7", "0") == "STRANGER");
    marker = "the node's";
    BOOST_TEST(fenced_renewal('a', 'p', "7", "0") == "2");
}

// rules S16 and F1
BOOST_AUTO_TEST_CASE(fence_that_is_no_number_refuses_all)
{
    for (std::string const number : {"some text", "", "-1", "nan", "8796093022208"})
        BOOST_TEST_CONTEXT(number)
        {
            reset();
            put_fence(number);
            for (char const kind : {'x', 'r', 'p'})
                BOOST_TEST(fenced_vote('a', kind, "7") == unusable);
            BOOST_TEST(state("lock") == "none");
            vote('a', 'r');
            BOOST_TEST(fenced_renewal('a', 'r', "7") == unusable);
            reset();
            put_fences("7", number);
            BOOST_TEST(fenced_vote('a', 'x', "7") == unusable);
            BOOST_TEST(fenced_vote('a', 'p', "7", '\0', {.count = 2, .limit = 2}) == unusable);
            BOOST_TEST(state("lock") == "none");
            BOOST_TEST(fenced_vote('a', 'p', "7", '\0', {.limit = 2}) == "GIVEN 8 0");
            vote('a', {.limit = 2});
            BOOST_TEST(fenced_renewal('a', 'p', "9", "0 1") == unusable);
        }
}

BOOST_AUTO_TEST_CASE(there_is_no_number_above_the_last)
{
    put_fence("8796093022207");
    BOOST_TEST(fenced_vote('a', 'x', "7") == unusable);
    BOOST_TEST(state("lock") == "none");
    BOOST_TEST(fenced_vote('a', 'r', "7") == "#"); // it does not count
}

BOOST_AUTO_TEST_CASE(other_data_under_a_fences_name_refuse_all)
{
    for (words const& deed : {words{"RPUSH", "fence", "1"}, {"ZADD", "fence", "1", "x"}}) {
        reset();
        administer(deed);
        for (char const kind : {'x', 'r', 'p'})
            BOOST_TEST(fenced_vote('a', kind, "7") == unusable);
        BOOST_TEST(state("lock") == "none");
    }
}

// rule Q22
BOOST_AUTO_TEST_CASE(claim_from_readers_counts)
{
    put_fence("7");
    vote('a', 'r');
    vote('b', 'r');
    BOOST_TEST(fenced_vote('c', 'x', "3", 'a') == "HELD # 7 READERS");
    give_back('b', 'r');
    BOOST_TEST(state("fence") == "string 7");
    BOOST_TEST(fenced_vote('c', 'x', "3", 'a') == "8");
    BOOST_TEST(state("lock") == "string c");
}

// rule S16
BOOST_AUTO_TEST_CASE(readers_take_the_number_of_the_writer_before_them)
{
    administer({"SET", "marker", "life/lineage/0/1000"});
    put_fence("500000000");
    BOOST_TEST(fenced_vote('a', 'r', "100") == "#");
    BOOST_TEST(administer({"GET", "fence"}) == "#");
    BOOST_TEST(administer({"EVAL", "return redis.call('get', 'fence') == '500000000' and 1 or 0", "0"}) ==
               "1");
    put_fence("7");
    BOOST_TEST(fenced_vote('b', 'r', "100") == "#"); // 1000 + 100, rounded up to half of the lock's time
    BOOST_TEST(administer({"EVAL", "return redis.call('get', 'fence') == '1800000' and 1 or 0", "0"}) == "1");
    administer({"SET", "marker", "no date"});
    put_fence("7");
    BOOST_TEST(fenced_vote('c', 'r', "100") == "7");
    administer({"DEL", "fence"});
    BOOST_TEST(fenced_vote('d', 'r', "100") == "#");
    BOOST_TEST(
        administer({"EVAL",
                    "local now = redis.call('time')[1] * 1000 local fence = redis.call('get', 'fence') * 1 "
                    "return fence > now and fence <= now + 1801000 and fence % 1800000 == 0 and 1 or 0",
                    "0"}) == "1");
}

/// Readers that come and go keep what they rely on.
BOOST_AUTO_TEST_CASE(vote_of_a_reader_keeps_the_fence)
{
    administer({"SET", "marker", "no date"});
    for (auto const& [before, then] : {std::pair{"40", "40"}, {"0", "1"}}) {
        administer({"DEL", "lock"});
        administer({"SET", "fence", before, "PX", "1000000"});
        BOOST_TEST(fenced_vote('a', 'r', "100") == then);
        BOOST_TEST(state("fence") == std::string("string ") + then);
        BOOST_TEST(left("fence") > nearly_a_fence);
    }
}

/// A reader's client does not mention permits, also if there are waiters for them.
BOOST_AUTO_TEST_CASE(vote_of_a_reader_calls_for_permits)
{
    listen('b');
    set('c');
    enter('b', 'p');
    administer({"DEL", "lock"});
    BOOST_TEST(run(redis::scripts::vote, fenced,
                   {"r", nonce('a'), lock_time, "", "", "", "", "", "", fence_time, "100", ""}) ==
               "HELD # 0 PERMITS");
    BOOST_TEST(heard('b').starts_with("take ME 0 ME"));
}

BOOST_AUTO_TEST_CASE(refused_vote_tells_the_fence_and_leaves_it)
{
    administer({"SET", "fence", "40", "PX", "1000000"});
    vote('a', 'r');
    BOOST_TEST(fenced_vote('b', 'x', "50") == "HELD # 40 READERS");
    administer({"DEL", "lock"});
    set('a');
    BOOST_TEST(fenced_vote('b', 'r', "50") == "HELD # 40 aaaaaaaa");
    BOOST_TEST(state() == "string a; none; string 40");
    BOOST_TEST(left("fence") <= 1'000'000);
}

// rule S16
BOOST_AUTO_TEST_CASE(renewal_of_readers_raises_the_fence_and_minds_no_higher_one)
{
    BOOST_TEST(fenced_renewal('a', 'r', "7") == "0");
    BOOST_TEST(state("fence") == "none");
    vote('a', 'r');
    BOOST_TEST(fenced_renewal('a', 'r', "7") == "1");
    BOOST_TEST(state("fence") == "string 7");
    put_fence("9");
    administer({"PEXPIRE", "fence", "1000"});
    BOOST_TEST(fenced_renewal('a', 'r', "7") == "1");
    BOOST_TEST(state("fence") == "string 9");
    BOOST_TEST(left("fence") > nearly_a_fence);
    administer({"DEL", "lock", "fence"});
    set('a');
    BOOST_TEST(fenced_renewal('a', 'r', "7") == "1"); // a writer before
    BOOST_TEST(state() == "zset [a]; none; string 7");
    administer({"DEL", "lock"});
    set('a');
    put_fence("9"); // by another reader
    BOOST_TEST(fenced_renewal('a', 'r', "7") == "1");
    BOOST_TEST(state() == "zset [a]; none; string 9");
}

// rule Q22
BOOST_AUTO_TEST_CASE(permits_count_above_the_highest_of_their_fences)
{
    BOOST_TEST(fenced_vote('a', 'p', "7", '\0', {.limit = 2}) == "GIVEN 7 0");
    BOOST_TEST(state() == "hash [0, a#, next, #]; none; hash [0, 7]");
    BOOST_TEST(left("fence") > nearly_a_fence);
    BOOST_TEST(fenced_vote('b', 'p', "3", '\0', {.limit = 2}) == "GIVEN 3 1");
    BOOST_TEST(fenced_vote('c', 'p', "3", '\0', {.limit = 2}) == "HELD # 0 PERMITS");
    BOOST_TEST(fenced_vote('c', 'p', "3", 'a', {.limit = 2, .exact = "0"}) == "GIVEN 8 0");
    give_back('b', 'p');
    give_back('c', 'p');
    BOOST_TEST(fenced_vote('d', 'p', "3", '\0', {.count = 2, .limit = 2}) == "GIVEN 9 0 1");
    BOOST_TEST(state("fence") == "hash [0, 9, 1, 9]");
}

// rules K10 and P5
BOOST_AUTO_TEST_CASE(renewal_of_permits_sets_fences_that_are_behind_and_yields_to_higher_ones)
{
    fenced_vote('a', 'p', "40", '\0', {.count = 2, .limit = 3});
    BOOST_TEST(fenced_renewal('a', 'p', "40", "0 1") == "1");
    administer({"HDEL", "fence", "1"});
    BOOST_TEST(fenced_renewal('a', 'p', "40", "0 1") == "2");
    BOOST_TEST(state("fence") == "hash [0, 40, 1, 40]");
    administer({"HSET", "fence", "1", "39"});
    BOOST_TEST(fenced_renewal('a', 'p', "40", "0 1") == "1");
    administer({"HSET", "fence", "1", "41"}); // somebody came after us
    administer({"PEXPIRE", "lock", "1000000"});
    BOOST_TEST(fenced_renewal('a', 'p', "40", "0 1") == "0");
    BOOST_TEST(left("lock") <= 1'000'000);
    BOOST_TEST(state("fence") == "hash [0, 40, 1, 41]");
    BOOST_TEST(fenced_renewal('a', 'p', "40", "0") == "1");
}

// rule F2
BOOST_AUTO_TEST_CASE(fences_of_permits_are_raised_without_a_renewal)
{
    fenced_vote('a', 'p', "40", '\0', {.count = 2, .limit = 3});
    administer({"PEXPIRE", "lock", "1000000"});
    BOOST_TEST(fenced_renewal('b', 'p', "50", "0", "raise") == "0");
    BOOST_TEST(fenced_renewal('a', 'p', "39", "0 1", "raise") == "0");
    BOOST_TEST(fenced_renewal('a', 'p', "50", "0 1", "raise") == "1");
    BOOST_TEST(state("fence") == "hash [0, 50, 1, 50]");
    BOOST_TEST(left("lock") <= 1'000'000);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

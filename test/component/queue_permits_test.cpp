// SPDX-License-Identifier: BSL-1.0
// Permits, alone and in one queue with other kinds.
#include "component/queue_nodes.hpp"
#include "component/script_times.hpp"
#include "redis/scripts.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace redlock::test {

namespace {

struct some_permits : queue_nodes {
    std::string give_up(char who, std::string const& some) { return give_back(who, 'p', "take", "", some); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(queue_permits, some_permits)

/// The waiter did not hear of its call in time.
// rule Q2
BOOST_AUTO_TEST_CASE(permits_that_have_ended_are_not_given_once_more)
{
    listen('b');
    for (bool const replaced : {false, true})
        BOOST_TEST_CONTEXT(replaced)
        {
            administer({"DEL", "lock"});
            vote('a', {.count = 2, .limit = 2});
            BOOST_TEST(enter('b', 'p', 2, 2) == "LINE # 0 PERMITS");
            BOOST_TEST(give_back('a', 'p') == "2");
            BOOST_TEST(enter('b', 'p', 2, 2) == "GIVEN 0 1");
            end_permit("0");
            if (replaced)
                administer({"HDEL", "lock", "0"});
            BOOST_TEST(enter('b', 'p', 2, 2) == "LINE # 0 PERMITS");
            leave('b', 'p', 2, 2);
        }
}

// rule P3
BOOST_AUTO_TEST_CASE(vote_is_given_as_many_permits_as_it_wants_or_none)
{
    BOOST_TEST(vote('a', {.count = 2, .limit = 3, .start = 1}) == "GIVEN 1 1 2");
    auto const before = state();
    BOOST_TEST(before == "hash [1, a#, 2, a#, next, #]; none; none");
    BOOST_TEST(vote('b', {.count = 2, .limit = 3}) == "HELD # 0 PERMITS");
    BOOST_TEST(state() == before);
    BOOST_TEST(vote('b', {.limit = 3}) == "GIVEN 1 0");
    BOOST_TEST(vote('c', {.limit = 3}) == "HELD # 0 PERMITS");
    BOOST_TEST(left("lock") > nearly_a_lock);
}

// rules Q6 and P1
BOOST_AUTO_TEST_CASE(permits_exclude_other_kinds)
{
    vote('a', {.limit = 3});
    BOOST_TEST(set('b') == "(nil)");
    BOOST_TEST(vote('b', 'x') == "HELD # 0 PERMITS");
    BOOST_TEST(vote('b', 'x', 'c') == "HELD # 0 PERMITS");
    BOOST_TEST(vote('b', 'r') == "HELD # 0 PERMITS");
    BOOST_TEST(vote('b', 'r', 'a') == "HELD # 0 PERMITS");
    BOOST_TEST(give_up('a', "0") == "1");
    BOOST_TEST(state() == "none; none; none");
    set('b');
    BOOST_TEST(vote('a', {.limit = 3}) == "HELD # 0 bbbbbbbb");
}

// rule P3
BOOST_AUTO_TEST_CASE(vote_looks_from_there_on_and_round)
{
    BOOST_TEST(vote('a', {.limit = 5, .start = 3}) == "GIVEN 1 3");
    BOOST_TEST(vote('b', {.count = 3, .limit = 5, .start = 4294967290}) == "GIVEN 1 0 1 2");
    BOOST_TEST(vote('c', {.limit = 5, .start = 3}) == "GIVEN 1 4");
}

// rule P3
BOOST_AUTO_TEST_CASE(last_of_many_permits_is_found)
{
    BOOST_TEST(vote('a', {.count = 19, .limit = 20}).starts_with("GIVEN 1 0 1 2 "));
    BOOST_TEST(vote('b', {.limit = 20, .start = 1}) == "GIVEN 1 19");
    BOOST_TEST(give_up('a', "0") == "1");
    BOOST_TEST(vote('b', {.limit = 20, .start = 1}) == "GIVEN 1 0");
}

// rule P9
BOOST_AUTO_TEST_CASE(number_of_permits_grows_at_once_and_shrinks_as_they_are_given_up)
{
    BOOST_TEST(vote('a', {.count = 3, .limit = 3}) == "GIVEN 1 0 1 2");
    BOOST_TEST(vote('b', {.limit = 2}) == "HELD # 0 PERMITS");
    give_up('a', "0");
    BOOST_TEST(vote('b', {.limit = 2}) == "HELD # 0 PERMITS");
    give_up('a', "1");
    BOOST_TEST(vote('b', {.limit = 2}) == "GIVEN 1 0");
    BOOST_TEST(vote('c', {.count = 2, .limit = 4}) == "GIVEN 1 1 3");
}

// rule P1
BOOST_AUTO_TEST_CASE(ended_permits_are_free)
{
    vote('a', {.limit = 2});
    vote('b', {.limit = 2});
    end_permit("0");
    BOOST_TEST(renew('a', 'p', "0") == "0");
    BOOST_TEST(vote('c', {.limit = 2}) == "GIVEN 1 0");
    BOOST_TEST(state("lock") == "hash [next, #, 1, b#, 0, c#]");
    end_permit("0");
    end_permit("1");
    BOOST_TEST(vote('d', 'r') == "1");
    BOOST_TEST(state("lock") == "zset [d]");
}

// rule Q6
BOOST_AUTO_TEST_CASE(exclusive_claim_replaces_permits_of_the_previous_owner_only)
{
    vote('a', {.count = 2, .limit = 3});
    vote('b', {.limit = 3});
    BOOST_TEST(vote('c', 'x', 'a') == "HELD # 0 PERMITS");
    end_permit("2");
    BOOST_TEST(vote('c', 'x', 'a') == "1");
    BOOST_TEST(state("lock") == "string c");
}

// rules Q6 and P3
BOOST_AUTO_TEST_CASE(claim_takes_each_permit_from_its_previous_owner_only)
{
    vote('a', {.limit = 3});
    vote('b', {.limit = 3});
    auto const before = state();
    for (char const previous_owner : {'a', 'b', 'c'})
        BOOST_TEST(vote('c', 'p', previous_owner, {.limit = 3, .exact = "0 1"}) == "HELD # 0 PERMITS");
    BOOST_TEST(state() == before);
    BOOST_TEST(vote('c', 'p', 'a', {.limit = 3, .exact = "0 2"}) == "GIVEN 1 0 2");
    BOOST_TEST(state("lock") == "hash [0, c#, next, #, 1, b#, 2, c#]");
    BOOST_TEST(vote('c', 'p', 'a', {.limit = 3, .exact = "0 2"}) == "GIVEN 1 0 2"); // said again
}

/// A waiter asks again at `next`: in vain, if only a claim window is over then.
// rule P1
BOOST_AUTO_TEST_CASE(next_tells_when_the_first_permit_ends)
{
    listen('b');
    enter('b', 'p');
    BOOST_TEST(state("lock") == "hash [0, b#, next, #]");
    vote('b', 'p', 'b', {.exact = "0"});
    BOOST_TEST(ends_first({"0"}) == "0");
    renew('b', 'p', "0");
    BOOST_TEST(ends_first({"0"}) == "0");

    vote('a', {.limit = 3, .start = 2});
    end_sooner("2");
    end_sooner("0");
    end_sooner("0");
    BOOST_TEST(ends_first({"0", "2"}) == "0");
    vote('b', 'p', 'b', {.limit = 3, .exact = "0 1"});
    BOOST_TEST(ends_first({"0", "1", "2"}) == "2");
    end_sooner("0");
    end_sooner("0");
    renew('b', 'p', "0 1");
    BOOST_TEST(ends_first({"0", "1", "2"}) == "2");
}

/// Reading many permits costs more than a waiter that asks once more.
// rule P1
BOOST_AUTO_TEST_CASE(next_is_a_lower_bound_where_there_are_many_permits)
{
    vote('a', {.count = 5, .limit = 5});
    end_sooner("0");
    renew('a', 'p', "0");
    BOOST_TEST(ends_first({"0", "1"}) == "");
}

// rule Q6
BOOST_AUTO_TEST_CASE(claim_of_permits_takes_the_string_of_the_previous_owner)
{
    set('a');
    BOOST_TEST(vote('c', 'p', 'b', {.exact = "0"}) == "HELD # 0 aaaaaaaa");
    BOOST_TEST(vote('c', 'p', 'a', {.exact = "0"}) == "GIVEN 1 0");
    BOOST_TEST(state("lock") == "hash [0, c#, next, #]");
    give_up('c', "0");
    vote('a', 'r');
    BOOST_TEST(vote('c', 'p', 'a', {.exact = "0"}) == "HELD # 0 READERS");
}

/// The queue node gave 3, and this node had given 2.
// rule Q14
BOOST_AUTO_TEST_CASE(exactly_named_permits_replace_those_that_were_given_before)
{
    BOOST_TEST(vote('a', {.count = 2, .limit = 5, .start = 2}) == "GIVEN 1 2 3");
    BOOST_TEST(vote('a', 'p', 'a', {.count = 2, .limit = 5, .exact = "3 4", .before = "2 3"}) ==
               "GIVEN 1 3 4");
    BOOST_TEST(state("lock") == "hash [3, a#, next, #, 4, a#]");
    BOOST_TEST(vote('b', 'p', 'b', {.count = 2, .limit = 5, .exact = "2 3"}) == "HELD # 0 PERMITS");
    BOOST_TEST(vote('b', {.limit = 5, .start = 2}) == "GIVEN 1 2");
    BOOST_TEST(vote('a', 'p', 'a', {.limit = 5, .exact = "0", .before = "2"}) ==
               "GIVEN 1 0"); // 2 is another's
    BOOST_TEST(state("lock") == "hash [3, a#, next, #, 4, a#, 2, b#, 0, a#]");
}

// rule Q5
BOOST_AUTO_TEST_CASE(permits_that_are_freed_go_on_without_a_name)
{
    listen('d');
    vote('a', {.limit = 2});
    vote('b', {.limit = 2});
    enter('d', 'p', 1, 2);
    give_back('b', 'p', "none", "", "7");
    administer({"HDEL", "lock", "1"});
    BOOST_TEST(vote('a', 'p', 'a', {.limit = 2, .exact = "1", .before = "0"}) == "GIVEN 1 1");
    BOOST_TEST(heard('d') == "take ME 0 ME 0");
    BOOST_TEST(state() == "hash [next, #, 1, a#, 0, d#]; none; none");
}

// rule Q4
BOOST_AUTO_TEST_CASE(permits_are_given_to_the_first_that_there_are_enough_for)
{
    listen('c');
    listen('d');
    vote('a', {.count = 2, .limit = 3});
    vote('b', {.limit = 3});
    BOOST_TEST(enter('c', 'p', 2, 3) == "LINE # 0 PERMITS");
    BOOST_TEST(enter('d', 'p', 1, 3) == "LINE # 1 PERMITS");
    BOOST_TEST(vote('e', {.limit = 3}) == "QUEUED");
    BOOST_TEST(give_up('a', "0 1") == "2");
    BOOST_TEST(heard('c') == "first ME #, take ME 17 a 0 1");
    BOOST_TEST(heard('d') == "first ME #");
    BOOST_TEST(vote('c', 'p', 'a', {.count = 2, .limit = 3, .exact = "0 1"}) == "GIVEN 1 0 1");
    BOOST_TEST(give_up('b', "2") == "2");
    BOOST_TEST(heard('d') == "take ME 17 b 2");
    BOOST_TEST(state() == "hash [next, #, 0, c#, 1, c#, 2, d#]; none; none");
}

// rule Q2
BOOST_AUTO_TEST_CASE(free_permits_are_given_to_the_waiter_that_enters)
{
    listen('b');
    BOOST_TEST(enter('a', 'p', 2, 3).starts_with("GIVEN "));
    BOOST_TEST(enter('a', 'p', 2, 3).starts_with("GIVEN ")); // it did not hear of it
    BOOST_TEST(enter('b', 'p', 2, 3) == "LINE # 0 PERMITS");
    BOOST_TEST(enter('c', 'p', 1, 3) == "LINE # 1 PERMITS"); // passes nobody
}

// rule Q7
BOOST_AUTO_TEST_CASE(nobody_passes_the_first_request)
{
    for (char const who : {'b', 's', 't'})
        listen(who);
    for (char const who : {'c', 'd', 'e', 'f'})
        vote(who, {.limit = 4});
    BOOST_TEST(enter('b', 'p', 3, 4) == "LINE # 0 PERMITS");
    enter('s', 'p', 1, 4);
    enter('t', 'x');
    BOOST_TEST(give_up('c', "0") == "1");
    BOOST_TEST(give_up('d', "1") == "1");
    BOOST_TEST(heard('s').empty());
    BOOST_TEST(give_up('e', "2") == "2");
    BOOST_TEST(heard('b') == "first ME #, take ME 17 e 0 1 2");
    BOOST_TEST(give_up('f', "3") == "2");
    BOOST_TEST(heard('s').ends_with("take ME 17 f 3"));
    BOOST_TEST(heard('t') == "first ME #");
}

// rule Q4
BOOST_AUTO_TEST_CASE(position_of_another_kind_is_not_passed)
{
    for (char const who : {'c', 'd'})
        listen(who);
    vote('a', {.limit = 2});
    enter('c', 'r');
    enter('d', 'p', 1, 2);
    vote('b', 'p', 'b', {.limit = 2, .exact = "1"});
    BOOST_TEST(give_up('b', "1") == "1");
    BOOST_TEST(state("queue") == "zset [cr#c, dp#d]");
}

/// The set is refused, and the permits that were given before are free.
// rules Q14 and P4
BOOST_AUTO_TEST_CASE(exactly_named_permits_that_are_refused_leave_none)
{
    listen('d');
    vote('a', {.limit = 2});
    vote('b', {.limit = 2});
    enter('d', 'p', 1, 2);
    BOOST_TEST(vote('a', 'p', 'a', {.limit = 2, .exact = "1", .before = "0"}) == "HELD # 0 PERMITS");
    BOOST_TEST(heard('d') == "take ME 0 ME 0");
    BOOST_TEST(state() == "hash [next, #, 1, b#, 0, d#]; none; none");
}

// rule Q4
BOOST_AUTO_TEST_CASE(more_requests_than_are_looked_at_at_once_are_served)
{
    for (bool const unreadable : {false, true}) {
        reset();
        set('a');
        if (unreadable)
            administer({"ZADD", "queue", "0", "?"});
        for (char who = 'b'; who != 'v'; ++who) {
            listen(who);
            enter(who, 'p', 1, 30);
        }
        BOOST_TEST(give_back('a', 'x') == "2");
        BOOST_TEST(administer({"HLEN", "lock"}) == "21");
        BOOST_TEST(state("queue") == "none");
    }
}

// rules Q3 and K10
BOOST_AUTO_TEST_CASE(dead_requests_are_passed)
{
    for (char const who : {'b', 'c', 'd', 'e'})
        listen(who);
    vote('a', {.limit = 2});
    vote('f', {.limit = 2});
    enter('b', 'p', 1, 2);
    enter('c', 'p', 2, 2);
    enter('d', 'p', 1, 2);
    enter('e', 'p', 1, 2);
    hang_up('b');
    hang_up('d');
    BOOST_TEST(give_up('a', "0") == "1");
    BOOST_TEST(give_up('f', "1") == "2");
    BOOST_TEST(heard('c') == "take ME 17 f 0 1");
    BOOST_TEST(give_up('c', "") == "2");
    BOOST_TEST(heard('e').ends_with("take ME 17 c 0"));
    BOOST_TEST(state("queue") == "none");
}

// rules Q2 and Q7
BOOST_AUTO_TEST_CASE(dead_request_is_passed_by_one_that_enters_or_asks_again)
{
    for (bool const stands : {false, true}) {
        reset();
        listen('b');
        vote('a', {.count = 2, .limit = 3});
        enter('b', 'p', 2, 3);
        if (stands)
            BOOST_TEST(enter('c', 'p', 1, 3) == "LINE # 1 PERMITS");
        hang_up('b');
        BOOST_TEST(enter('c', 'p', 1, 3) == "GIVEN 2");
        BOOST_TEST(state("queue") == "none");
    }
}

/// It would be told that it is the first, and be called in the same step.
// rule Q2
BOOST_AUTO_TEST_CASE(first_is_not_asked_where_permits_have_ended)
{
    listen('b');
    vote('a', {.limit = 1});
    enter('b', 'p', 1, 1);
    end_permit("0");
    BOOST_TEST(enter('c', 'p', 1, 1) == "LINE # 0 PERMITS");
    BOOST_TEST(heard('b') == "take ME 0 ME 0");
}

// rule Q1
BOOST_AUTO_TEST_CASE(kinds_share_one_order)
{
    for (char const who : {'b', 'c', 'd'})
        listen(who);
    set('a');
    enter('b', 'p', 1, 2);
    enter('c', 'p', 1, 2);
    enter('d', 'x');
    BOOST_TEST(give_back('a', 'x') == "2");
    BOOST_TEST(heard('b') == "take ME 17 a 0");
    BOOST_TEST(heard('c') == "take ME 17 a 1");
    BOOST_TEST(heard('d') == "first ME #");
    give_up('b', "0");
    BOOST_TEST(give_up('c', "1") == "2");
    BOOST_TEST(heard('d') == "take ME 17 c");
    BOOST_TEST(state() == "string d; none; none");
}

// rule Q10
BOOST_AUTO_TEST_CASE(reader_behind_permits_waits_for_them)
{
    listen('b');
    vote('a', {.limit = 2});
    BOOST_TEST(enter('b', 'r') == "LINE # 0 PERMITS");
    BOOST_TEST(vote('c', {.limit = 2}) == "QUEUED");
    BOOST_TEST(give_up('a', "0") == "2");
    BOOST_TEST(state() == "zset [b]; none; none");
}

// rule Q4
BOOST_AUTO_TEST_CASE(ended_permits_are_taken_by_other_kinds)
{
    listen('b');
    vote('a', {.limit = 2});
    enter('b', 'x');
    end_permit("0");
    BOOST_TEST(enter('b', 'x') == "1");
    BOOST_TEST(state() == "string b; none; none");
}

// rule P5
BOOST_AUTO_TEST_CASE(release_frees_permits_that_are_ours)
{
    vote('a', {.count = 2, .limit = 4});
    vote('b', {.limit = 4});
    auto const before = state();
    BOOST_TEST(give_up('b', "0 1") == "0");
    BOOST_TEST(give_up('c', "") == "0");
    BOOST_TEST(state() == before);
    BOOST_TEST(give_up('a', "1 2") == "1");
    BOOST_TEST(state("lock") == "hash [0, a#, next, #, 2, b#]");
    vote('a', {.limit = 4, .start = 3});
    BOOST_TEST(give_up('a', "") == "1");
    BOOST_TEST(state("lock") == "hash [next, #, 2, b#]");
}

// rule P5
BOOST_AUTO_TEST_CASE(renewal_needs_all_permits)
{
    vote('a', {.count = 2, .limit = 4});
    administer({"PEXPIRE", "lock", "1000000"});
    BOOST_TEST(renew('a', 'p', "0 2") == "0");
    BOOST_TEST(renew('b', 'p', "0 1") == "0");
    BOOST_TEST(left("lock") <= 1'000'000);
    BOOST_TEST(renew('a', 'p', "0 1") == "1");
    BOOST_TEST(left("lock") > nearly_a_lock);
    BOOST_TEST(state("lock") == "hash [0, a#, 1, a#, next, #]");
}

// rule P1
BOOST_AUTO_TEST_CASE(key_expires_no_sooner_than_the_last_permit)
{
    vote('a', {.limit = 4});
    run(redis::scripts::vote, lock_and_queue, {"p", nonce('b'), "1000000", "", "1", "4", "1", "", ""});
    BOOST_TEST(left("lock") > nearly_a_lock);
    BOOST_TEST(vote('c', {.count = 4, .limit = 4}) == "HELD # 0 PERMITS");
    run(redis::scripts::renew, lock_and_queue, {"p", nonce('b'), "1000000", "1"});
    BOOST_TEST(left("lock") > nearly_a_lock);
}

/// Somebody has written into the hash.
// rule P1
BOOST_AUTO_TEST_CASE(permit_whose_end_cannot_be_read_is_taken)
{
    vote('a', {.limit = 3});
    administer({"HSET", "lock", "1", "somebody", "next", "1"});
    BOOST_TEST(vote('b', {.count = 2, .limit = 3}) == "HELD # 0 PERMITS");
    BOOST_TEST(vote('b', {.limit = 3, .start = 1}) == "GIVEN 1 2");
    BOOST_TEST(vote('c', 'p', 'b', {.limit = 3, .exact = "1"}) == "HELD # 0 PERMITS");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

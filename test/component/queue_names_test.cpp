// SPDX-License-Identifier: BSL-1.0
// Several names besides other kinds of lock, and their queues (docs/protocol.md, rules M2, M3 and Q6).
#include "component/queue_nodes.hpp"
#include "component/script_times.hpp"
#include "redis/scripts.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace redlock::test {

namespace {

struct two_names : queue_nodes {
    std::string claim(char who, std::string const& previous = "")
    {
        return run(redis::scripts::multi_vote, {"other", "lock"}, {"2", nonce(who), lock_time, previous});
    }
    std::string fenced_claim(char who, std::string const& previous = "")
    {
        return run(redis::scripts::multi_vote, {"other", "lock", "other-fence", "fence", "marker"},
                   {"2", nonce(who), lock_time, previous, fence_time, "7", ""});
    }
    std::string release(char who, std::string const& word = "take")
    {
        return run(redis::scripts::multi_release, {"other", "lock", "other-queue", "queue"},
                   {nonce(who), "2", word, "17"});
    }
    void enter_other(char who, char kind)
    {
        run(redis::scripts::enter, {"other", "other-queue"}, {position(who, kind), "60000", "4096", ""});
    }
    void take(char who, bool permit) { permit ? vote(who, {.count = 1, .limit = 2}) : vote(who, 'r'); }
    std::string both() { return state("other") + "; " + state("lock"); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(queue_names, two_names)

// rule M2
BOOST_AUTO_TEST_CASE(claim_takes_readers_and_permits_only_if_all_gave_them_up)
{
    for (bool const permits : {false, true}) {
        std::string const held = std::string(permits ? "PERMITS" : "READERS");
        reset();
        take('a', permits);
        take('b', permits);
        for (std::string const& previous : {std::string(), nonce('a'), nonce('n'), nonce('a') + nonce('c')}) {
            BOOST_TEST(claim('n', previous) == "HELD # 0 1 " + held);
            BOOST_TEST(fenced_claim('n', previous) == "HELD # 0 1 " + held);
        }
        BOOST_TEST(state("other") == "none");
        BOOST_TEST(state("other-fence") == "none");
        BOOST_TEST(claim('n', nonce('a') + nonce('b')) == "1");
        BOOST_TEST(both() == "string n; string n");
        reset();
        take('a', permits);
        BOOST_TEST(fenced_claim('n', nonce('a')) == "7");
        BOOST_TEST(both() == "string n; string n");
    }
}

BOOST_AUTO_TEST_CASE(readers_and_permits_that_have_ended_are_not_in_the_way)
{
    take('a', false);
    take('b', false);
    end_reader('b');
    BOOST_TEST(claim('n', nonce('a')) == "1");
    reset();
    take('a', true);
    take('b', true);
    end_permit("1");
    BOOST_TEST(claim('n', nonce('a')) == "1");
    reset();
    take('a', true);
    end_permit("0");
    BOOST_TEST(claim('n') == "1");
}

// rule M2
BOOST_AUTO_TEST_CASE(claim_takes_no_data_of_other_programs)
{
    for (words const& deed : {words{"ZADD", "lock", "1", nonce('a')},
                              {"HSET", "lock", "0", nonce('a') + "1"},
                              {"RPUSH", "lock", nonce('a')}}) {
        reset();
        administer(deed);
        std::string const before = both();
        BOOST_TEST(claim('b', nonce('a')).starts_with("HELD "));
        BOOST_TEST(both() == before);
    }
}

// rules Q4 and M3
BOOST_AUTO_TEST_CASE(release_serves_the_queue_of_each_name)
{
    for (char const who : {'b', 'c', 'd', 'e'})
        listen(who);
    claim('a');
    enter_other('b', 'x');
    enter('c', 'r');
    enter('d', 'r');
    enter('e', 'x');
    BOOST_TEST(release('a') == "2");
    BOOST_TEST(both() == "string b; zset [c, d]");
    BOOST_TEST(heard('b') == "take ME 17 a");
    BOOST_TEST(heard('c') == "take ME 17 a");
    BOOST_TEST(heard('d') == "take ME 17 a");
    BOOST_TEST(heard('e') == "first ME #");
}

BOOST_AUTO_TEST_CASE(release_leaves_names_to_unqueued_clients)
{
    listen('b');
    claim('a');
    enter('b', 'x');
    BOOST_TEST(release('a', "free") == "1");
    BOOST_TEST(both() == "none; none");
    BOOST_TEST(heard('b') == "free ME 17 a");
}

BOOST_AUTO_TEST_CASE(waiters_that_do_not_hear_keep_no_name)
{
    claim('a');
    enter('b', 'x');
    BOOST_TEST(release('a') == "1");
    BOOST_TEST(both() == "none; none");
    BOOST_TEST(state("queue") == "none");
}

BOOST_AUTO_TEST_CASE(release_gives_back_what_is_ours)
{
    listen('b');
    claim('a');
    enter('b', 'x');
    administer({"DEL", "other"});
    BOOST_TEST(release('c') == "0");
    BOOST_TEST(release('a') == "3");
    BOOST_TEST(both() == "none; string b");
    BOOST_TEST(heard('b') == "take ME 17 a");
}

/// Without the rights to serve the queue, all names are freed.
// rule M3
BOOST_AUTO_TEST_CASE(release_that_may_not_serve_frees_the_names)
{
    for (bool const fast : {true, false}) {
        keep(fast);
        for (std::string const command : {"zrange", "zrem", "publish", "exists", "type"}) {
            reset();
            listen('b');
            claim('a');
            enter('b', 'x');
            enter_other('c', 'r');
            forbid(command);
            std::string const said = release('a');
            BOOST_TEST((said == "1" || said == "2" || said == "-NOPERM"), command << ": " << said);
            std::string const left = both();
            BOOST_TEST((said == "-NOPERM" || left.find("string a") == left.npos), command << ": " << left);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

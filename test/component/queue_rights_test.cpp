// SPDX-License-Identifier: BSL-1.0
// A script of the queue that lacks one right changes nothing by halves.
#include "component/queue_nodes.hpp"
#include "component/script_times.hpp"
#include "redis/scripts.hpp"

#include <boost/test/unit_test.hpp>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

namespace {

struct situation {
    std::string what;
    std::vector<words> before;
    redis::script script;
    words keys;
    words arguments;
};

struct rights : queue_nodes {
    /// They end before what a script adds, in any millisecond: their order is always the same.
    static words sorted(std::string const& key, words const& members)
    {
        words add{"EVAL",
                  "for i, each in ipairs(ARGV) do redis.call('zadd', KEYS[1], KEYS[1] == 'lock' and "
                  "redis.call('time')[1] * 1000 + 3599000 or i, each) end redis.call('pexpireat', KEYS[1], "
                  "redis.call('time')[1] * 1000 + 3599000)",
                  "1", key};
        add.insert(add.end(), members.begin(), members.end());
        return add;
    }
    static words permits(std::vector<std::pair<std::string, char>> const& all)
    {
        words add{
            "EVAL",
            "local ends = string.format('%.0f', redis.call('time')[1] * 1000 + 3600000) for i = 1, #ARGV, 2 "
            "do redis.call('hset', 'lock', ARGV[i], ARGV[i + 1] .. ends) end redis.call('hset', 'lock', "
            "'next', ends) redis.call('pexpireat', 'lock', ends)",
            "0"};
        for (auto const& [number, who] : all)
            add.insert(add.end(), {number, nonce(who)});
        return add;
    }
    static words held_by(char who) { return {"SET", "lock", nonce(who), "PX", lock_time}; }
    static words waiting(words const& all) { return sorted("queue", all); }

    static words vote_of(char who, char kind, char previous_owner, std::string const& exact = "",
                         std::string const& before = "")
    {
        return {std::string(1, kind),
                nonce(who),
                lock_time,
                previous_owner == '\0' ? "" : nonce(previous_owner),
                "1",
                "3",
                "0",
                exact,
                before,
                fence_time,
                "9",
                ""};
    }
    static words entry_of(char who, char kind) { return {position(who, kind), "60000", "4096", ""}; }
    static words release_of(char who, char kind, std::string const& some = "")
    {
        return {std::string(1, kind), nonce(who), "", "take", "17", some, ""};
    }

    std::vector<situation> situations() const
    {
        namespace scripts = redis::scripts;
        words const own{position('b', 'x')};
        return {
            {"claim of a lock", {held_by('b')}, scripts::vote, lock_and_queue, vote_of('a', 'x', 'b')},
            {"fenced claim", {held_by('b')}, scripts::vote, fenced, vote_of('a', 'x', 'b')},
            {"claim from readers",
             {sorted("lock", {nonce('b')})},
             scripts::vote,
             lock_and_queue,
             vote_of('a', 'x', 'b')},
            {"claim from permits",
             {permits({{"0", 'b'}})},
             scripts::vote,
             lock_and_queue,
             vote_of('a', 'x', 'b')},
            {"reader's vote", {}, scripts::vote, lock_and_queue, vote_of('a', 'r', '\0')},
            {"reader's vote beside others",
             {sorted("lock", {nonce('b')})},
             scripts::vote,
             lock_and_queue,
             vote_of('a', 'r', '\0')},
            {"reader's fenced vote", {}, scripts::vote, fenced, vote_of('a', 'r', '\0')},
            {"reader's claim", {held_by('b')}, scripts::vote, lock_and_queue, vote_of('a', 'r', 'b')},
            {"reader's vote behind a writer",
             {sorted("lock", {nonce('c')}), waiting({position('b', 'x')})},
             scripts::vote,
             lock_and_queue,
             vote_of('a', 'r', '\0')},
            {"reader's vote that calls a writer",
             {waiting({position('b', 'x')})},
             scripts::vote,
             lock_and_queue,
             vote_of('a', 'r', '\0')},
            {"reader's vote that calls readers",
             {waiting({position('b', 'r'), position('c', 'x')})},
             scripts::vote,
             lock_and_queue,
             vote_of('a', 'r', '\0')},
            {"vote for permits", {}, scripts::vote, lock_and_queue, vote_of('a', 'p', '\0')},
            {"vote for permits beside others",
             {permits({{"0", 'b'}})},
             scripts::vote,
             lock_and_queue,
             vote_of('a', 'p', '\0')},
            {"vote for permits that are taken",
             {permits({{"0", 'b'}, {"1", 'b'}, {"2", 'c'}})},
             scripts::vote,
             lock_and_queue,
             vote_of('a', 'p', '\0')},
            {"fenced vote for permits",
             {permits({{"0", 'b'}})},
             scripts::vote,
             fenced,
             vote_of('a', 'p', '\0')},
            {"claim of permits",
             {permits({{"0", 'b'}})},
             scripts::vote,
             lock_and_queue,
             vote_of('a', 'p', 'b', "0")},
            {"claim of permits from an exclusive owner",
             {held_by('b')},
             scripts::vote,
             lock_and_queue,
             vote_of('a', 'p', 'b', "0")},
            {"vote for permits that calls others",
             {permits({{"0", 'c'}}), waiting({position('b', 'p')})},
             scripts::vote,
             lock_and_queue,
             vote_of('a', 'p', '\0')},
            {"entry behind an owner", {held_by('b')}, scripts::enter, lock_and_queue, entry_of('a', 'x')},
            {"entry behind others",
             {held_by('b'), waiting({position('c', 'x')})},
             scripts::enter,
             lock_and_queue,
             entry_of('a', 'x')},
            {"entry of a position that is there",
             {held_by('b'), waiting({position('a', 'x')})},
             scripts::enter,
             lock_and_queue,
             entry_of('a', 'x')},
            {"entry where nobody is", {}, scripts::enter, lock_and_queue, entry_of('a', 'x')},
            {"entry that calls another",
             {waiting({position('b', 'x')})},
             scripts::enter,
             lock_and_queue,
             entry_of('a', 'x')},
            {"reader's entry",
             {sorted("lock", {nonce('c')}), waiting({position('b', 'x')})},
             scripts::enter,
             lock_and_queue,
             entry_of('a', 'r')},
            {"reader's entry among readers",
             {sorted("lock", {nonce('c')})},
             scripts::enter,
             lock_and_queue,
             entry_of('a', 'r')},
            {"entry for permits",
             {permits({{"0", 'b'}})},
             scripts::enter,
             lock_and_queue,
             entry_of('a', 'p')},
            {"release", {held_by('a')}, scripts::give_back, lock_and_queue, release_of('a', 'x')},
            {"release that calls a waiter",
             {held_by('a'), waiting({position('b', 'x'), position('c', 'x')})},
             scripts::give_back,
             lock_and_queue,
             release_of('a', 'x')},
            {"release that calls readers",
             {held_by('a'), waiting({position('b', 'r'), position('c', 'r')})},
             scripts::give_back,
             lock_and_queue,
             release_of('a', 'x')},
            {"release that calls for permits",
             {held_by('a'), waiting({position('b', 'p'), position('c', 'p')})},
             scripts::give_back,
             lock_and_queue,
             release_of('a', 'x')},
            {"leaving",
             {held_by('c'), waiting({position('a', 'x'), position('b', 'x')})},
             scripts::give_back,
             lock_and_queue,
             {"x", nonce('a'), position('a', 'x'), "take", "17", "", ""}},
            {"reader's release",
             {sorted("lock", {nonce('a')})},
             scripts::give_back,
             lock_and_queue,
             release_of('a', 'r')},
            {"reader's release beside others",
             {sorted("lock", {nonce('a'), nonce('b')})},
             scripts::give_back,
             lock_and_queue,
             release_of('b', 'r')},
            {"reader's release that calls a writer",
             {sorted("lock", {nonce('a')}), waiting({position('b', 'x')})},
             scripts::give_back,
             lock_and_queue,
             release_of('a', 'r')},
            {"release of permits",
             {permits({{"0", 'a'}, {"1", 'b'}})},
             scripts::give_back,
             lock_and_queue,
             release_of('a', 'p', "0")},
            {"release of the last permits",
             {permits({{"0", 'a'}})},
             scripts::give_back,
             lock_and_queue,
             release_of('a', 'p')},
            {"release of permits that calls others",
             {permits({{"0", 'a'}, {"1", 'b'}}), waiting({position('b', 'p')})},
             scripts::give_back,
             lock_and_queue,
             release_of('a', 'p', "0")},
            {"reader's renewal",
             {sorted("lock", {nonce('a'), nonce('b')})},
             scripts::renew,
             lock_and_queue,
             {"r", nonce('a'), lock_time, ""}},
            {"writer that becomes a reader",
             {held_by('a'), waiting({position('b', 'r')})},
             scripts::renew,
             lock_and_queue,
             {"r", nonce('a'), lock_time, ""}},
            {"fenced renewal of a reader",
             {sorted("lock", {nonce('a')})},
             scripts::renew,
             fenced,
             {"r", nonce('a'), lock_time, "", fence_time, "7", "", ""}},
            {"renewal of permits",
             {permits({{"0", 'a'}, {"1", 'b'}})},
             scripts::renew,
             lock_and_queue,
             {"p", nonce('a'), lock_time, "0"}},
            {"fenced renewal of permits",
             {permits({{"0", 'a'}})},
             scripts::renew,
             fenced,
             {"p", nonce('a'), lock_time, "0", fence_time, "7", "", ""}},
        };
    }
    void prepare(situation const& one)
    {
        reset();
        for (char const who : {'a', 'b', 'c'})
            listen(who);
        for (words const& each : one.before)
            BOOST_REQUIRE(!administer(each).starts_with('-'));
    }
    /// The waiters that were called.
    std::set<char> called()
    {
        std::set<char> all;
        for (char const who : {'a', 'b', 'c'})
            if (heard(who).find("take") != std::string::npos)
                all.insert(who);
        return all;
    }
    std::string run_in(situation const& one) { return run(one.script, one.keys, one.arguments); }
};

/// "zset [b, a]", "hash [0, a#, next, #]", "zset [ax#a]": whose these are.
std::set<char> owners(std::string const& state)
{
    std::set<char> all;
    std::string word;
    for (char const each : state + ' ') {
        if (each != ' ' && each != ',' && each != '[' && each != ']') {
            word += each;
            continue;
        }
        if (word.size() == 1 || word.find('#') != word.npos)
            all.insert(word[0]);
        word.clear();
    }
    all.erase('#');
    for (char const digit : {'0', '1', '2'})
        all.erase(digit);
    return all;
}

std::set<char> without(std::set<char> all, std::set<char> const& some)
{
    for (char const each : some)
        all.erase(each);
    return all;
}

/// The entry of one that may not call the other.
std::string const passed_another = "string a; zset [bx#b]; none";

bool tells_of_rights(std::string const& said)
{
    return said == "-NOPERM";
}

/// Without the right to any other command it does the same.
bool calls(redis::script const& which, std::string const& command)
{
    return which.text.find('\'' + command + '\'') != which.text.npos;
}

words const all_commands{
    "del",   "exists",  "hdel",      "hget", "hgetall",          "hkeys", "hlen", "hmget", "hset",
    "mget",  "pexpire", "pexpireat", "pttl", "publish",          "set",   "time", "type",  "zadd",
    "zcard", "zrange",  "zrank",     "zrem", "zremrangebyscore", "zscore"};

} // namespace

BOOST_FIXTURE_TEST_SUITE(queue_rights, rights)

/// Otherwise the owners of the lock and the positions are the same, but for those that were called or gave it up. A release
/// frees the lock if it may not hand it on. Without the right to remove positions, a waiter's own one may stay.
// rules Q23, S4 and S12
BOOST_AUTO_TEST_CASE(script_that_lacks_a_command_changes_nothing_by_halves)
{
    for (bool const fast : {true, false}) {
        keep(fast);
        for (situation const& one : situations()) {
            prepare(one);
            std::string const lock = state("lock");
            std::string const queue = state("queue");
            std::string const usual = run_in(one);
            std::string const usual_state = state();
            bool matters = false;
            for (std::string const& command : all_commands)
                BOOST_TEST_CONTEXT(one.what << " without " << command)
                {
                    if (!calls(one.script, command))
                        continue;
                    prepare(one);
                    forbid(command);
                    std::string const said = run_in(one);
                    auto const were_called = called();
                    if (said == usual && state() == usual_state)
                        continue;
                    matters = true;
                    if (command == "publish" && said == "1" &&
                        one.script.index == redis::scripts::enter.index) {
                        BOOST_TEST(state() == passed_another);
                        continue;
                    }
                    bool const gives_back = one.script.index == redis::scripts::give_back.index;
                    BOOST_TEST((tells_of_rights(said) || (gives_back && said == "1") ||
                                (command == "publish" && said == "QUEUED") || said == usual),
                               said);
                    std::set<char> gone = were_called;
                    if (gives_back)
                        gone.insert('a');
                    if (one.what.find("claim") != std::string::npos)
                        gone.insert('b');
                    std::string const now = state("lock");
                    BOOST_TEST(without(owners(lock), gone).size() == without(owners(now), gone).size(),
                               lock << " -> " << now);
                    BOOST_TEST((gives_back || owners(now).contains('a') == owners(lock).contains('a')), now);
                    std::string const positions = state("queue");
                    auto own = gives_back || command == "zrem" || command == "publish" ? std::set{'a'}
                                                                                       : std::set<char>();
                    own.insert(were_called.begin(), were_called.end());
                    BOOST_TEST((without(owners(queue), own) == without(owners(positions), own)),
                               queue << " -> " << positions);
                    for (std::string const& key : {now, positions, state("fence")})
                        BOOST_TEST(!key.ends_with("for ever"), key);
                }
            BOOST_TEST(matters, one.what);
        }
    }
}

/// A waiter without the right to call other clients has a polling position, and passes them.
// rules Q3 and Q18
BOOST_AUTO_TEST_CASE(script_that_may_not_call_serves_nobody_else)
{
    for (situation const& one : situations())
        BOOST_TEST_CONTEXT(one.what)
        {
            prepare(one);
            std::string const usual = run_in(one);
            bool const calls = !called().empty();
            prepare(one);
            std::string const lock = state("lock");
            std::string const queue = state("queue");
            forbid_channels();
            std::string const said = run_in(one);
            if (!calls) {
                BOOST_TEST(said == usual);
            } else if (one.script.index == redis::scripts::give_back.index) {
                BOOST_TEST((said == "0" || said == "1"), said);
                BOOST_TEST((owners(state("lock")) == without(owners(lock), {'a'})));
                BOOST_TEST(state("queue") == queue);
            } else if (one.script.index == redis::scripts::renew.index) {
                BOOST_TEST(said == "1");
                BOOST_TEST(state("queue") == queue);
            } else if (one.script.index == redis::scripts::enter.index) {
                BOOST_TEST(said == "1");
                BOOST_TEST(state() == passed_another);
            } else {
                BOOST_TEST(said == "QUEUED");
                BOOST_TEST(state("lock") == lock);
                BOOST_TEST(state("queue") == queue);
            }
        }
}

/// They may be dead, and all others may lack the right, too.
// rule Q18
BOOST_AUTO_TEST_CASE(waiter_that_may_not_call_passes_those_that_need_a_call)
{
    for (char const kind : {'x', 'r', 'p'})
        BOOST_TEST_CONTEXT(kind)
        {
            reset();
            words dead;
            for (char who = 'a'; who != 'v'; ++who) // more than are looked at at once
                dead.push_back(position(who, who % 2 == 0 ? 'x' : 'p'));
            administer(waiting(dead));
            forbid_channels();
            BOOST_TEST(vote('x', 'r') == "QUEUED");
            BOOST_TEST(poll('z', kind) == (kind == 'p' ? "GIVEN 0" : "1"));
            BOOST_TEST(owners(state("lock")) == std::set{'z'});
            BOOST_TEST(!owners(state("queue")).contains('z'));
        }
}

/// One that waits with a channel stays, and asks by itself.
// rules Q2 and Q18
BOOST_AUTO_TEST_CASE(polling_reader_is_called_beside_one_that_may_not_be_called)
{
    for (bool const released : {false, true})
        BOOST_TEST_CONTEXT(released)
        {
            reset();
            administer(held_by('a'));
            BOOST_TEST(poll('b', 'r') == "LINE # 0 aaaaaaaa");
            BOOST_TEST(enter('c', 'r') == "LINE # 1 aaaaaaaa");
            if (!released)
                administer({"DEL", "lock"});
            forbid_channels();
            BOOST_TEST((released ? give_back('a', 'x') : poll('b', 'r')) == (released ? "2" : "1"));
            BOOST_TEST(state("lock") == "zset [b]");
        }
}

// rule Q23
BOOST_AUTO_TEST_CASE(script_that_lacks_a_key_is_not_run)
{
    for (situation const& one : situations())
        for (std::string const& key : one.keys)
            BOOST_TEST_CONTEXT(one.what << " without " << key)
            {
                prepare(one);
                std::string const before = state();
                forbid_key(key);
                BOOST_TEST(tells_of_rights(run_in(one)));
                BOOST_TEST(state() == before);
            }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

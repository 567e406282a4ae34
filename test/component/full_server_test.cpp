// SPDX-License-Identifier: BSL-1.0
// What each script does on a real server that is out of memory: everything that it does elsewhere, or nothing at all.
//
// Such a server refuses a command that may need memory, unless the script has called a command that writes and needs none
// (Redis 7, src/script.c, scriptVerifyOOM). So the first command of a script that writes decides for all that follow.
#include "component/script_times.hpp"
#include "kit/probe.hpp"
#include "kit/redis_server.hpp"
#include "redis/script.hpp"
#include "redis/scripts.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace redlock::test {

namespace {

using words = std::vector<std::string>;

std::string const a(32, 'a');
std::string const b(32, 'b');
std::string const c(32, 'c');
std::string const wait_b = b + "x005000000000000heard";
std::string const later = "LATER"; ///< stands for a moment an hour from now
std::string const over = "1";

words set(std::string const& key, std::string const& text)
{
    return {"SET", key, text, "PX", lock_time};
}

/// A sorted set that expires.
std::vector<words> sorted(std::string const& key, words members)
{
    words add{"ZADD", key};
    add.insert(add.end(), members.begin(), members.end());
    return {add, {"PEXPIREAT", key, later}};
}
std::vector<words> hash(std::string const& key, words fields)
{
    words add{"HSET", key};
    add.insert(add.end(), fields.begin(), fields.end());
    return {add, {"PEXPIREAT", key, later}};
}
std::vector<words> operator+(std::vector<words> one, std::vector<words> const& other)
{
    one.insert(one.end(), other.begin(), other.end());
    return one;
}

enum class deed { refused, whole };

struct row {
    char const* when;
    redis::script what;
    std::vector<words> before;
    words keys;
    words arguments;
    deed expected;
};

using enum deed;
namespace scripts = redis::scripts;

std::vector<words> const nothing;
std::vector<words> const ours{set("lock", a)};
std::vector<words> const theirs{set("lock", b)};
std::vector<words> const fence_7{set("fence", "7")};
std::vector<words> const fence_6{set("fence", "6")};
std::vector<words> const reader = sorted("lock", {later, a});
std::vector<words> const two_readers = sorted("lock", {later, a, later, b});

words const fenced{"lock", "fence", "marker"};
words const queue_and_fence{"lock", "queue", "fence", "marker"};
words const vote_with_fence{"x", a, lock_time, "", fence_time, "9", ""};
words const extend_with_fence{lock_time, fence_time, a, "7", ""};

std::vector<row> const exclusive{
    {"ours", scripts::extend, ours, {"lock"}, {a, lock_time}, whole},
    {"ours", scripts::release, ours, {"lock"}, {a}, whole},
    {"free", scripts::vote, fence_7, queue_and_fence, vote_with_fence, refused},
    {"held by another", scripts::vote, theirs, queue_and_fence, vote_with_fence, whole},
    {"given to us",
     scripts::vote,
     theirs,
     queue_and_fence,
     {"x", a, lock_time, b, fence_time, "9", ""},
     refused},
    {"another node",
     scripts::vote,
     nothing,
     queue_and_fence,
     {"x", a, lock_time, "", fence_time, "9", "x"},
     whole},
    {"fence behind", scripts::fenced_raise, ours + fence_6, fenced, extend_with_fence, refused},
    {"ours", scripts::fenced_extend, ours + fence_7, fenced, extend_with_fence, whole},
    {"lock gone", scripts::fenced_extend, fence_7, fenced, extend_with_fence, refused},
    {"fence behind", scripts::fenced_extend, ours + fence_6, fenced, extend_with_fence, refused},
    {"ours", scripts::fenced_adopt, ours + fence_7, fenced, extend_with_fence, whole},
    {"ours, of an election",
     scripts::fenced_extend,
     ours + fence_7,
     {"lock", "fence", "marker", "leader"},
     {lock_time, fence_time, a, "7", "7 1 me", ""},
     whole},
    {"ours",
     scripts::leader_release,
     ours + std::vector<words>{set("leader", "7 1 me")},
     {"lock", "leader"},
     {a, "7 "},
     whole},
    {"no marker", scripts::mark, nothing, {"marker"}, {"life", "lineage", "", "", "", ""}, refused},
    {"new life",
     scripts::mark,
     {{"SET", "marker", "before/lineage/0/0"}},
     {"marker"},
     {"life", "other", "", "", "", ""},
     refused},
    {"same life",
     scripts::mark,
     {{"SET", "marker", "life/lineage/0/0"}},
     {"marker"},
     {"life", "other", "", "", "", ""},
     whole},
};

words const both{"x", "y"};
words const both_fenced{"x", "y", "fx", "fy", "marker"};

std::vector<row> const of_several{
    {"free", scripts::multi_vote, nothing, both, {"2", a, lock_time, ""}, refused},
    {"given to us",
     scripts::multi_vote,
     {set("x", b), set("y", b)},
     both,
     {"2", a, lock_time, b + b},
     refused},
    {"ended permits",
     scripts::multi_vote,
     hash("x", {"0", b + over, "next", over}),
     both,
     {"2", a, lock_time, ""},
     refused},
    {"claim from ended readers",
     scripts::multi_vote,
     sorted("x", {over, c, later, b}),
     both,
     {"2", a, lock_time, b + b},
     refused},
    {"free, with fences",
     scripts::multi_vote,
     {set("fx", "7")},
     both_fenced,
     {"2", a, lock_time, "", fence_time, "9", ""},
     refused},
    {"ours", scripts::multi_extend, {set("x", a), set("y", a)}, both, {"2", a, lock_time, ""}, whole},
    {"the first is gone",
     scripts::multi_extend,
     {set("y", a), set("fx", "7"), set("fy", "7")},
     both_fenced,
     {"2", a, lock_time, "", fence_time, "7", ""},
     refused},
    {"the second is gone",
     scripts::multi_extend,
     {set("x", a), set("fx", "7"), set("fy", "7")},
     both_fenced,
     {"2", a, lock_time, "", fence_time, "7", ""},
     whole},
    {"ours",
     scripts::multi_raise,
     {set("x", a), set("y", a), set("fx", "6"), set("fy", "7")},
     both_fenced,
     {"2", a, lock_time, "", fence_time, "7", ""},
     refused},
    {"ours", scripts::multi_release, {set("x", a), set("y", a)}, {"x", "y", "lx", "ly"}, {a, "2"}, whole},
    {"others in line",
     scripts::multi_release,
     std::vector<words>{set("x", a), set("y", a)} + sorted("lx", {"1", wait_b}),
     {"x", "y", "lx", "ly"},
     {a, "2"},
     whole},
};

words const lock_and_queue{"lock", "queue"};
words const fenced_queue{"lock", "queue", "fence", "marker"};
std::string const wait_c = c + "x005000000010001heard";
std::string const reader_b = b + "r005000000010001heard";
std::string const permit_b = b + "p005000000010003heard";
std::string const unheard = b + "x005000000010001unheard";
std::vector<words> const waiting = sorted("queue", {"1", wait_b, "2", wait_c});
std::vector<words> const one_permit = hash("lock", {"0", a + later, "next", later});
words const vote_of_writer{"x", c, lock_time, b};
words const vote_of_reader{"r", a, lock_time, ""};
words const vote_for_permit{"p", c, lock_time, "", "1", "3", "0", "", ""};
words const claim_of_permit{"p", c, lock_time, a, "1", "3", "0", "0", ""};

words with_fence_of(words arguments)
{
    arguments.resize(9);
    arguments.insert(arguments.end(), {fence_time, "9", ""});
    return arguments;
}
words entry(std::string const& position)
{
    return {position, "60000", "4096", ""};
}
words release(std::string const& kind, std::string const& position = "", std::string const& word = "take")
{
    return {kind, a, position, word, "17", "", ""};
}

std::vector<row> const of_the_queue{
    {"claim of a free lock", scripts::vote, nothing, lock_and_queue, vote_of_writer, refused},
    {"claim", scripts::vote, theirs, lock_and_queue, vote_of_writer, refused},
    {"fenced claim", scripts::vote, theirs + fence_7, fenced_queue, with_fence_of(vote_of_writer), refused},
    {"fenced vote", scripts::vote, fence_7, fenced_queue, with_fence_of({"x", c, lock_time, ""}), refused},
    {"claim from ended readers", scripts::vote, sorted("lock", {over, a, later, b}), lock_and_queue,
     vote_of_writer, refused},
    {"reader", scripts::vote, nothing, lock_and_queue, vote_of_reader, refused},
    {"reader beside others", scripts::vote, two_readers, lock_and_queue, {"r", c, lock_time, ""}, refused},
    {"reader beside ended ones", scripts::vote, sorted("lock", {over, b, later, c}), lock_and_queue,
     vote_of_reader, refused},
    {"reader with a fence", scripts::vote, fence_7, fenced_queue, with_fence_of(vote_of_reader), refused},
    {"reader's claim", scripts::vote, theirs, lock_and_queue, {"r", a, lock_time, b}, refused},
    {"reader behind a writer",
     scripts::vote,
     reader + waiting,
     lock_and_queue,
     {"r", c, lock_time, ""},
     refused},
    {"reader where waiters can be called", scripts::vote, waiting, lock_and_queue, vote_of_reader, refused},
    {"reader where waiters are gone", scripts::vote, sorted("queue", {"1", unheard}), lock_and_queue,
     vote_of_reader, refused},
    {"permit", scripts::vote, nothing, lock_and_queue, vote_for_permit, refused},
    {"permit beside others", scripts::vote, one_permit, lock_and_queue, vote_for_permit, refused},
    {"fenced permit", scripts::vote, one_permit + hash("fence", {"1", "7"}), fenced_queue,
     with_fence_of(vote_for_permit), refused},
    {"permit beside ended ones",
     scripts::vote,
     hash("lock", {"0", a + over, "1", b + later, "next", over}),
     lock_and_queue,
     {"p", c, lock_time, "", "1", "2", "0", "", ""},
     refused},
    {"reader where permits have ended", scripts::vote, hash("lock", {"0", b + over, "next", over}),
     lock_and_queue, vote_of_reader, refused},
    {"claim of a permit", scripts::vote, one_permit, lock_and_queue, claim_of_permit, refused},
    {"claim of a permit from an exclusive owner", scripts::vote, ours, lock_and_queue, claim_of_permit,
     refused},
    {"free, and nobody waits", scripts::enter, nothing, lock_and_queue, entry(wait_b), refused},
    {"free, and others wait", scripts::enter, waiting, lock_and_queue, entry(wait_c), refused},
    {"free, and the first is gone", scripts::enter, sorted("queue", {"1", unheard}), lock_and_queue,
     entry(wait_c), refused},
    {"held", scripts::enter, ours, lock_and_queue, entry(wait_b), refused},
    {"held, and we wait", scripts::enter, ours + waiting, lock_and_queue, entry(wait_b), refused},
    {"held by readers, and we wait", scripts::enter, reader + waiting, lock_and_queue, entry(wait_b),
     refused},
    {"held by readers", scripts::enter, reader, lock_and_queue, entry(reader_b), refused},
    {"handed to us", scripts::enter, theirs, lock_and_queue, entry(wait_b), whole},
    {"some permits are free", scripts::enter, one_permit, lock_and_queue, entry(permit_b), refused},
    {"nobody waits", scripts::give_back, ours, lock_and_queue, release("x"), whole},
    {"others wait", scripts::give_back, ours + waiting, lock_and_queue, release("x"), whole},
    {"a reader waits", scripts::give_back, ours + sorted("queue", {"1", reader_b}), lock_and_queue,
     release("x"), whole},
    {"a permit is waited for", scripts::give_back, ours + sorted("queue", {"1", permit_b}), lock_and_queue,
     release("x"), whole},
    {"left free", scripts::give_back, ours + waiting, lock_and_queue, release("x", "", "free"), whole},
    {"leaving", scripts::give_back, theirs + sorted("queue", {"1", a + "x005000000010001heard", "2", wait_c}),
     lock_and_queue, release("x", a + "x005000000010001heard"), whole},
    {"reader", scripts::give_back, two_readers, lock_and_queue, release("r"), whole},
    {"reader, and a writer waits", scripts::give_back, reader + waiting, lock_and_queue, release("r"), whole},
    {"permit", scripts::give_back, one_permit, lock_and_queue, release("p"), whole},
    {"permit, and a writer waits", scripts::give_back, one_permit + waiting, lock_and_queue, release("p"),
     whole},
    {"reader", scripts::renew, two_readers, lock_and_queue, {"r", a, lock_time, ""}, whole},
    {"writer", scripts::renew, ours, lock_and_queue, {"r", a, lock_time, ""}, whole},
    {"writer, and readers wait",
     scripts::renew,
     ours + sorted("queue", {"1", reader_b}),
     lock_and_queue,
     {"r", a, lock_time, ""},
     whole},
    {"reader with a fence",
     scripts::renew,
     reader + fence_7,
     fenced_queue,
     {"r", a, lock_time, "", fence_time, "7", "", ""},
     whole},
    {"fence behind",
     scripts::renew,
     reader + fence_6,
     fenced_queue,
     {"r", a, lock_time, "", fence_time, "7", "", ""},
     refused},
    {"permit", scripts::renew, one_permit, lock_and_queue, {"p", a, lock_time, "0"}, whole},
    {"permit with a fence",
     scripts::renew,
     one_permit + hash("fence", {"0", "7"}),
     fenced_queue,
     {"p", a, lock_time, "0", fence_time, "7", "", ""},
     whole},
    {"writer with a fence",
     scripts::renew,
     ours + fence_7,
     fenced_queue,
     {"r", a, lock_time, "", fence_time, "7", "", ""},
     whole},
    {"held by a writer", scripts::vote, theirs, lock_and_queue, vote_of_reader, whole},
    {"readers", scripts::whose, two_readers, {"lock"}, {}, whole},
};

std::vector<row> everything()
{
    std::vector<row> all;
    for (auto const* some : {&exclusive, &of_several, &of_the_queue})
        all.insert(all.end(), some->begin(), some->end());
    return all;
}

struct full_server {
    void be_full(bool now) { node.command({"CONFIG", "SET", "maxmemory", now ? "1" : "0"}); }
    void prepare(row const& one)
    {
        be_full(false);
        node.command({"FLUSHALL"});
        listener = probe(server.port());
        listener.command({"SUBSCRIBE", "heard"});
        for (words command : one.before) {
            for (std::string& word : command)
                if (word.ends_with(later))
                    word.replace(word.size() - later.size(), later.size(), std::to_string(hour_from_now()));
            BOOST_REQUIRE(!node.command(command).starts_with('-'));
        }
    }
    std::string run(row const& one)
    {
        words command{"EVAL", std::string(one.what.text), std::to_string(one.keys.size())};
        command.insert(command.end(), one.keys.begin(), one.keys.end());
        command.insert(command.end(), one.arguments.begin(), one.arguments.end());
        return without_times(node.command(command));
    }
    /// Returns all keys and values, without the times.
    words state()
    {
        words found;
        for (std::string const& key : node.keys()) {
            std::string const type = node.command({"TYPE", key});
            found.push_back(key + (node.pttl(key) < 0 ? " for ever" : " for a time"));
            found.push_back(type == "zset"   ? node.command({"ZRANGE", key, "0", "-1"})
                            : type == "hash" ? without_times(node.command({"HGETALL", key}))
                                             : without_times(node.command({"GET", key})));
        }
        return found;
    }
    /// Returns the messages to the waiters, each once.
    words heard_words()
    {
        words all;
        for (;;) {
            std::string const said = listener.command({"PING"});
            if (said == "[pong, ]")
                return all;
            all.push_back(without_times(said));
        }
    }
    /// Returns the exact state, to the millisecond.
    words dump()
    {
        words found;
        for (std::string const& key : node.keys()) {
            found.push_back(key + ' ' + node.command({"PEXPIRETIME", key}));
            found.push_back(node.command({"DUMP", key}));
        }
        return found;
    }
    long long hour_from_now()
    {
        return std::stoll(node.command({"EVAL", "return redis.call('time')[1] * 1000 + 3600000", "0"}));
    }
    /// Numbers that are moments, or what is left until one, differ from one call to the next.
    static std::string without_times(std::string const& text)
    {
        std::string shown;
        std::size_t digits = 0;
        auto const close = [&] {
            if (digits > 4)
                shown.replace(shown.size() - digits, digits, "#");
            digits = 0;
        };
        for (char const each : text) {
            if (each < '0' || each > '9')
                close();
            else
                ++digits;
            shown += each;
        }
        close();
        return shown;
    }

    redis_server server;
    probe node{server.port()};
    probe listener{server.port()};
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(full_servers, full_server)

// rule K9
BOOST_AUTO_TEST_CASE(first_command_that_writes_decides_for_the_script)
{
    be_full(true);
    auto const eval = [&](std::string const& text) { return node.command({"EVAL", text, "0"}); };
    BOOST_TEST(eval("redis.call('set', 'a', '1') return 1").starts_with("-OOM"));
    BOOST_TEST(
        eval("redis.call('get', 'a') redis.call('publish', 'a', '') redis.call('set', 'a', '1') return 1")
            .starts_with("-OOM"));
    BOOST_TEST(eval("redis.call('zrem', 'none', 'any') redis.call('set', 'a', '1') return 1") == "1");
    BOOST_TEST(eval("redis.call('zadd', 'none', 'xx', 0, '') return 1").starts_with("-OOM"));
    be_full(false);
    BOOST_TEST(eval("return redis.call('zadd', 'none', 'xx', 0, '')") == "0");
    BOOST_TEST(!node.exists("none"));
}

// rules Q2 and K9
BOOST_AUTO_TEST_CASE(every_script_does_all_or_nothing)
{
    std::set<std::size_t> tried;
    for (row const& one : everything()) {
        tried.insert(one.what.index);
        std::string const title(one.what.text.substr(0, one.what.text.find('\n')));
        BOOST_TEST_CONTEXT(title << ": " << one.when)
        {
            prepare(one);
            std::string const usual = run(one);
            auto const usually = state();
            auto const usually_heard = heard_words();
            prepare(one);
            auto const before = dump();
            be_full(true);
            std::string const said = run(one);
            if (one.expected == refused) {
                BOOST_TEST(said.starts_with("-OOM"), said);
                BOOST_TEST(dump() == before, boost::test_tools::per_element());
                BOOST_TEST(heard_words().empty());
            } else {
                BOOST_TEST(said == usual);
                BOOST_TEST(state() == usually, boost::test_tools::per_element());
                BOOST_TEST(heard_words() == usually_heard, boost::test_tools::per_element());
            }
        }
    }
    BOOST_TEST(tried.size() == redis::scripts::count);
}

/// It refuses even commands that need no memory.
// rule Q3
BOOST_AUTO_TEST_CASE(server_that_refuses_writes_calls_nobody)
{
    for (row const& one : everything()) {
        std::string const title(one.what.text.substr(0, one.what.text.find('\n')));
        BOOST_TEST_CONTEXT(title << ": " << one.when)
        {
            prepare(one);
            auto const before = dump();
            node.command({"CONFIG", "SET", "min-replicas-to-write", "1"});
            std::string const said = run(one);
            node.command({"CONFIG", "SET", "min-replicas-to-write", "0"});
            BOOST_TEST((!said.starts_with('-') || said.starts_with("-NOREPLICAS")), said);
            BOOST_TEST(dump() == before, boost::test_tools::per_element());
            BOOST_TEST(heard_words().empty());
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

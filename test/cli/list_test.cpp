// SPDX-License-Identifier: BSL-1.0
#include "servers.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

using namespace redlock::test;
using nlohmann::json;

namespace {

struct list_fixture : servers {
    using servers::servers;

    finished_run list(std::vector<std::string> arguments = {})
    {
        arguments.insert(arguments.begin(), "list");
        return finished_run(arguments, env());
    }
    json listed(std::vector<std::string> arguments = {})
    {
        arguments.insert(arguments.begin(), "--json");
        finished_run const run = list(arguments);
        BOOST_TEST(run.status == 0, run.err);
        return json::parse(run.out);
    }
    std::vector<std::string> names(std::vector<std::string> const& arguments = {})
    {
        std::vector<std::string> all;
        for (json const& row : listed(arguments))
            all.push_back(row.at("name"));
        return all;
    }
    json row_of(std::string const& name)
    {
        for (json const& row : listed())
            if (row.at("name") == name)
                return row;
        return {};
    }
    void lock(std::string const& name) { command({"SET", name, std::string(32, 'a'), "PX", "60000"}); }
    /// On the first server.
    void lock_many(int number)
    {
        probes[0].command({"EVAL",
                           "for i = 1, " + std::to_string(number) +
                               " do redis.call('set', string.format('job:%05d', i), 'o', 'px', 60000) end",
                           "0"});
    }
};

/// Holds a lock in some way until it is told to go on.
tool holding(servers const& nodes, std::vector<std::string> words)
{
    words.insert(words.end(), {"--", "/bin/sh", "-c", wait_for_go});
    return tool(words, nodes.env());
}

bool holds_lock(tool const& one)
{
    return !one.read("pid").empty();
}

std::size_t count_of(std::string const& text, std::string const& part)
{
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

std::string place_of(redis_server const& server)
{
    return "@127.0.0.1:" + std::to_string(server.port());
}

environment as_user(std::string const& user, redis_server const& server)
{
    return {{"REDLOCK_NODES", "redis://" + user + ":pw" + place_of(server)}, {"REDLOCK_ASSUME_FRESH", "1"}};
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(list, list_fixture)

BOOST_AUTO_TEST_CASE(list_without_locks_is_empty)
{
    BOOST_TEST(list().out == "no locks\n");
    BOOST_TEST(listed() == json::array());
}

BOOST_AUTO_TEST_CASE(list_tells_holder_kind_and_time_of_each_lock)
{
    tool const reader = holding(*this, {"run", "--shared", "prices"});
    tool const second = holding(*this, {"run", "--shared", "prices"});
    tool const worker = holding(*this, {"run", "--permits", "4", "--count", "2", "render"});
    tool const leader = holding(*this, {"elect", "scheduler"});
    tool const writer = holding(*this, {"run", "--exclusive", "rates"});
    std::string const owner =
        json::parse(finished_run({"acquire", "--json", "deploy"}, env()).out).at("owner");
    BOOST_TEST(finished_run({"acquire", "--fenced", "ledger"}, env()).status == 0);
    for (tool const* const one : {&reader, &second, &worker, &leader, &writer})
        wait_until([&] { return holds_lock(*one); });
    tool const waiter = holding(*this, {"run", "--shared", "rates"});
    wait_until([&] { return row_of("rates").at("waiting") == 1; });

    json const all = listed();
    BOOST_TEST_REQUIRE(all.size() == 6U, all);
    BOOST_TEST(all[0].at("name") == "deploy");
    BOOST_TEST(all[0].at("kind") == "lock");
    BOOST_TEST(all[0].at("holder") == owner.substr(0, 8) + "...");
    BOOST_TEST(all[0].at("holder_kind") == "owner");
    BOOST_TEST(all[0].at("pttl_ms").get<int>() > 0);
    BOOST_TEST(all[0].at("votes").get<int>() >= 2);
    BOOST_TEST(all[0].at("nodes") == 3);
    BOOST_TEST(all[0].at("waiting") == 0);
    BOOST_TEST(all[1].at("kind") == "fenced", all[1]);
    BOOST_TEST(all[2].at("kind") == "readers", all[2]);
    BOOST_TEST(all[2].at("readers") == 2);
    BOOST_TEST(all[3].at("name") == "rates");
    BOOST_TEST(all[3].at("kind") == "writer", all[3]);
    BOOST_TEST(all[4].at("kind") == "permits", all[4]);
    BOOST_TEST(all[4].at("permits_taken") == 2);
    BOOST_TEST(all[4].at("holder") == "2 permits");
    BOOST_TEST(all[5].at("kind") == "leader", all[5]);

    std::string const text = list().out;
    BOOST_TEST(text.starts_with("NAME       KIND     HOLDER "), text);
    BOOST_TEST(contains(text, "prices     readers  2 readers "), text);
    BOOST_TEST(count_of(text, "\n") == 7U);
    BOOST_TEST(!contains(text + all.dump(), owner));
}

BOOST_AUTO_TEST_CASE(list_leaves_out_helper_keys_and_data_of_other_programs)
{
    lock("seat");
    set("settings", "1");
    command({"RPUSH", "jobs", "1"});
    command({"HSET", "session", "user", "1"});
    command({"PEXPIRE", "session", "60000"});
    command({"ZADD", "scores", "1", "one"});
    command({"PEXPIRE", "scores", "60000"});
    for (char const* const helper :
         {"seat:redlock-fence", "other:redlock-leader", "redlock-marker", "other:redlock-doctor"})
        command({"SET", helper, "1", "PX", "60000"});
    BOOST_TEST((names() == std::vector<std::string>{"seat"}));
    BOOST_TEST(
        (names({"--all"}) == std::vector<std::string>{"jobs", "scores", "seat", "session", "settings"}));
    json const settings = listed({"--all", "settings"}).at(0);
    BOOST_TEST(settings.at("kind") == "no lock");
    BOOST_TEST(!settings.contains("pttl_ms"));
    std::string const text = list({"--all", "settings"}).out;
    BOOST_TEST(contains(text, "no lock  (not a lock)  no expiry  3 of 3"), text);
}

BOOST_AUTO_TEST_CASE(list_takes_the_beginning_of_names_behind_the_prefix_of_keys)
{
    for (char const* const name : {"prod:a", "prod:b", "prod:bc", "b", "-x"})
        lock(name);
    BOOST_TEST((names({"--prefix", "prod:"}) == std::vector<std::string>{"a", "b", "bc"}));
    BOOST_TEST((names({"--prefix", "prod:", "b"}) == std::vector<std::string>{"b", "bc"}));
    BOOST_TEST((names({"prod:b"}) == std::vector<std::string>{"prod:b", "prod:bc"}));
    BOOST_TEST((names({"--", "-"}) == std::vector<std::string>{"-x"}));
    BOOST_TEST(names({""}).size() == 5U);
    BOOST_TEST(names({"prod:redlock-marker"}).empty());
}

BOOST_AUTO_TEST_CASE(list_shows_names_with_any_bytes)
{
    std::vector<std::string> const all{"a*b",
                                       "a?b",
                                       "axb",
                                       "[a]",
                                       "a",
                                       "\\",
                                       "two\nlines\x1b[2J",
                                       "Zürich ☃",
                                       "\xff\xfe",
                                       " ",
                                       std::string(512, 'n')};
    for (std::string const& name : all)
        lock(name);
    BOOST_TEST(listed().size() == all.size());
    finished_run const run = list();
    BOOST_TEST(count_of(run.out, "\n") == all.size() + 1, run.out);
    BOOST_TEST(contains(run.out, "two\\x0alines\\x1b[2J "), run.out);
    BOOST_TEST(contains(run.out, "\n\xff\xfe "), run.out);
    for (std::string const prefix : {"a*", "a?", "[a]", "\\", "two\n"})
        BOOST_TEST(names({"--", prefix}).size() == 1U, prefix);
    BOOST_TEST(listed({"\xff"}).size() == 1U);
}

BOOST_AUTO_TEST_CASE(list_reads_past_long_names_of_other_programs)
{
    lock("seat");
    for (char const letter : {'a', 'b', 'c'})
        command({"SET", std::string(std::size_t{2} << 20, letter), "1"});
    BOOST_TEST((names() == std::vector<std::string>{"seat"}));
}

BOOST_AUTO_TEST_CASE(list_goes_through_many_names_in_steps_and_never_sends_keys)
{
    lock_many(3000);
    lock("job:00007");
    json const all = listed({"job:"});
    BOOST_TEST_REQUIRE(all.size() == 3000U);
    BOOST_TEST(all[6].at("name") == "job:00007");
    BOOST_TEST(all[6].at("votes") == 3);
    BOOST_TEST(all[7].at("votes") == 1);
    BOOST_TEST(all[2999].at("name") == "job:03000");
    BOOST_TEST(probes[0].command_calls("scan") >= 3);
    for (probe& p : probes)
        BOOST_TEST(p.command_calls("keys") == 0);
}

BOOST_AUTO_TEST_CASE(list_shows_the_first_names_and_says_that_there_are_more)
{
    lock_many(3000);
    std::string const words = "more than 10 names: these are the first ones";
    finished_run const text = list({"--limit", "10"});
    BOOST_TEST(text.status == 0);
    BOOST_TEST(contains(text.out, "\njob:00010 "), text.out);
    BOOST_TEST(!contains(text.out, "job:00011"), text.out);
    BOOST_TEST(contains(text.out, words), text.out);
    finished_run const run = list({"--limit", "10", "--json"});
    BOOST_TEST(json::parse(run.out).size() == 10U);
    BOOST_TEST(contains(json::parse(run.err).at("message").get<std::string>(), words), run.err);
    BOOST_TEST(!contains(list({"--limit", "3000"}).out, "more than"));
}

BOOST_AUTO_TEST_CASE(list_goes_on_without_a_server_and_reports_it)
{
    lock("seat");
    at(1).kill();
    finished_run const run = list();
    BOOST_TEST(run.status == 0);
    BOOST_TEST(contains(run.out, " 2 of 3 "), run.out);
    BOOST_TEST(contains(run.out, at(1).url() + "  unreachable (Connection refused)"), run.out);
    finished_run const object = list({"--json"});
    BOOST_TEST(json::parse(object.out).at(0).at("votes") == 2);
    BOOST_TEST(json::parse(object.err).at("node") == at(1).url());
    BOOST_TEST(list({"none"}).out.starts_with("no locks\n"));
    at(2).kill();
    BOOST_TEST(list().status == 69);
    BOOST_TEST(list({"none"}).out.starts_with("unknown: 1 of 3 nodes could be listed\n"));
    finished_run const few = list({"--json"});
    BOOST_TEST(few.status == 69);
    BOOST_TEST(json::parse(few.out).size() == 1U);
}

BOOST_AUTO_TEST_CASE(unusable_words_of_list_are_usage_errors)
{
    for (std::vector<std::string> const& words : std::vector<std::vector<std::string>>{{"--limit", "0"},
                                                                                       {"--limit", "many"},
                                                                                       {"--watch=0"},
                                                                                       {"--watch=soon"},
                                                                                       {"a", "b"},
                                                                                       {"--", "a", "b"}})
        BOOST_TEST(list(words).status == 64, words.back());
}

BOOST_AUTO_TEST_CASE(watch_prints_blocks_until_interrupt)
{
    lock("seat");
    tool watching({"list", "--watch=0.1", "se"}, env());
    wait_until([&] { return count_of(watching.out(), "NAME  KIND") >= 3; });
    BOOST_TEST(!contains(watching.out(), "\x1b"));
    BOOST_TEST(contains(watching.out(), "\n\n"));
    watching.send(SIGINT);
    BOOST_TEST(watching.wait() == 0);
    BOOST_TEST(!watching.killed());
    BOOST_TEST(watching.err() == "");
}

BOOST_AUTO_TEST_CASE(watch_prints_one_array_a_line)
{
    lock("seat");
    tool watching({"list", "--watch", "--json"}, env());
    wait_until([&] { return contains(watching.out(), "\n"); });
    watching.send(SIGINT);
    BOOST_TEST(watching.wait() == 0);
    std::istringstream lines(watching.out());
    std::string line;
    std::getline(lines, line);
    BOOST_TEST(json::parse(line).at(0).at("name") == "seat");
}

BOOST_AUTO_TEST_CASE(watch_draws_on_a_terminal)
{
    lock("seat");
    tool watching({"list", "--watch=0.1"}, env(), {.terminal = true, .shows = true});
    std::string const shown = watching.shown_until("seat  lock") + watching.shown_until("seat  lock");
    BOOST_TEST(contains(shown, "\x1b[H\x1b[2J"));
    watching.type('\x03'); // control and C
    BOOST_TEST(watching.wait() == 0);
}

BOOST_AUTO_TEST_CASE(list_without_a_right_ends_as_status_does)
{
    for (std::string const missing : {"scan", "getrange", "type", "pttl"}) {
        redis_server const server({.acl = {"user default off", "user few on >pw ~* +@all -" + missing,
                                           "user all on >pw ~* +@all"}});
        BOOST_TEST(finished_run({"acquire", "seat"}, as_user("all", server)).status == 0);
        finished_run const text({"list"}, as_user("few", server));
        BOOST_TEST(text.status == 69, missing);
        BOOST_TEST(contains(text.out, "NOPERM"), text.out);
        BOOST_TEST(contains(text.out, '\'' + missing + '\''), text.out);
    }
    redis_server const mute({.acl = {"user default off", "user few on >pw ~* +@all -get"}});
    BOOST_TEST(finished_run({"status", "seat"}, as_user("few", mute)).status == 69);
    redis_server const server({.acl = {"user default off"}});
    finished_run const text({"list"}, as_user("nobody", server));
    BOOST_TEST(text.status == finished_run({"status", "seat"}, as_user("nobody", server)).status);
    BOOST_TEST(contains(text.out, "WRONGPASS"), text.out);
}

BOOST_AUTO_TEST_CASE(list_shows_the_keys_that_a_user_may_read)
{
    redis_server const server({.acl = {"user default off", "user all on >pw ~* &* +@all",
                                       "user few on >pw ~seat* -@all +scan +type +pttl +getrange"}});
    BOOST_TEST(finished_run({"acquire", "seat"}, as_user("all", server)).status == 0);
    BOOST_TEST(finished_run({"acquire", "other"}, as_user("all", server)).status == 0);
    finished_run const text({"list"}, as_user("few", server));
    BOOST_TEST(text.status == 0);
    BOOST_TEST(contains(text.out, "\nseat  lock"), text.out);
    BOOST_TEST(contains(text.out, "1 of 1  ?\n"), text.out);
    BOOST_TEST(!contains(text.out, "other"), text.out);
    BOOST_TEST(contains(text.out, "1 key may not be read: NOPERM"), text.out);
}

BOOST_AUTO_TEST_CASE(list_without_permission_to_see_readers_leaves_it_open)
{
    redis_server const server({.acl = {"user default off", "user all on >pw ~* &* +@all",
                                       "user few on >pw ~* -@all +scan +type +pttl +getrange"}});
    environment inside = as_user("all", server);
    inside["FEW"] = as_user("few", server).at("REDLOCK_NODES");
    finished_run const run({"run", "--shared", "seat", "-c", "REDLOCK_NODES=$FEW '" REDLOCK_TOOL "' list"},
                           inside);
    BOOST_TEST(run.status == 0, run.err);
    BOOST_TEST(contains(run.out, "(readers, permits, or not a lock)"), run.out);
    BOOST_TEST(contains(run.out, "'eval'"), run.out);
}

BOOST_AUTO_TEST_SUITE_END()

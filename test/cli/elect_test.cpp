// SPDX-License-Identifier: BSL-1.0
#include "servers.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace redlock::test;

namespace {

std::vector<std::string> elect_shell(std::vector<std::string> options, std::string const& script)
{
    options.insert(options.begin(), "elect");
    options.insert(options.end(), {"seat", "--", "/bin/sh", "-c", script});
    return options;
}

bool leads(tool const& one)
{
    return !one.read("pid").empty();
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(elect, servers)

BOOST_AUTO_TEST_CASE(command_runs_where_the_leader_is_and_then_where_the_next_one_is)
{
    tool first(elect_shell({"--value", "a\t1"}, wait_for_go + "exit 7"), env());
    wait_until([&] { return leads(first); });
    finished_run const told({"leader", "seat"}, env());
    BOOST_TEST(told.status == 0);
    BOOST_TEST(told.out.starts_with("seat: led by a1 in term "), told.out);
    auto const exact = nlohmann::json::parse(finished_run({"leader", "--json", "seat"}, env()).out);
    BOOST_TEST(exact["value"] == "a\t1");
    tool second(elect_shell({"--value", "b:2"}, wait_for_go + "echo $REDLOCK_TOKEN > fence"), env());
    wait_until([&] { return contains(second.err(), "waiting for 'seat'"); });
    BOOST_TEST(!leads(second));
    first.write("go", "");
    BOOST_TEST(first.wait() == 7);
    wait_until([&] { return leads(second); });
    auto const object = nlohmann::json::parse(finished_run({"leader", "--json", "seat"}, env()).out);
    BOOST_TEST(object["value"] == "b:2");
    BOOST_TEST(object["vacant"] == false);
    BOOST_TEST(object["revision"] == 1);
    second.write("go", "");
    BOOST_TEST(second.wait() == 0);
    BOOST_TEST(second.read("fence") == std::to_string(object["term"].get<std::uint64_t>()) + "\n");
    finished_run const vacant({"leader", "seat"}, env());
    BOOST_TEST(vacant.status == 1);
    BOOST_TEST(vacant.out == "seat: nobody leads\n");
}

BOOST_AUTO_TEST_CASE(value_is_host_and_process_by_default)
{
    tool run(elect_shell({}, wait_for_go), env());
    wait_until([&] { return leads(run); });
    finished_run const told({"leader", "seat"}, env());
    BOOST_TEST(contains(told.out, ':' + std::to_string(run.pid()) + " in term "), told.out);
    run.write("go", "");
    BOOST_TEST(run.wait() == 0);
}

BOOST_AUTO_TEST_CASE(another_instance_runs_after_a_crash)
{
    tool first(elect_shell({"-t", "1s"}, wait_for_go), env());
    wait_until([&] { return leads(first); });
    tool second(elect_shell({"-t", "1s"}, wait_for_go), env());
    first.send(SIGKILL);
    BOOST_TEST(first.wait() == 128 + SIGKILL);
    wait_until([&] { return leads(second); });
    second.write("go", "");
    BOOST_TEST(second.wait() == 0);
}

/// The process stays in the fleet.
BOOST_AUTO_TEST_CASE(leader_that_lost_its_leadership_stops_the_command_and_campaigns_again)
{
    tool run(elect_shell({"-t", "3s"}, "echo $$ >> pids; " + wait_for_go), env());
    wait_until([&] { return leads(run); });
    std::string const before = run.read("pids");
    command({"DEL", "seat"});
    command({"INCRBY", "seat:redlock-fence", "1000000"}); // somebody came in between
    wait_until([&] { return run.read("pids").size() > before.size(); });
    BOOST_TEST(contains(run.err(), "stopping the command"), run.err());
    BOOST_TEST(!is_running(before.substr(0, before.size() - 1)));
    run.write("go", "");
    BOOST_TEST(run.wait() == 0);
}

/// It does not start the command again: nobody sends a second signal.
BOOST_AUTO_TEST_CASE(leader_that_was_told_to_end_ends_also_when_it_loses_its_leadership)
{
    tool run(elect_shell({"-t", "3s"}, "trap 'echo > told' TERM; echo $$ >> pids; " + wait_for_go), env());
    wait_until([&] { return leads(run); });
    run.send(SIGTERM);
    wait_until([&] { return !run.read("told").empty(); });
    command({"DEL", "seat"});
    command({"INCRBY", "seat:redlock-fence", "1000000"}); // somebody came in between
    BOOST_TEST(run.wait() == 128 + SIGTERM);
    BOOST_TEST(std::ranges::count(run.read("pids"), '\n') == 1);
}

BOOST_AUTO_TEST_CASE(signal_ends_a_waiter)
{
    set("seat", "theirs");
    tool run(elect_shell({}, "echo never"), env());
    wait_until([&] { return contains(run.err(), "waiting for 'seat'"); });
    run.send(SIGTERM);
    BOOST_TEST(run.wait() == 128 + SIGTERM);
    BOOST_TEST(run.out() == "");
}

BOOST_AUTO_TEST_CASE(unusable_words_are_usage_errors)
{
    BOOST_TEST(finished_run({"elect", "seat"}, env()).status == 64);
    BOOST_TEST(finished_run({"elect", "seat", "--value", std::string(4097, 'v'), "true"}, env()).status ==
               64);
    BOOST_TEST(finished_run({"elect", "-t", "100ms", "seat", "true"}, env()).status == 64);
    BOOST_TEST(finished_run({"leader", ""}, env()).status == 64);
    BOOST_TEST(finished_run({"leader", "seat:redlock-leader"}, env()).status == 64);
    BOOST_TEST(finished_run({"elect", "seat", "no-such-command"}, env()).status == 127);
}

BOOST_AUTO_TEST_CASE(too_few_nodes_do_not_tell_the_leader)
{
    environment const dead{{"REDLOCK_NODES", "redis://127.0.0.1:1 redis://127.0.0.1:2"}};
    BOOST_TEST(finished_run({"leader", "seat"}, dead).status == 69);
}

/// The lock's key is gone, too.
// rule EL2
BOOST_AUTO_TEST_CASE(missing_right_to_announce_a_leader_is_named)
{
    std::string const other_keys = "~seat ~seat:redlock-fence ~seat:redlock-queue ~redlock-marker";
    for (std::string const& rights :
         {other_keys + " +@all", std::string("~* +@all -mget"), std::string("~* +@all -pexpire")}) {
        redis_server const server(
            {.acl = {"user default on nopass ~* &* +@all", "user guest on >pw &* " + rights}});
        std::string const url = "redis://guest:pw@127.0.0.1:" + std::to_string(server.port());
        finished_run const told({"elect", "seat", "true"},
                                {{"REDLOCK_NODES", url}, {"REDLOCK_ASSUME_FRESH", "1"}});
        BOOST_TEST(told.status == 77, rights);
        BOOST_TEST((contains(told.err, "NOPERM") || contains(told.err, "The user executing the script") ||
                    contains(told.err, "ACL failure in script")),
                   told.err);
        BOOST_TEST(!probe(server.port()).exists("seat"), rights);
    }
}

BOOST_AUTO_TEST_CASE(missing_right_to_read_the_leader_is_named)
{
    redis_server const server({.acl = {"user default off", "user guest on >pw ~seat* +@all -get"}});
    std::string const url = "redis://guest:pw@127.0.0.1:" + std::to_string(server.port());
    finished_run const told({"leader", "seat"}, {{"REDLOCK_NODES", url}, {"REDLOCK_ASSUME_FRESH", "1"}});
    BOOST_TEST(told.status == 77);
    BOOST_TEST(contains(told.err, "NOPERM"), told.err);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "servers.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace redlock::test;

namespace {

/// Under the locks "row" and "seat".
std::vector<std::string> under_both(std::vector<std::string> const& options, std::string const& script)
{
    std::vector<std::string> words{"--also", "row"};
    words.insert(words.end(), options.begin(), options.end());
    return run_shell(words, script);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(run_of_several_names, servers)

BOOST_AUTO_TEST_CASE(command_runs_under_all_names)
{
    tool run(under_both({}, "echo $REDLOCK_NAME > name; " + wait_for_go + "exit 7"), env());
    wait_until([&] { return !run.read("pid").empty(); });
    std::string token = run.read("token");
    token.pop_back();
    for (std::string const name : {"row", "seat"}) {
        wait_until([&] { return holders(name, token) == 3; });
        BOOST_TEST(finished_run({"run", "-n", name, "true"}, env()).status == 75);
    }
    finished_run const overlapping({"run", "-n", "row", "--also", "aisle", "true"}, env());
    BOOST_TEST(overlapping.status == 75);
    BOOST_TEST(contains(overlapping.err, "'aisle, row': "), overlapping.err);
    BOOST_TEST(run.read("name") == "row, seat\n");
    run.write("go", "");
    BOOST_TEST(run.wait() == 7);
    wait_until([&] { return keys() == 0; });
    BOOST_TEST(run.err() == "");
}

BOOST_AUTO_TEST_CASE(nothing_is_taken_while_one_name_is_in_the_way)
{
    tool holder({"run", "row", "--", "/bin/sh", "-c", wait_for_go}, env());
    wait_until([&] { return !holder.read("pid").empty(); });
    BOOST_TEST(finished_run(under_both({"-n"}, "true"), env()).status == 75);
    BOOST_TEST(finished_run({"run", "-n", "seat", "true"}, env()).status == 0);
    tool waiter(under_both({}, wait_for_go), env());
    wait_until([&] { return contains(waiter.err(), "waiting for 'row, seat': "); });
    BOOST_TEST(waiter.read("pid") == "");
    holder.write("go", "");
    wait_until([&] { return !waiter.read("pid").empty(); });
    waiter.write("go", "");
    BOOST_TEST(waiter.wait() == 0);
}

BOOST_AUTO_TEST_CASE(command_stops_when_any_name_is_lost)
{
    tool run(under_both({"-t", "10m", "-k", "200ms"}, wait_for_go), env());
    wait_until([&] { return !run.read("pid").empty(); });
    wait_until([&] { return probes[0].command_calls("client|tracking") > 0; });
    command({"DEL", "row"});
    BOOST_TEST(run.wait() == 124);
    BOOST_TEST(contains(run.err(), "'row, seat' is lost"), run.err());
}

BOOST_AUTO_TEST_CASE(one_token_is_larger_than_those_of_each_name)
{
    auto const token = [&](std::vector<std::string> const& arguments) {
        finished_run const run(arguments, env());
        BOOST_TEST_REQUIRE(run.status == 0, run.err);
        return std::stoull(run.out);
    };
    std::string const tell = "echo $REDLOCK_TOKEN";
    auto const first = token({"run", "row", "--fenced", "-c", tell});
    auto const second = token({"run", "seat", "--fenced", "-c", tell});
    auto const both = token(under_both({"--fenced"}, tell));
    BOOST_TEST(both > std::max(first, second));
    BOOST_TEST(token({"run", "row", "--fenced", "-c", tell}) > both);
}

BOOST_AUTO_TEST_CASE(name_given_twice_counts_once)
{
    finished_run const run(run_shell({"--also", "seat"}, "echo $REDLOCK_NAME"), env());
    BOOST_TEST(run.out == "seat\n");
}

BOOST_AUTO_TEST_SUITE_END()

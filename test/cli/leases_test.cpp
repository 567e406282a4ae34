// SPDX-License-Identifier: BSL-1.0
#include "servers.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace redlock::test;
using nlohmann::json;

namespace {

struct leases_fixture : servers {
    json acquire(std::vector<std::string> const& more = {})
    {
        std::vector<std::string> arguments{"acquire", "--json", "seat"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        finished_run const run(arguments, env());
        BOOST_TEST_REQUIRE(run.status == 0);
        return json::parse(run.out);
    }
    int extend(std::string const& token, std::vector<std::string> const& more = {})
    {
        std::vector<std::string> arguments{"extend", "--json", "seat", "--owner", token};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return finished_run(arguments, env()).status;
    }
    /// The tool is $t there.
    finished_run in_shell(std::string const& script)
    {
        return finished_run({"run", "--prefix", "outer:", "shell", "-c", "t='" REDLOCK_TOOL "'; " + script},
                            env());
    }
    int release(std::string const& token)
    {
        return finished_run({"release", "seat", "--owner", token}, env()).status;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(leases, leases_fixture)

BOOST_AUTO_TEST_CASE(acquired_lock_outlives_its_process)
{
    json const told = acquire({"-t", "60s"});
    std::string const token = told.at("owner");
    BOOST_TEST(told.at("name") == "seat");
    BOOST_TEST(told.at("valid_ms").get<int>() <= 60'000);
    BOOST_TEST(told.at("valid_ms").get<int>() > 30'000);
    BOOST_TEST(!told.contains("token"));
    BOOST_TEST(holders("seat", token) >= 2U);
    BOOST_TEST(pttl("seat") > 30'000);
    BOOST_TEST(finished_run({"acquire", "-n", "seat"}, env()).status == 75);
    BOOST_TEST(release(token) == 0);
    wait_until([&] { return keys() == 0; });
}

BOOST_AUTO_TEST_CASE(extend_and_release_need_only_the_owner_token)
{
    std::string const token = acquire({"-t", "20s"}).at("owner");
    BOOST_TEST(extend(token, {"-t", "10m"}) == 0);
    BOOST_TEST(pttl("seat") > 300'000);
    BOOST_TEST(holders("seat", token) >= 2U);
    BOOST_TEST(extend(std::string(32, 'a')) == 1);
    BOOST_TEST(release(std::string(32, 'a')) == 1);
    BOOST_TEST(holders("seat", token) >= 2U);
    BOOST_TEST(release(token) == 0);
    BOOST_TEST(release(token) == 1);
    BOOST_TEST(extend(token) == 1);
    wait_until([&] { return keys() == 0; });
}

BOOST_AUTO_TEST_CASE(fenced_lease_keeps_its_fencing_token)
{
    json const first = acquire({"--fenced"});
    std::string const token = first.at("owner");
    std::string const fence = std::to_string(first.at("token").get<std::uint64_t>());
    // A node that is still connecting gives no answer, and one that was connecting at the vote has no key: two other
    // answers are certain.
    wait_until([&] { return extend(token, {"--token", fence}) == 0; });
    BOOST_TEST(release(token) == 0);
    wait_until([&] { return extend(token, {"--token", fence}) == 1; });
    json const second = acquire({"--fenced"});
    BOOST_TEST(second.at("token").get<std::uint64_t>() > first.at("token").get<std::uint64_t>());
}

BOOST_AUTO_TEST_CASE(wrong_fencing_token_changes_nothing)
{
    json const told = acquire({"--fenced", "-t", "60s"});
    std::string const token = told.at("owner");
    std::uint64_t const fence = told.at("token").get<std::uint64_t>();
    wait_until([&] { return holders("seat", token) == 3; });
    auto const with = [&](std::string const& number) {
        return finished_run({"extend", "seat", "--owner", token, "--token", number}, env());
    };
    finished_run const impossible(with("9007199254740992"));
    BOOST_TEST(impossible.status == 64, impossible.err);
    BOOST_TEST(contains(impossible.err, "below 2^53"));
    wait_until([&] { // the answer of too few nodes is not certain
        finished_run const larger(with(std::to_string(fence + (std::uint64_t{1} << 40U))));
        return contains(larger.err, "is not held with this owner token and fencing token");
    });
    BOOST_TEST(holders("seat", token) == 3U);
    BOOST_TEST(with(std::to_string(fence)).status == 0);
    BOOST_TEST(release(token) == 0);
    BOOST_TEST(finished_run({"acquire", "--fenced", "-n", "seat"}, env()).status == 0);
}

BOOST_AUTO_TEST_CASE(lease_passes_through_shell_environment)
{
    temporary_directory const place("redlock-shell");
    std::string const script =
        "set -e; t='" REDLOCK_TOOL "'; eval \"$($t acquire --fenced \"it's\")\"; "
        "echo $REDLOCK_NAME; $t extend -t 60s >/dev/null; $t status \"it's\" >/dev/null; $t release; "
        "$t status \"it's\" || echo free";
    finished_run const run({"run", "outer", "-c", script}, env()); // a shell that has the nodes
    BOOST_TEST_CONTEXT(run.err) BOOST_TEST(run.status == 0);
    BOOST_TEST(run.out.starts_with("it's\n"));
    BOOST_TEST(run.out.ends_with("free\n"));
}

BOOST_AUTO_TEST_CASE(extend_uses_ttl_of_the_lease_by_default)
{
    std::string const acquire = "eval \"$(\"$t\" acquire -t 10m seat)\"; echo $REDLOCK_TTL; ";
    auto const left = [&](std::string const& extend) {
        finished_run const run(in_shell(acquire + extend + " >/dev/null"));
        BOOST_TEST_CONTEXT(run.err) BOOST_TEST(run.status == 0);
        BOOST_TEST(run.out == "600000ms\n");
        auto const most_have = pttl("seat");
        command({"DEL", "seat"});
        return most_have;
    };
    BOOST_TEST(left("\"$t\" extend") > 300'000);
    BOOST_TEST(left("\"$t\" extend -t 60s") < 300'000);
    BOOST_TEST(left("token=$REDLOCK_OWNER; REDLOCK_OWNER= \"$t\" extend --owner $token") < 300'000);
}

BOOST_AUTO_TEST_CASE(script_does_not_go_on_without_the_lock)
{
    set("seat", "theirs");
    std::string const rest = " seat)\"; then echo goes on; fi";
    for (std::string const how : {"-n", "-n -q", "-w 50ms", "-n --no-such-option", "-n -u ftp://nowhere"}) {
        finished_run const run(in_shell("if eval \"$(\"$t\" acquire " + how + rest));
        BOOST_TEST_CONTEXT(how << run.err) BOOST_TEST(run.out == "");
    }
}

BOOST_AUTO_TEST_CASE(quiet_refusal_ends_a_script_without_a_word)
{
    set("seat", "theirs");
    finished_run const run(in_shell("lock=$(\"$t\" acquire -n -q seat) || exit; echo goes on"));
    BOOST_TEST(run.status == 75);
    BOOST_TEST(run.out + run.err == "");
}

/// A fenced lock around it has left one there.
BOOST_AUTO_TEST_CASE(other_lease_takes_no_token_from_the_environment)
{
    finished_run const run(in_shell("export REDLOCK_TOKEN=4096; lock=$(\"$t\" acquire seat) && eval "
                                    "\"$lock\" && \"$t\" extend >/dev/null"));
    BOOST_TEST(run.status == 0, run.err);
}

BOOST_AUTO_TEST_CASE(acquire_that_cannot_write_its_token_releases)
{
    for (std::string const where : {">/dev/full", ">&-"}) {
        finished_run const run(in_shell("\"$t\" acquire seat " + where + "; echo $? >&2"));
        BOOST_TEST_CONTEXT(where << run.err)
        {
            BOOST_TEST(contains(run.err, "redlock: cannot write to standard output: "));
            BOOST_TEST(run.err.ends_with("\n125\n"));
            wait_until([&] { return keys() == 0; });
        }
    }
}

BOOST_AUTO_TEST_CASE(verb_that_cannot_write_its_output_fails)
{
    std::string const token = acquire({"-t", "20s"}).at("owner");
    for (std::string const what :
         {"status seat", "doctor", "status --json seat", "--help", "--version", "run --help"}) {
        finished_run const run(in_shell("\"$t\" " + what + " >/dev/full; exit $?"));
        BOOST_TEST_CONTEXT(what << run.err)
        {
            BOOST_TEST(run.status == 125);
            BOOST_TEST(contains(run.err, "cannot write to standard output: No space left on device"));
        }
    }
    finished_run const run(in_shell("\"$t\" extend seat -t 10m --owner " + token + " >/dev/full"));
    BOOST_TEST(run.status == 125);
    BOOST_TEST(holders("seat", token) >= 2U);
    BOOST_TEST(pttl("seat") > 300'000);
}

BOOST_AUTO_TEST_CASE(failure_with_json_option_is_json)
{
    set("seat", "theirs");
    finished_run const run({"acquire", "--json", "-n", "seat"}, env());
    json const told = json::parse(run.out);
    BOOST_TEST(told.at("exit_status") == 75);
    BOOST_TEST(told.at("nodes").size() == 3U);
    BOOST_TEST(contains(told.at("error"), "contended"));
    BOOST_TEST(run.err == "");
}

BOOST_AUTO_TEST_CASE(extend_without_majority_is_no_quorum_and_not_lost)
{
    std::string const token = acquire().at("owner");
    std::size_t const last = probes[0].get("seat") == token ? 0 : 1; // one of the nodes that have it
    for (std::size_t i = 0; i != 3; ++i)
        if (i != last)
            at(i).kill();
    BOOST_TEST(extend(token, {"-t", "1s"}) == 69);
    BOOST_TEST(probes[last].get("seat").value_or("") == token);
    BOOST_TEST(release(token) == 69);
    wait_until([&] { return probes[last].keys().empty(); });
}

/// `release` makes no lock, and does not know how long the released one was.
BOOST_AUTO_TEST_CASE(release_ignores_longest_ttl)
{
    std::string const token = acquire({"-t", "60s"}).at("owner");
    finished_run const run({"release", "seat", "--owner", token, "--longest-ttl", "5s"}, env());
    BOOST_TEST(run.status == 0, run.err);
    wait_until([&] { return keys() == 0; });
}

BOOST_AUTO_TEST_CASE(prefix_option_is_part_of_the_key)
{
    finished_run const run({"acquire", "--prefix", "lock:", "seat"}, env());
    BOOST_TEST(run.status == 0);
    BOOST_TEST(contains(run.out, "export REDLOCK_NAME='seat'\n"));
    BOOST_TEST(pttl("lock:seat") > 0);
}

BOOST_AUTO_TEST_SUITE_END()

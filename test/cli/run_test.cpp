// SPDX-License-Identifier: BSL-1.0
#include "kit/native_right.hpp"
#include "servers.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <deque>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(runs, servers)

BOOST_AUTO_TEST_CASE(command_runs_under_lock_and_its_status_is_passed_on)
{
    tool run(run_shell({}, wait_for_go + "exit 7"), env());
    wait_until([&] { return !run.read("pid").empty(); });
    std::string token = run.read("token");
    token.pop_back();
    BOOST_TEST(token.size() == 32U);
    wait_until([&] { return holders("seat", token) == 3; });
    run.write("go", "");
    BOOST_TEST(run.wait() == 7);
    BOOST_TEST(!run.killed());
    wait_until([&] { return keys() == 0; });
    BOOST_TEST(run.err() == "");
    BOOST_TEST(run.out() == "");
}

BOOST_AUTO_TEST_CASE(commands_run_together_as_readers_and_alone_as_writer)
{
    tool run(run_shell({"--shared"}, wait_for_go), env());
    wait_until([&] { return !run.read("pid").empty(); });
    BOOST_TEST(finished_run(run_shell({"--shared", "-n"}, "true"), env()).status == 0);
    for (std::string const alone : {"--exclusive", "--fenced"}) {
        finished_run const refused(run_shell({alone, "-n"}, "true"), env());
        BOOST_TEST(refused.status == 75);
    }
    run.write("go", "");
    BOOST_TEST(run.wait() == 0);
    BOOST_TEST(finished_run(run_shell({"--exclusive", "-n"}, "true"), env()).status == 0);
    BOOST_TEST(finished_run(run_shell({"--shared", "--exclusive"}, "true"), env()).status == 64);
}

BOOST_AUTO_TEST_CASE(no_more_commands_run_at_once_than_there_are_permits)
{
    tool one(run_shell({"--permits", "2"}, "echo $REDLOCK_PERMITS > permits; " + wait_for_go), env());
    wait_until([&] { return !one.read("pid").empty(); });
    BOOST_TEST((one.read("permits") == "0\n" || one.read("permits") == "1\n"));
    BOOST_TEST(finished_run(run_shell({"--permits", "2", "-n"}, "true"), env()).status == 0);
    BOOST_TEST(finished_run(run_shell({"--permits", "2", "--count", "2", "-n"}, "true"), env()).status == 75);
    BOOST_TEST(finished_run(run_shell({"-n"}, "true"), env()).status == 75);
    one.write("go", "");
    BOOST_TEST(one.wait() == 0);
    finished_run const both(run_shell({"--permits", "2", "--count", "2", "--fenced", "-n"},
                                      "test \"$REDLOCK_PERMITS\" = '0 1' && test $REDLOCK_TOKEN -gt 0"),
                            env());
    BOOST_TEST(both.status == 0);
    for (std::vector<std::string> const& wrong : std::vector<std::vector<std::string>>{
             {"--permits", "0"}, {"--permits", "1025"}, {"--permits", "2", "--count", "3"}, {"--count", "2"}})
        BOOST_TEST(finished_run(run_shell(wrong, "true"), env()).status == 64);
    for (std::string const wrong : {"0", "1025"}) {
        std::string const said = finished_run(run_shell({"--permits", wrong}, "true"), env()).err;
        BOOST_TEST(contains(said, "--permits: Value " + wrong + " not in range "), said);
        BOOST_TEST(contains(said, "1 to 1024") != contains(said, "[1 - 1024]"), said); // as CLI11 has it
    }
}

/// Whichever node is the one where they meet, and the only one that is asked.
BOOST_AUTO_TEST_CASE(wait_for_taken_permit_is_conflict_as_long_as_majority_is_there)
{
    std::array<std::string, 6> const names{"q1", "q2", "q3", "q4", "q5", "q6"};
    auto const words = [](std::string const& name, std::vector<std::string> options,
                          std::string const& command) {
        options.insert(options.begin(), {"run", "--permits", "1"});
        options.insert(options.end(), {name, "--", "/bin/sh", "-c", command});
        return options;
    };
    std::deque<tool> holders;
    for (std::string const& name : names) {
        holders.emplace_back(words(name, {}, wait_for_go), env());
        wait_until([&] { return !holders.back().read("pid").empty(); });
        BOOST_TEST(finished_run(words(name, {"-w", "300ms"}, "true"), env()).status == 75, name);
        BOOST_TEST(finished_run(words(name, {"-n"}, "true"), env()).status == 75, name);
    }
    at(0).kill();
    at(1).kill();
    for (std::string const& name : names)
        BOOST_TEST(finished_run(words(name, {"-w", "300ms"}, "true"), env()).status == 69, name);
}

// rule S16
BOOST_AUTO_TEST_CASE(tokens_of_readers_and_writers_follow_the_order_of_grants)
{
    auto const token = [&](std::string const& how) {
        finished_run const run(run_shell({how, "--fenced", "-n"}, "echo $REDLOCK_TOKEN"), env());
        BOOST_TEST_REQUIRE(run.status == 0, run.err);
        return std::stoull(run.out);
    };
    tool reader(run_shell({"--shared", "--fenced"}, "echo $REDLOCK_TOKEN > fence; " + wait_for_go), env());
    wait_until([&] { return !reader.read("pid").empty(); });
    auto const first = std::stoull(reader.read("fence"));
    auto const second = token("--shared");
    BOOST_TEST(second >= first); // the nodes' clocks may have come to the next date meanwhile
    BOOST_TEST(finished_run(run_shell({"--exclusive", "--fenced", "-n"}, "true"), env()).status == 75);
    reader.write("go", "");
    BOOST_TEST(reader.wait() == 0);
    auto const written = token("--exclusive");
    BOOST_TEST(written > second);
    BOOST_TEST(token("--shared") > written);
}

BOOST_AUTO_TEST_CASE(command_killed_by_signal_gives_status_like_shells)
{
    finished_run const run(run_shell({}, "kill -USR1 $$"), env());
    BOOST_TEST(run.status == 128 + SIGUSR1);
}

BOOST_AUTO_TEST_CASE(command_gets_lease_in_environment)
{
    finished_run const run(
        run_shell({"--fenced", "-t", "60s"},
                  "echo $REDLOCK_NAME $((REDLOCK_EXPIRES_AT - $(date +%s) > 40)) $((REDLOCK_TOKEN > 0))"),
        env());
    BOOST_TEST(run.out == "seat 1 1\n");
    finished_run const plain(
        run_shell({}, "echo ${REDLOCK_TOKEN-none}"),
        {{"REDLOCK_NODES", nodes}, {"REDLOCK_ASSUME_FRESH", "1"}, {"REDLOCK_TOKEN", "5"}});
    BOOST_TEST(plain.out == "none\n");
}

BOOST_AUTO_TEST_CASE(command_inherits_input_but_no_connections)
{
    tool run(run_shell({}, "cat; ls -l /proc/self/fd | grep -c -e socket: -e eventpoll"), env(),
             {.input = "words\n"});
    BOOST_TEST(run.wait() == 1); // grep's, which finds none
    BOOST_TEST(run.out() == "words\n0\n");
}

BOOST_AUTO_TEST_CASE(command_line_option_is_run_by_the_shell)
{
    finished_run const run({"run", "seat", "-c", "echo a | tr a b"}, env());
    BOOST_TEST(run.status == 0);
    BOOST_TEST(run.out == "b\n");
}

BOOST_AUTO_TEST_CASE(options_of_command_are_passed_through)
{
    finished_run const run({"run", "seat", "printf", "%s|", "-n", "--json", "--", "-q"}, env());
    BOOST_TEST(run.out == "-n|--json|--|-q|");
    finished_run const dashed({"run", "seat", "--", "-no-such-command"}, env());
    BOOST_TEST(dashed.status == 127);
}

BOOST_AUTO_TEST_CASE(command_that_cannot_be_executed_leaves_no_key)
{
    finished_run const unknown({"run", "seat", "no-such-command"}, env());
    BOOST_TEST(unknown.status == 127);
    BOOST_TEST(contains(unknown.err, "no-such-command: No such file"));
    finished_run const forbidden({"run", "seat", "/etc/passwd"}, env());
    BOOST_TEST(forbidden.status == 126);
    wait_until([&] { return keys() == 0; });
}

BOOST_AUTO_TEST_CASE(lock_is_renewed_while_command_runs)
{
    tool run(run_shell({"-t", "1s", "-k", "100ms"}, wait_for_go), env());
    for (int const times : {1, 2, 3})
        wait_until([&] { return renewals() >= times; });
    run.write("go", "");
    BOOST_TEST(run.wait() == 0);
}

/// The time between the signal and KILL is then what fits.
BOOST_AUTO_TEST_CASE(short_ttl_needs_no_other_option)
{
    for (std::string const ttl : {"3s", "5s", "10s"})
        BOOST_TEST(finished_run(run_shell({"-t", ttl}, "exit 7"), env()).status == 7, ttl);
}

BOOST_AUTO_TEST_CASE(held_lock_ends_run_at_once_or_after_wait_option)
{
    set("seat", "theirs");
    auto const status = [&](std::vector<std::string> const& how) {
        finished_run const run(run_shell(how, "echo never"), env());
        BOOST_TEST(run.out == "");
        return run.status;
    };
    BOOST_TEST(status({"-n"}) == 75);
    BOOST_TEST(status({"-w", "0"}) == 75);
    BOOST_TEST(status({"-w", "1s"}) == 75); // in which connecting counts
    BOOST_TEST(status({"-n", "-E", "3"}) == 3);
    BOOST_TEST(status({"-n", "-E", "0"}) == 0);
    BOOST_TEST(contains(finished_run(run_shell({"-n", "-E", "0"}, "true"), env()).err, "held by"));
    finished_run const quiet(run_shell({"-n", "-q"}, "echo never"), env());
    BOOST_TEST(quiet.status == 0);
    BOOST_TEST(quiet.out + quiet.err == "");
    BOOST_TEST(holders("seat", "theirs") == 3U);
}

BOOST_AUTO_TEST_CASE(lock_that_becomes_free_is_taken)
{
    set("seat", "theirs");
    tool run(run_shell({"-w", "20s"}, "echo mine"), env());
    wait_until([&] { return probes[0].command_calls("set") > 1; });
    command({"DEL", "seat"});
    BOOST_TEST(run.wait() == 0);
    BOOST_TEST(run.out() == "mine\n");
}

BOOST_AUTO_TEST_CASE(waiting_run_reports_what_it_waits_for)
{
    set("seat", "theirs");
    tool run(run_shell({}, "echo mine"), env());
    tool acquire({"acquire", "--json", "seat"}, env());
    wait_until([&] { return contains(run.err(), "redlock: waiting for 'seat': held by others\n"); });
    wait_until([&] { return acquire.err().ends_with('\n'); });
    BOOST_TEST(nlohmann::json::parse(acquire.err()).at("event") == "waiting");
    BOOST_TEST(!nlohmann::json::parse(acquire.err()).contains("before"));
    finished_run const quiet(run_shell({"-q", "-w", "1500ms"}, "echo never"), env());
    BOOST_TEST(quiet.out + quiet.err == "");
    command({"DEL", "seat"});
    wait_until([&] { return run.out() == "mine\n" || contains(acquire.out(), "owner"); });
}

BOOST_AUTO_TEST_CASE(waiting_run_reports_its_position_in_the_queue)
{
    tool holder(run_shell({}, wait_for_go), env());
    wait_until([&] { return !holder.read("pid").empty(); });
    tool run(run_shell({"--json"}, "echo mine"), env());
    wait_until([&] { return run.err().ends_with('\n'); });
    auto const told = nlohmann::json::parse(run.err());
    BOOST_TEST(told.at("why") == "first in the queue");
    BOOST_TEST(told.at("before") == 0);
    tool text(run_shell({}, "echo mine"), env());
    wait_until([&] {
        return contains(text.err(), "redlock: waiting for 'seat': second in the queue, behind 1 other\n");
    });
    holder.write("go", "");
    BOOST_TEST(run.wait() + text.wait() == 0);
}

BOOST_AUTO_TEST_CASE(waiting_for_young_servers_reports_remaining_time)
{
    tool run(run_shell({"-t", "10m"}, "echo mine"), {{"REDLOCK_NODES", nodes}});
    wait_until([&] { return contains(run.err(), "nodes quarantined, a majority may vote in "); });
    BOOST_TEST(contains(run.err(), "redlock: waiting for 'seat': "));
}

BOOST_AUTO_TEST_CASE(waiting_for_unreachable_servers_reports_their_errors)
{
    at(0).kill();
    at(1).kill();
    tool run(run_shell({}, "echo mine"), env());
    // The second one may say something else, or be connecting again.
    wait_until([&] { return contains(run.err(), "redlock: waiting for 'seat': " + at(0).url()); });
    BOOST_TEST(contains(run.err(), " down ("));
}

BOOST_DATA_TEST_CASE(signal_while_waiting_ends_run_and_leaves_no_key,
                     boost::unit_test::data::make({SIGINT, SIGTERM, SIGHUP}), signal)
{
    for (std::size_t i : {0U, 1U})
        probes[i].command({"SET", "seat", "theirs"});
    tool run(run_shell({}, "echo never"), env());
    wait_until([&] { return probes[0].command_calls("set") + probes[1].command_calls("set") > 2; });
    run.send(signal);
    BOOST_TEST(run.wait() == 128 + signal);
    BOOST_TEST(run.killed());
    BOOST_TEST(run.out() == "");
    wait_until([&] { return probes[2].keys().empty(); });
    BOOST_TEST(holders("seat", "theirs") == 2U);
}

BOOST_AUTO_TEST_CASE(signal_is_passed_to_command_and_its_children)
{
    tool run(run_shell({}, "trap 'echo told' USR1; (trap 'echo told too; exit' USR1; echo > ready; while :; "
                           "do sleep 0.02; done) & wait; wait; exit 5"),
             env());
    wait_until([&] { return !run.read("ready").empty(); });
    run.send(SIGUSR1);
    BOOST_TEST(run.wait() == 5);
    BOOST_TEST(contains(run.out(), "told\n"));
    BOOST_TEST(contains(run.out(), "told too\n"));
    wait_until([&] { return keys() == 0; });
}

/// A suspended command would notice the signal only when it is resumed, and keep the lock until then.
BOOST_DATA_TEST_CASE(terminating_signal_ends_suspended_command,
                     boost::unit_test::data::make({SIGTERM, SIGINT, SIGHUP, SIGQUIT}), signal)
{
    tool run(run_shell({}, "echo $$ > pid.new; mv pid.new pid; kill -STOP $$; exit 5"), env());
    wait_until([&] { return !run.read("pid").empty() && is_stopped(run.read("pid")); });
    run.send(signal);
    BOOST_TEST(run.wait() == 128 + signal);
    wait_until([&] { return keys() == 0; });
}

BOOST_AUTO_TEST_CASE(other_signal_leaves_suspended_command_suspended)
{
    tool run(run_shell({}, "trap 'echo told' USR1; " + wait_for_go + "exit 5"), env());
    wait_until([&] { return !run.read("pid").empty(); });
    std::string const pid = run.read("pid");
    auto const command = static_cast<pid_t>(std::stol(pid));
    ::kill(command, SIGSTOP);
    wait_until([&] { return is_stopped(pid); });
    run.send(SIGUSR1);
    wait_until([&] { return is_pending(pid, SIGUSR1); });
    BOOST_TEST(is_stopped(pid));
    ::kill(command, SIGCONT);
    run.write("go", "");
    BOOST_TEST(run.wait() == 5);
    BOOST_TEST(run.out() == "told\n");
}

BOOST_AUTO_TEST_CASE(command_that_ignores_signals_keeps_its_lock)
{
    tool run(run_shell({}, "trap '' TERM; " + wait_for_go + "exit 6"), env());
    wait_until([&] { return !run.read("pid").empty(); });
    run.send(SIGTERM);
    run.write("go", "");
    BOOST_TEST(run.wait() == 6);
}

BOOST_AUTO_TEST_CASE(ignored_signal_stays_ignored)
{
    set("seat", "theirs");
    tool run(run_shell({}, "echo mine"), env(), {.ignored = SIGHUP});
    wait_until([&] { return probes[0].command_calls("set") > 1; });
    run.send(SIGHUP);
    command({"DEL", "seat"});
    BOOST_TEST(run.wait() == 0);
    BOOST_TEST(run.out() == "mine\n");
}

BOOST_AUTO_TEST_CASE(end_is_noticed_if_its_signal_is_blocked)
{
    tool run(run_shell({}, "exit 3"), env(), {.blocked = SIGCHLD});
    BOOST_TEST(run.wait() == 3);
}

BOOST_AUTO_TEST_CASE(orphan_outside_the_process_group_leaves_no_zombie)
{
    tool run(run_shell({}, "(setsid sh -c 'until [ -e end ]; do sleep 0.02; done' & echo $! > orphan); " +
                               wait_for_go),
             env());
    wait_until([&] { return !run.read("pid").empty(); });
    auto const orphan = static_cast<pid_t>(std::stol(run.read("orphan")));
    run.write("end", "");
    wait_until([&] { return ::kill(orphan, 0) != 0; }); // a zombie can be sent signals
    BOOST_TEST(is_running(run.read("pid")));
    run.write("go", "");
    BOOST_TEST(run.wait() == 0);
}

BOOST_AUTO_TEST_CASE(command_keeps_inherited_sigpipe_action)
{
    std::string const script = "kill -PIPE $$; echo alive";
    BOOST_TEST(finished_run(run_shell({}, script), env()).status == 128 + SIGPIPE);
    tool ignoring(run_shell({}, script), env(), {.ignored = SIGPIPE});
    BOOST_TEST(ignoring.wait() == 0);
    BOOST_TEST(ignoring.out() == "alive\n");
}

BOOST_AUTO_TEST_CASE(killed_run_ends_command_and_key_expires)
{
    tool run(run_shell({"-t", "1s", "-k", "100ms"}, wait_for_go), env());
    wait_until([&] { return !run.read("pid").empty(); });
    std::string const pid = run.read("pid");
    BOOST_TEST(is_running(pid));
    run.send(SIGKILL);
    BOOST_TEST(run.wait() == 128 + SIGKILL);
    wait_until([&] { return !is_running(pid); });
    wait_until([&] { return keys() == 0; });
}

BOOST_AUTO_TEST_CASE(command_is_in_foreground_of_terminal)
{
    tool run(run_shell({}, "trap 'echo told; exit 5' INT; " + wait_for_go), env(), {.terminal = true});
    wait_until([&] { return !run.read("pid").empty(); });
    run.type('\x03'); // Ctrl-C
    BOOST_TEST(run.wait() == 5);
    BOOST_TEST(run.out() == "told\n");
    wait_until([&] { return keys() == 0; });
}

BOOST_AUTO_TEST_CASE(command_is_not_suspended_by_terminal_while_locked)
{
    // The shell runs no other program: a shell that is just starting one is not stopped, and the started program is.
    std::string const busy = "echo $$ > pid.new; mv pid.new pid; until [ -e go ]; do :; done; exit 5";
    tool run(run_shell({}, busy), env(), {.terminal = true});
    wait_until([&] { return !run.read("pid").empty(); });
    run.type('\x1a'); // Ctrl-Z
    run.write("go", "");
    BOOST_TEST(run.wait() == 5);
}

BOOST_DATA_TEST_CASE(run_is_not_suspended_while_it_guards_a_command,
                     boost::unit_test::data::make({SIGTSTP, SIGTTOU, SIGTTIN}), signal)
{
    tool run(run_shell({"-t", "1s", "-k", "100ms"}, wait_for_go + "exit 5"), env());
    wait_until([&] { return !run.read("pid").empty(); });
    run.send(signal);
    auto const before = renewals();
    wait_until([&] { return renewals() > before + 1; });
    run.write("go", "");
    BOOST_TEST(run.wait() == 5);
}

BOOST_DATA_TEST_CASE(command_keeps_inherited_suspend_signals,
                     boost::unit_test::data::make({SIGTSTP, SIGTTOU, SIGTTIN}), signal)
{
    tool run(run_shell({}, wait_for_go), env());
    wait_until([&] { return !run.read("pid").empty(); });
    std::string const pid = run.read("pid");
    ::kill(static_cast<pid_t>(std::stol(pid)), signal);
    wait_until([&] { return is_stopped(pid); });
    ::kill(static_cast<pid_t>(std::stol(pid)), SIGCONT);
    run.write("go", "");
    BOOST_TEST(run.wait() == 0);
    tool ignoring(run_shell({}, "kill -" + std::to_string(signal) + " $$; echo alive"), env(),
                  {.ignored = signal});
    BOOST_TEST(ignoring.wait() == 0);
    BOOST_TEST(ignoring.out() == "alive\n");
}

BOOST_AUTO_TEST_CASE(json_event_is_one_bounded_object_for_any_name)
{
    std::string const one(512, '\x01'); // six characters each, where it is JSON
    std::string const other(512, '\x02');
    tool run({"run", "--json", "-v", one, "--also", other, "true"}, env());
    BOOST_TEST(run.wait() == 0);
    std::istringstream lines(run.err());
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
        BOOST_TEST(line.size() < static_cast<std::size_t>(PIPE_BUF));
        BOOST_TEST(nlohmann::json::parse(line).at("cut") == true);
    }
    BOOST_TEST(count == 2U);
}

BOOST_AUTO_TEST_CASE(events_with_json_option_are_json)
{
    finished_run const run(run_shell({"--json", "-v"}, "exit 0"), env());
    BOOST_TEST(run.out == "");
    std::vector<std::string> events;
    std::istringstream lines(run.err);
    for (std::string line; std::getline(lines, line);)
        events.push_back(nlohmann::json::parse(line).at("event"));
    BOOST_TEST(events == (std::vector<std::string>{"acquired", "released"}),
               boost::test_tools::per_element());
}

/// Servers that compare by themselves need no script for it.
BOOST_AUTO_TEST_CASE(reason_why_a_lock_was_not_released_is_told)
{
    std::string native = native_right();
    std::ranges::replace(native, '+', '-');
    redis_server const server(
        {.acl = {"user default off", "user guest on >pw ~seat* +@all -eval -evalsha" + native}});
    std::string const url = "redis://guest:pw@127.0.0.1:" + std::to_string(server.port());
    finished_run const told({"run", "seat", "--", "true"},
                            {{"REDLOCK_NODES", url}, {"REDLOCK_ASSUME_FRESH", "1"}});
    BOOST_TEST(told.status == 0);
    BOOST_TEST(contains(told.err, "not released everywhere and expires by itself; redis://"), told.err);
    BOOST_TEST(contains(told.err, "NOPERM"), told.err);
}

BOOST_AUTO_TEST_SUITE_END()

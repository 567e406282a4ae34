// SPDX-License-Identifier: BSL-1.0
#include "servers.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <utility>

using namespace redlock::test;

namespace {

/// The lease ends when a test takes it away, and not before, however slow the machine is.
std::vector<std::string> const long_lease{"-t", "10m"};
/// For commands that ignore the signal.
std::vector<std::string> const then_killed_soon{"-t", "10m", "-k", "200ms"};

/// Nobody reads it.
struct mute_pipe {
    mute_pipe() { BOOST_TEST_REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0); }
    ~mute_pipe()
    {
        lose_reader();
        ::close(ends[1]);
    }
    mute_pipe(mute_pipe const&) = delete;
    mute_pipe& operator=(mute_pipe const&) = delete;

    void fill() const
    {
        ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
        for (std::size_t size : {4096U, 1U})
            while (::write(ends[1], std::string(size, 'x').data(), size) > 0) {
            }
        ::fcntl(ends[1], F_SETFL, 0);
    }
    void lose_reader() { ::close(std::exchange(ends[0], -1)); }

    std::array<int, 2> ends{};
};

struct loss_fixture : servers {
    void lose_majority()
    {
        at(0).pause();
        at(1).pause();
    }
    /// Deletes the lock, which its holder notices at once.
    void take_away()
    {
        wait_until([&] { return probes[0].command_calls("client|tracking") > 0; });
        command({"DEL", "seat"});
    }
    void started(tool& run)
    {
        wait_until([&] { return !run.read("pid").empty(); });
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(losses, loss_fixture)

BOOST_AUTO_TEST_CASE(command_is_stopped_when_majority_is_gone)
{
    tool run(run_shell({"-t", "4s", "-k", "1900ms"}, "trap 'echo bye; exit 0' TERM; " + wait_for_go), env());
    started(run);
    lose_majority();
    BOOST_TEST(run.wait() == 124);
    BOOST_TEST(run.out() == "bye\n");
    BOOST_TEST(contains(run.err(), "'seat' cannot be renewed"));
    BOOST_TEST(!is_running(run.read("pid")));
}

BOOST_AUTO_TEST_CASE(command_that_ignores_the_signal_is_killed_with_its_children)
{
    tool run(
        run_shell(then_killed_soon,
                  "trap '' TERM; (echo $(exec sh -c 'echo $PPID') > second; sleep 1000) & " + wait_for_go),
        env());
    started(run);
    wait_until([&] { return !run.read("second").empty(); });
    take_away();
    BOOST_TEST(run.wait() == 124);
    BOOST_TEST(!is_running(run.read("pid")));
    BOOST_TEST(!is_running(run.read("second")));
}

BOOST_AUTO_TEST_CASE(children_left_by_command_are_waited_for)
{
    tool run(run_shell(long_lease,
                       "(trap 'echo cleaned; exit' TERM; echo > second; while :; do sleep 0.02; done) & " +
                           wait_for_go),
             env());
    started(run);
    wait_until([&] { return !run.read("second").empty(); });
    take_away();
    BOOST_TEST(run.wait() == 124);
    BOOST_TEST(run.out() == "cleaned\n");
}

BOOST_AUTO_TEST_CASE(suspended_command_is_ended_on_loss)
{
    tool run(run_shell(long_lease, wait_for_go), env());
    started(run);
    ::kill(static_cast<pid_t>(std::stol(run.read("pid"))), SIGSTOP);
    take_away();
    BOOST_TEST(run.wait() == 124);
    BOOST_TEST(!is_running(run.read("pid")));
}

BOOST_AUTO_TEST_CASE(run_suspended_past_the_lease_ends_the_command)
{
    tool run(run_shell({"-t", "3s", "-k", "200ms"}, "trap '' TERM; " + wait_for_go), env());
    started(run);
    std::string const pid = run.read("pid");
    auto const command = static_cast<pid_t>(std::stol(pid));
    run.send(SIGSTOP); // nobody can refuse it
    ::kill(command, SIGSTOP);
    wait_until([&] { return is_stopped(pid); });
    wait_until([&] { return keys() == 0; });
    ::kill(command, SIGCONT);
    run.send(SIGCONT);
    BOOST_TEST(run.wait() == 124);
    BOOST_TEST(contains(run.err(), "'seat' is lost"));
    BOOST_TEST(!is_running(pid));
}

/// A look at the clock finds the end before the lease has told of it: one server, all of whose answers have come.
BOOST_DATA_TEST_CASE(cause_of_loss_is_reported_after_suspension,
                     boost::unit_test::data::make({"--no-extend", "--on-lost=warn"}), how)
{
    tool run(run_shell({"-t", "3s", "--slack", "20s", "-k", "200ms", how}, wait_for_go),
             {{"REDLOCK_NODES", at(0).url()}, {"REDLOCK_ASSUME_FRESH", "1"}});
    wait_until([&] { return probes[0].exists("seat") && probes[0].pttl("seat") < 22'500; });
    run.send(SIGSTOP);
    wait_until([&] { return probes[0].pttl("seat") < 20'000; });
    run.send(SIGCONT);
    wait_until([&] { return contains(run.err(), "'seat' is lost"); });
    run.write("go", "");
    run.wait();
    BOOST_TEST(run.err().starts_with("redlock: 'seat' is lost (expired)"), run.err());
}

BOOST_AUTO_TEST_CASE(command_is_stopped_with_configured_signal)
{
    tool run(run_shell({"-t", "10m", "-s", "USR2"}, "trap 'echo bye; exit 0' USR2; " + wait_for_go), env());
    started(run);
    take_away();
    BOOST_TEST(run.wait() == 124);
    BOOST_TEST(run.out() == "bye\n");
}

BOOST_AUTO_TEST_CASE(deleted_keys_stop_command_before_end_of_lease)
{
    tool run(run_shell({"-t", "10m"}, wait_for_go), env());
    started(run);
    wait_until([&] { return probes[0].command_calls("client|tracking") > 0; }); // it listens
    wait_until([&] {
        command({"DEL", "seat"});
        return !is_running(run.read("pid"));
    });
    BOOST_TEST(run.wait() == 124);
    BOOST_TEST(contains(run.err(), "'seat' is lost (refused): stopping the command\n"));
}

BOOST_AUTO_TEST_CASE(command_is_stopped_in_time_if_lease_is_not_renewed)
{
    tool run(run_shell({"-t", "1s", "-k", "100ms", "--no-extend"}, wait_for_go), env());
    BOOST_TEST(run.wait() == 124);
    BOOST_TEST(contains(run.err(), "'seat' is not renewed (--no-extend) and ends in "));
    BOOST_TEST(renewals() == 0);
    wait_until([&] { return keys() == 0; });
}

BOOST_AUTO_TEST_CASE(command_is_stopped_at_max_lifetime)
{
    tool run(run_shell({"-t", "1s", "-k", "100ms", "--max-lifetime", "1500ms"}, wait_for_go), env());
    BOOST_TEST(run.wait() == 124);
    BOOST_TEST(renewals() > 0);
}

BOOST_AUTO_TEST_CASE(max_lifetime_must_leave_time_to_stop_the_command)
{
    finished_run const run(run_shell({"-k", "3s", "--max-lifetime", "4s"}, "echo never"), env());
    BOOST_TEST(run.status == 64);
    BOOST_TEST(contains(run.err, "half of --max-lifetime 4.0 s"), run.err);
}

BOOST_AUTO_TEST_CASE(max_lifetime_is_not_reported_as_failed_renewal)
{
    tool run(run_shell({"-t", "10s", "--max-lifetime", "1s"}, wait_for_go), env());
    BOOST_TEST(run.wait() == 124);
    BOOST_TEST(contains(run.err(), "'seat' is not renewed any more (--max-lifetime) and ends in "));
}

BOOST_AUTO_TEST_CASE(command_is_stopped_although_stderr_is_full)
{
    mute_pipe errors;
    errors.fill();
    tool run(run_shell({"-t", "10m", "-v"}, "exec 2>/dev/null; trap 'echo bye; exit 0' TERM; " + wait_for_go),
             env(), {.errors = errors.ends[1]});
    started(run);
    take_away();
    BOOST_TEST(run.wait() == 124);
    BOOST_TEST(run.out() == "bye\n");
}

BOOST_AUTO_TEST_CASE(command_is_stopped_although_stderr_is_closed)
{
    mute_pipe errors;
    tool run(run_shell(then_killed_soon, "trap '' TERM; (sleep 1000 & echo $! > second); " + wait_for_go),
             env(), {.errors = errors.ends[1]});
    started(run);
    errors.lose_reader();
    take_away();
    BOOST_TEST(run.wait() == 124);
    BOOST_TEST(!is_running(run.read("pid")));
    BOOST_TEST(!is_running(run.read("second")));
}

BOOST_AUTO_TEST_CASE(loss_is_only_reported_with_on_lost_warn)
{
    tool run(run_shell({"-t", "10m", "--on-lost", "warn"}, wait_for_go + "exit 4"), env());
    started(run);
    take_away();
    wait_until([&] {
        return contains(run.err(), "'seat' is lost") && contains(run.err(), ", and the command runs on");
    });
    BOOST_TEST(is_running(run.read("pid")));
    run.write("go", "");
    BOOST_TEST(run.wait() == 4);
}

BOOST_AUTO_TEST_SUITE_END()

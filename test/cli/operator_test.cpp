// SPDX-License-Identifier: BSL-1.0
#include "servers.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

using namespace redlock::test;

namespace {

/// Servers on which the holder has a user of its own.
struct own_user_fixture : servers {
    own_user_fixture()
        : servers({.acl = {"user default on nopass ~* &* +@all", "user holder on >pw ~* &* +@all"}})
    {
        for (auto const& server : *this)
            holders_nodes += "redis://holder:pw@127.0.0.1:" + std::to_string(server->port()) + ' ';
    }
    [[nodiscard]] environment holder() const
    {
        return {{"REDLOCK_NODES", holders_nodes}, {"REDLOCK_ASSUME_FRESH", "1"}};
    }

    std::string holders_nodes;
};

std::vector<std::string> const repairing[] = {{"run", "--fenced"}, {"elect"}};

} // namespace

/// The instructions for operators in docs/howto/incident.md.
BOOST_FIXTURE_TEST_SUITE(operators, own_user_fixture)

BOOST_DATA_TEST_CASE(deleted_key_returns_and_user_switched_off_ends_the_holder,
                     boost::unit_test::data::xrange(std::size(repairing)), kind)
{
    std::vector<std::string> arguments = repairing[kind];
    arguments.insert(arguments.end(), {"-t", "6s", "seat", "--", "/bin/sh", "-c", wait_for_go});
    tool held(arguments, holder());
    wait_until([&] { return !held.read("pid").empty(); });
    std::string const owner = held.read("token").substr(0, 32);
    wait_until([&] { return holders("seat", owner) == 3; });

    command({"DEL", "seat"});
    wait_until([&] { return holders("seat", owner) >= 2; }); // by the next renewal
    BOOST_TEST(is_running(held.read("pid")));
    BOOST_TEST(finished_run({"run", "-n", "seat", "true"}, env()).status == 75);

    command({"ACL", "SETUSER", "holder", "off"});
    command({"CLIENT", "KILL", "USER", "holder"});
    wait_until([&] { return !is_running(held.read("pid")); });
    BOOST_TEST(held.wait() == (kind == 0 ? 124 : 77)); // `elect` tries again, and has no right to
    BOOST_TEST(finished_run({"run", "-w", "60s", "seat", "true"}, env()).status == 0);
}

BOOST_DATA_TEST_CASE(end_of_the_holder_frees_the_lock, boost::unit_test::data::xrange(std::size(repairing)),
                     kind)
{
    std::vector<std::string> arguments = repairing[kind];
    arguments.insert(arguments.end(), {"-t", "10m", "seat", "--", "/bin/sh", "-c", wait_for_go});
    tool held(arguments, holder());
    wait_until([&] { return !held.read("pid").empty(); });
    held.send(SIGTERM);
    BOOST_TEST(held.wait() == 128 + SIGTERM);
    wait_until([&] { return is_free("seat"); });
}

/// As docs/cli.md describes it.
BOOST_AUTO_TEST_CASE(locks_are_listed_by_scan_and_status)
{
    std::vector<std::string> const names{"-x", "two words", "plain"};
    for (std::string const& name : names)
        BOOST_TEST(finished_run({"acquire", "--prefix", "prod:", "--fenced", "--", name}, env()).status == 0);
    BOOST_TEST(finished_run({"acquire", "elsewhere"}, env()).status == 0);
    wait_until([&] { return keys() == 3 * (2 * names.size() + 2); }); // with a fence each, and the markers
    std::string ports;
    for (auto const& server : *this)
        ports += ' ' + std::to_string(server->port());
    finished_run const listed(
        {"run", "--prefix", "outer:", "shell", "-c",
         "for port in" + ports +
             "; do redis-cli -p $port --scan --pattern 'prod:*'; done | grep -v ':redlock-' | "
             "grep -v '^prod:redlock-marker$' | sort -u | while read -r key; do '" REDLOCK_TOOL
             "' status --prefix prod: -- \"${key#prod:}\"; done | grep ' held by '"},
        env());
    BOOST_TEST(std::ranges::count(listed.out, '\n') == std::ssize(names), listed.out << listed.err);
    for (std::string const& name : names)
        BOOST_TEST(contains(listed.out, name + ": held by "), listed.out);
}

BOOST_AUTO_TEST_CASE(help_says_that_a_deleted_key_ends_no_holder)
{
    BOOST_TEST(contains(finished_run({"status", "--help"}).out, "DEL does not end it"));
}

BOOST_AUTO_TEST_SUITE_END()

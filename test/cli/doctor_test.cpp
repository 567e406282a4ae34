// SPDX-License-Identifier: BSL-1.0
#include "curt_server.hpp"
#include "doctor_report.hpp"
#include "kit/text.hpp"
#include "kit/watched_group.hpp"
#include "servers.hpp"

#include <boost/test/unit_test.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace redlock::test;
using nlohmann::json;

namespace {

std::string const marker = "redlock-marker";

std::string bulk(std::string const& text)
{
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

/// Greets as Redis does, says this when INFO is asked, and takes every lock.
std::vector<std::string> friendly(std::string const& info, std::string const& config = "-NOPERM no\r\n")
{
    std::string const none = "_\r\n";
    std::string const of_line = ":0\r\n+none\r\n_\r\n:0\r\n*0\r\n:0\r\n_\r\n:0\r\n:0\r\n:0\r\n"
                                ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n";
    return {"%1\r\n$5\r\nproto\r\n:3\r\n+OK\r\n+OK\r\n" + bulk(info) + config + "-NOPERM no\r\n",
            "-NOPERM no\r\n",
            bulk(info) + config + config + config + "+OK\r\n+OK\r\n:1\r\n" + none +
                ":1\r\n:1\r\n:0\r\n:0\r\n:0\r\n" + "*3\r\n_\r\n_\r\n_\r\n" + none + none + ":-2\r\n" + none +
                of_line};
}

} // namespace

BOOST_AUTO_TEST_SUITE(doctor_on_groups)

BOOST_AUTO_TEST_CASE(doctor_names_master_of_group)
{
    watched_group group(3, {"--min-replicas-to-write", "1", "--min-replicas-max-lag", "1"});
    doctor_report const report(group.url());
    BOOST_TEST(report.found("group") == "info");
    BOOST_TEST(contains(report.words("group"), "a group of 3 servers"), report.words("group"));
    BOOST_TEST(contains(report.words("group"), "127.0.0.1:" + std::to_string(group.members[0].port())));
    BOOST_TEST(report.found("replicas") == "");
}

BOOST_AUTO_TEST_CASE(doctor_says_why_group_does_not_vote)
{
    watched_group group(2, {"--min-replicas-to-write", "0"});
    doctor_report const report(group.url());
    BOOST_TEST(report.status == 2);
    BOOST_TEST(report.found("group") == "error");
    BOOST_TEST(contains(report.words("group"), "min-replicas-to-write is 0"), report.words("group"));
}

BOOST_AUTO_TEST_SUITE_END()

/// Findings about the memory of these servers (docs/protocol.md, rules N4 to N6 and F6).
BOOST_AUTO_TEST_SUITE(doctor_on_memory)

BOOST_FIXTURE_TEST_CASE(doctor_leaves_no_keys_unless_asked_to_prepare, servers)
{
    doctor_report const report(nodes, {}, false);
    BOOST_TEST(report.found("no-marker") == "info");
    BOOST_TEST(report.words("no-marker") ==
               "has no marker of fenced locks: the first fenced lock waits 33.3 s (for a ttl of 30.0 s)");
    BOOST_TEST(report.told.at("nodes")[0].at("marker").at("exists") == false);
    BOOST_TEST(keys() == 0U);
}

BOOST_FIXTURE_TEST_CASE(doctor_with_assume_fresh_reports_no_missing_marker, servers)
{
    BOOST_TEST(doctor_report(nodes).found("no-marker") == "");
}

BOOST_FIXTURE_TEST_CASE(doctor_prepare_sets_missing_marker_and_keeps_it, servers)
{
    doctor_report const report(nodes, {"--prepare"});
    BOOST_TEST(report.found("marker") == "info");
    BOOST_TEST(report.words("marker") ==
               "the marker of fenced locks was left now: fenced locks wait 33.3 s (for a ttl of 30.0 s)");
    std::vector<std::string> left;
    for (probe& p : probes)
        left.push_back(p.get(marker).value_or(""));
    BOOST_TEST(keys() == 3U);
    BOOST_TEST((left[0] != "" && left[0] != left[1]));
    json const shown = report.told.at("nodes")[0].at("marker");
    BOOST_TEST(shown.at("written_now") == true);
    BOOST_TEST(shown.at("age_ms") == 0);
    BOOST_TEST(shown.at("wait_ms") == 33330);

    doctor_report const again(nodes, {"--prepare"});
    BOOST_TEST(contains(again.words("marker"), "the marker of fenced locks has stood for "), again.told);
    BOOST_TEST(again.told.at("nodes")[0].at("marker").at("written_now") == false);
    BOOST_TEST(doctor_report(nodes).found("young-marker") == "warning");
    BOOST_TEST(doctor_report(nodes).found("no-marker") == "");
    for (std::size_t i = 0; i != left.size(); ++i)
        BOOST_TEST(probes[i].get(marker).value_or("") == left[i]);
}

/// For this reason a marker is left early.
BOOST_AUTO_TEST_CASE(fenced_lock_does_not_wait_for_marker_prepared_early)
{
    servers some({.own_clock = true});
    auto const let_pass = [&](std::chrono::seconds time) {
        for (auto const& server : some)
            server->set_age(time);
    };
    environment const strangers{{"REDLOCK_NODES", some.nodes}};
    std::vector<std::string> const acquire{"acquire",       "-n", "--fenced", "-t", "3s",
                                           "--longest-ttl", "5s", "seat"};
    let_pass(std::chrono::seconds{20});
    BOOST_TEST(doctor_report(some.nodes, {"--prepare", "--longest-ttl", "5s"}, false).found("marker") ==
               "info");
    BOOST_TEST(finished_run(acquire, strangers).status == 69); // no majority may vote yet
    let_pass(std::chrono::seconds{40});
    doctor_report const later(some.nodes, {"--longest-ttl", "5s"}, false);
    BOOST_TEST(later.found("young-marker") == "");
    BOOST_TEST(
        contains(doctor_report(some.nodes, {"--prepare", "--longest-ttl", "5s"}, false).words("marker"),
                 "fenced locks wait for nothing"));
    finished_run const granted(acquire, strangers);
    BOOST_TEST(granted.status == 0, granted.err);
}

BOOST_AUTO_TEST_CASE(doctor_reports_marker_that_cannot_be_set_as_error)
{
    servers some({}, 1);
    some.probes[0].command({"LPUSH", marker, "1"});
    doctor_report const report(some.nodes, {"--prepare"});
    BOOST_TEST(report.status == 2);
    BOOST_TEST(report.found("no-marker") == "error");
    BOOST_TEST(contains(report.words("no-marker"), "cannot be left: WRONGTYPE"), report.told);
}

/// The answers to further questions must not be taken for the marker's.
BOOST_FIXTURE_TEST_CASE(doctor_that_tries_rights_judges_marker_as_without_them, servers)
{
    for (std::string const tried : {"--shared", "--several", "--elect", "--permits"}) {
        BOOST_TEST(doctor_report(nodes, {tried, "pool"}).gravest() == 0, tried);
        doctor_report const young(nodes, {tried, "pool"}, false);
        BOOST_TEST(young.found("no-marker") == "info", tried);
        BOOST_TEST(young.told.at("nodes")[0].at("marker").at("exists") == false, tried);
    }
    BOOST_TEST(keys() == 0U);
    doctor_report const report(nodes, {"--shared", "--permits", "--prepare", "pool"});
    BOOST_TEST(report.found("marker") == "info");
    BOOST_TEST(doctor_report(nodes, {"--permits", "pool"}).found("young-marker") == "warning");
}

/// A marker of an earlier life keeps nobody waiting whose user answers for the node.
BOOST_AUTO_TEST_CASE(doctor_prepare_keeps_durable_node_voting)
{
    servers some({.arguments = durably}, 1);
    std::string const nodes = called_durable(some);
    environment const sure{{"REDLOCK_NODES", nodes}};
    BOOST_TEST(finished_run({"acquire", "-n", "--fenced", "one"}, sure).status == 0);
    some[0].restart();
    BOOST_TEST(contains(doctor_report(nodes, {"--prepare"}, false).words("marker"),
                        "fenced locks wait for nothing"));
    BOOST_TEST(finished_run({"acquire", "-n", "--fenced", "two"}, sure).status == 0);
}

BOOST_AUTO_TEST_CASE(doctor_reports_durable_setting_contradicted_by_server)
{
    redis_server const safe({.arguments = durably});
    doctor_report const silent(safe.url(), {}, false);
    BOOST_TEST(silent.found("may-be-durable") == "info");
    BOOST_TEST(silent.found("young") == "warning");
    doctor_report const called(safe.url() + "?durable=true", {}, false);
    BOOST_TEST(called.found("durable") == "info");
    BOOST_TEST(called.found("young") == "");

    redis_server const forgets;
    BOOST_TEST(doctor_report(forgets.url()).found("not-durable") == "info");
    doctor_report const wrong(forgets.url() + "?durable=true", {}, false);
    BOOST_TEST(wrong.status == 2);
    BOOST_TEST(wrong.found("not-durable") == "error");
    BOOST_TEST(contains(wrong.words("not-durable"), "is called durable, but appendonly is no"), wrong.told);
    BOOST_TEST(wrong.found("durable") == "");
    BOOST_TEST(wrong.found("young") == "warning"); // the word excuses nothing then
}

BOOST_AUTO_TEST_CASE(doctor_reports_promoted_server_until_it_was_waited_out)
{
    redis_server master({.arguments = {"--repl-diskless-sync-delay", "0"}});
    redis_server const replica({.arguments = {"--replicaof", "127.0.0.1", std::to_string(master.port())}});
    probe eye(replica.port());
    wait_until([&] { return contains(eye.info("replication"), "master_link_status:up"); });
    eye.command({"REPLICAOF", "NO", "ONE"});
    doctor_report const report(replica.url() + "?durable=true", {}, false);
    BOOST_TEST(report.found("promoted") == "warning");
    BOOST_TEST(contains(report.words("promoted"), "clients that meet it first wait 33.3 s"), report.told);
    BOOST_TEST(report.found("replica") == "");
}

BOOST_AUTO_TEST_CASE(doctor_reports_replicas_and_their_risk)
{
    redis_server master({.arguments = {"--repl-diskless-sync-delay", "0"}});
    redis_server const replica({.arguments = {"--replicaof", "127.0.0.1", std::to_string(master.port())}});
    wait_until([&] { return contains(probe(replica.port()).info("replication"), "master_link_status:up"); });
    BOOST_TEST(
        doctor_report(master.url()).words("replicas") ==
        "has 1 replica(s): one that is promoted in its place lacks the latest locks, and does not vote for a "
        "while");
}

BOOST_AUTO_TEST_CASE(doctor_reports_each_fact_missing_in_info)
{
    curt_server const mute(friendly("# Clients\r\nconnected_clients:1\r\n"));
    doctor_report const report("redis" + mute.place(), {}, false);
    std::string said;
    for (json const& one : report.told.at("findings"))
        if (one.at("id") == "blind-spot")
            said += one.at("what").get<std::string>() + '\n';
    BOOST_TEST(contains(said, "run_id: each new connection counts as a restart"), said);
    BOOST_TEST(contains(said, "uptime_in_seconds: each new client waits"), said);
    BOOST_TEST(contains(said, "role: replicas go unnoticed"), said);
    BOOST_TEST(contains(said, "maxmemory and maxmemory_policy: eviction goes unnoticed"), said);
    BOOST_TEST(report.found("no-config") == "info");
    BOOST_TEST(report.found("no-info") == "");
    BOOST_TEST(contains(report.words("young"), "does not tell its age"), report.told);

    curt_server const anonymous(friendly("role:master\r\nmaster_replid:0a\r\nuptime_in_seconds:86400\r\n"
                                         "maxmemory:0\r\nmaxmemory_policy:noeviction\r\n"));
    doctor_report const named("redis" + anonymous.place(), {}, false);
    BOOST_TEST(named.words("blind-spot") ==
               "INFO does not tell run_id: restarts that keep the data set, and a second "
               "name, go unnoticed");
    BOOST_TEST(named.found("young") == "");
}

/// Without the right to CONFIG there is no contradiction, and so the setting counts.
BOOST_AUTO_TEST_CASE(doctor_accepts_durable_setting_without_config_rights)
{
    curt_server const service(friendly("run_id:1\r\nuptime_in_seconds:1\r\nrole:master\r\n"));
    doctor_report const report("redis" + service.place() + "?durable=true", {}, false);
    BOOST_TEST(report.found("durable") == "info");
    BOOST_TEST(report.found("no-config") == "info");
    BOOST_TEST(report.found("young") == "");
}

BOOST_AUTO_TEST_SUITE_END()

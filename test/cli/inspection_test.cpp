// SPDX-License-Identifier: BSL-1.0
#include "curt_server.hpp"
#include "doctor_report.hpp"
#include "kit/native_right.hpp"
#include "kit/probe.hpp"
#include "servers.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

using namespace redlock::test;
using nlohmann::json;

BOOST_AUTO_TEST_SUITE(status_reports)

BOOST_FIXTURE_TEST_CASE(status_names_holder_of_a_lock, servers)
{
    BOOST_TEST(finished_run({"status", "seat"}, env()).status == 1);
    std::string const token =
        json::parse(finished_run({"acquire", "--fenced", "--json", "seat"}, env()).out).at("owner");
    wait_until([&] { return holders("seat", token) >= 2; });

    finished_run const run({"status", "--json", "seat"}, env());
    json const told = json::parse(run.out);
    BOOST_TEST(run.status == 0);
    BOOST_TEST(told.at("status") == "held");
    BOOST_TEST(told.at("votes").get<int>() >= 2);
    BOOST_TEST(told.at("holder") == token.substr(0, 8) + "...");
    auto const& rows = told.at("nodes");
    auto const holds = std::ranges::find_if(rows, [](json const& row) { return row.contains("holder"); });
    BOOST_TEST(holds->at("pttl_ms").get<int>() > 0);
    BOOST_TEST(holds->at("role") == "master");
    BOOST_TEST(holds->contains("token"));
    BOOST_TEST(!contains(run.out, token)); // a client that has it can release the lock
    BOOST_TEST(contains(finished_run({"status", "seat"}, env()).out, "seat: held by " + token.substr(0, 8)));
}

BOOST_FIXTURE_TEST_CASE(status_of_minority_is_free_and_without_quorum_unknown, servers)
{
    probes[0].command({"SET", "seat", "theirs"});
    BOOST_TEST(finished_run({"status", "seat"}, env()).status == 1);
    at(1).kill();
    BOOST_TEST(finished_run({"status", "seat"}, env()).status == 69);
    probes[2].command({"SET", "seat", "theirs"});
    BOOST_TEST(finished_run({"status", "seat"}, env()).status == 0);
}

BOOST_FIXTURE_TEST_CASE(status_of_key_that_is_no_lock_is_blocked, servers)
{
    command({"LPUSH", "seat", "1"});
    finished_run const run({"status", "seat"}, env());
    BOOST_TEST(run.status == 75);
    BOOST_TEST(contains(run.out, "seat: blocked: free on 0 of 3 nodes\n"));
    BOOST_TEST(contains(run.out, "(not a lock)"));
    for (std::string const option : {"-v", "--fenced"}) { // to both kinds of locks
        finished_run const acquire({"acquire", "-n", option, "seat"}, env());
        BOOST_TEST(acquire.status == 75, acquire.err);
    }
    at(1).kill();
    BOOST_TEST(finished_run({"status", "seat"}, env()).status == 75);
    probes[2].command({"DEL", "seat"});
    BOOST_TEST(contains(finished_run({"status", "seat"}, env()).out,
                        "seat: unknown: 2 of 3 nodes answered, free on 1\n"));
    probes[2].command({"LPUSH", "seat", "1"});
    at(2).kill();
    BOOST_TEST(finished_run({"status", "seat"}, env()).status == 69);
}

BOOST_FIXTURE_TEST_CASE(status_names_readers, servers)
{
    std::string const inside =
        "'" REDLOCK_TOOL "' status --json seat; '" REDLOCK_TOOL "' status seat; exit $?";
    finished_run const run({"run", "--shared", "seat", "-c", inside}, env());
    BOOST_TEST(run.status == 0, run.err);
    json const told = json::parse(run.out.substr(0, run.out.find('\n')));
    BOOST_TEST(told.at("status") == "held");
    BOOST_TEST(told.at("holder_kind") == "readers");
    auto const& rows = told.at("nodes");
    auto const holds = std::ranges::find_if(rows, [](json const& row) { return row.contains("holder"); });
    BOOST_REQUIRE((holds != rows.end()));
    BOOST_TEST(holds->at("holder") == "readers");
    BOOST_TEST(holds->at("holder_kind") == "readers");
    BOOST_TEST(holds->at("pttl_ms").get<int>() > 0);
    BOOST_TEST(!holds->contains("trouble"));
    BOOST_TEST(contains(run.out, "seat: held by readers on "), run.out);
    BOOST_TEST(finished_run({"status", "seat"}, env()).status == 1);
}

BOOST_FIXTURE_TEST_CASE(status_says_how_many_permits_are_taken_and_by_whom, servers)
{
    std::string const tool = "'" REDLOCK_TOOL "' ";
    std::string const inside = "echo $REDLOCK_OWNER; " + tool + "status --json seat; " + tool + "status seat";
    std::string const outside = "echo $REDLOCK_OWNER; " + tool + "run --permits 8 seat -c \"$INSIDE\"";
    environment with_inside = env();
    with_inside["INSIDE"] = inside;
    finished_run const run({"run", "--permits", "8", "--count", "2", "seat", "-c", outside}, with_inside);
    BOOST_TEST_REQUIRE(run.status == 0, run.err);
    std::istringstream lines(run.out);
    std::string one;
    std::string other;
    std::string object;
    std::getline(std::getline(std::getline(lines, one), other), object);
    json const told = json::parse(object);
    BOOST_TEST(told.at("status") == "held");
    BOOST_TEST(told.at("holder_kind") == "permits");
    BOOST_TEST(told.at("permits_taken") == 3);
    auto const of = [&](std::string const& owner) {
        return std::ranges::count(told.at("permits"), owner.substr(0, 8) + "...",
                                  [](json const& each) { return each.at("holder").get<std::string>(); });
    };
    BOOST_TEST(of(one) == 2);
    BOOST_TEST(of(other) == 1);
    BOOST_TEST(contains(run.out, "seat: held by holders of permits on "), run.out);
    BOOST_TEST(contains(run.out, " of 3 nodes, permits taken: 3\n"), run.out);
    BOOST_TEST(contains(run.out, "PERMIT  HOLDER       NODES  TOKEN\n"), run.out);
    BOOST_TEST(!contains(object, one));
}

BOOST_FIXTURE_TEST_CASE(status_tells_the_token_of_a_permit, servers)
{
    std::string const inside = "echo $REDLOCK_TOKEN; '" REDLOCK_TOOL "' status --json seat";
    finished_run const run({"run", "--permits", "2", "--fenced", "seat", "-c", inside}, env());
    BOOST_TEST_REQUIRE(run.status == 0, run.err);
    std::istringstream lines(run.out);
    std::string token;
    std::getline(lines, token);
    json const told = json::parse(lines);
    BOOST_TEST_REQUIRE(told.at("permits").size() == 1U);
    BOOST_TEST(told.at("permits")[0].at("token") == token);
}

/// Nobody has looked since they ended. One of a minority is not certain.
BOOST_FIXTURE_TEST_CASE(status_counts_permits_that_a_majority_has, servers)
{
    std::string const one(32, 'a');
    std::string const other(32, 'b');
    std::string const late = "9000000000000";
    command(
        {"HSET", "seat", "next", "1000", "0", one + "1000", "3", one + late, "1024", one + late, "x", one});
    probes[0].command({"HSET", "seat", "5", one + late, "7", other + late});
    probes[1].command({"HSET", "seat", "5", one + late});
    command({"PEXPIRE", "seat", "60000"});
    command({"HSET", "seat:redlock-fences", "3", "7", "5", "many", "6", "9"});
    probes[2].command({"HSET", "seat:redlock-fences", "3", "8"});
    json const told = json::parse(finished_run({"status", "--json", "seat"}, env()).out);
    BOOST_TEST(told.at("permits")[0].at("token") == "8192"); // rule P5: the highest
    BOOST_TEST(!told.at("permits")[1].contains("token"));
    BOOST_TEST(told.at("permits_taken") == 2);
    BOOST_TEST(told.at("permits").size() == 3U);
    BOOST_TEST(told.at("permits")[0].at("permit") == 3);
    BOOST_TEST(told.at("permits")[0].at("nodes") == 3);
    BOOST_TEST(told.at("permits")[1].at("permit") == 5);
    BOOST_TEST(told.at("permits")[1].at("nodes") == 2);
    BOOST_TEST(told.at("permits")[2].at("holder") == "bbbbbbbb...");
}

BOOST_FIXTURE_TEST_CASE(status_shows_the_queue, servers)
{
    std::string const nobody(32, 'a');
    std::string const alive = "000005000030004channel";
    probes[1].command({"ZADD", "seat:redlock-queue", "1", nobody + "x" + alive, "2", nobody + "r" + alive,
                       "3", nobody + "p" + alive, "4", "other data"});
    json const told = json::parse(finished_run({"status", "--json", "seat"}, env()).out);
    BOOST_TEST_REQUIRE(told.at("queues").size() == 1U);
    json const& queue = told.at("queues")[0];
    BOOST_TEST(queue.at("node") == told.at("nodes")[1].at("node"));
    BOOST_TEST(queue.at("waiting") == 4);
    BOOST_TEST(queue.at("first").dump() == R"([{"wants":"exclusive"},{"wants":"shared"},)"
                                           R"({"of":4,"permits":3,"wants":"permits"},null])");
    std::string const text = finished_run({"status", "seat"}, env()).out;
    BOOST_TEST(contains(text, "1 of 4    exclusive\n"), text);
    BOOST_TEST(contains(text, "3 of 4    3 of 4 permits\n"), text);
    BOOST_TEST(contains(text, "4 of 4    ?\n"), text);
}

BOOST_AUTO_TEST_CASE(status_without_permission_to_count_permits_says_so)
{
    redis_server server({.acl = {"user default off", "user few on >pw ~seat* +@all -hmget"}});
    std::string const url = "redis://few:pw@127.0.0.1:" + std::to_string(server.port());
    environment const few{{"REDLOCK_NODES", url}, {"REDLOCK_ASSUME_FRESH", "1"}};
    finished_run const run({"run", "--permits", "2", "seat", "--", REDLOCK_TOOL, "status", "seat"}, few);
    BOOST_TEST(contains(run.out, "seat: held by holders of permits on 1 of 1 nodes\n"), run.out + run.err);
    BOOST_TEST(contains(run.out, "'hmget'"), run.out);
}

/// A user without that right sees a key that expires, and no more.
BOOST_AUTO_TEST_CASE(status_without_permission_to_see_readers_leaves_it_open)
{
    redis_server server({.acl = {"user default off", "user all on >pw ~* +@all",
                                 "user few on >pw ~seat* -@all +set +get +pttl +eval +mget +time",
                                 "user typeless on >pw ~seat* +@all -type"}});
    std::string const place = "@127.0.0.1:" + std::to_string(server.port());
    auto const as = [&](std::string const& user) {
        return environment{{"REDLOCK_NODES", "redis://" + user + ":pw" + place},
                           {"REDLOCK_ASSUME_FRESH", "1"}};
    };
    auto const inside = [&](std::string const& user) {
        std::string const tool = "REDLOCK_NODES='redis://" + user + ":pw" + place + "' '" REDLOCK_TOOL "' ";
        return tool + "status seat; " + tool + "doctor --json seat >&2; exit 0";
    };
    auto const is_left_open = [&](finished_run const& run) {
        BOOST_TEST(contains(run.out, "(readers, permits, or not a lock)"), run.out + run.err);
        BOOST_TEST(contains(run.err, "readers or holders of permits have the lock, or it is no lock"),
                   run.err);
        BOOST_TEST(contains(run.err, "do not delete the key"), run.err);
    };
    is_left_open(finished_run({"run", "--shared", "seat", "-c", inside("few")}, as("all")));
    is_left_open(finished_run({"run", "--shared", "seat", "-c", inside("typeless")}, as("all")));
    is_left_open(finished_run({"run", "--permits", "2", "seat", "-c", inside("typeless")}, as("all")));
    finished_run const full({"run", "--shared", "seat", "--", REDLOCK_TOOL, "doctor", "--json", "seat"},
                            as("all"));
    BOOST_TEST(!contains(full.out, "foreign-key"), full.out);
}

BOOST_FIXTURE_TEST_CASE(status_reports_key_without_expiry_as_no_lock, servers)
{
    BOOST_TEST(finished_run({"acquire", "seat"}, env()).status == 0);
    BOOST_TEST(!contains(finished_run({"status", "seat"}, env()).out, "no lock"));
    set("seat", "settings");
    finished_run const text({"status", "seat"}, env());
    BOOST_TEST(text.status == 0);
    BOOST_TEST(contains(text.out, "no lock: it has no expiry"), text.out);
    json const shown = json::parse(finished_run({"status", "--json", "seat"}, env()).out);
    for (json const& row : shown.at("nodes"))
        BOOST_TEST(contains(row.at("trouble").get<std::string>(), "no expiry"));
}

/// A missing right is not reported.
BOOST_AUTO_TEST_CASE(status_without_permission_for_pttl_shows_no_trouble)
{
    redis_server server({.acl = {"user default off", "user few on >pw ~seat* -@all +set +get"}});
    std::string const url = "redis://few:pw@127.0.0.1:" + std::to_string(server.port());
    environment const variables{{"REDLOCK_NODES", url}, {"REDLOCK_ASSUME_FRESH", "1"}};
    BOOST_TEST(finished_run({"acquire", "seat"}, variables).status == 0);
    finished_run const text({"status", "seat"}, variables);
    BOOST_TEST(text.status == 0);
    BOOST_TEST(!contains(text.out, "no expiry"), text.out);
    BOOST_TEST(doctor_report(url, {"seat"}).found("foreign-key") == "");
}

BOOST_FIXTURE_TEST_CASE(status_of_split_vote_is_blocked, servers)
{
    probes[0].command({"SET", "seat", "theirs"});
    probes[1].command({"SET", "seat", "others"});
    finished_run const run({"status", "--json", "seat"}, env());
    BOOST_TEST(run.status == 75);
    BOOST_TEST(json::parse(run.out).at("status") == "blocked");
    probes[1].command({"DEL", "seat"});
    BOOST_TEST(finished_run({"status", "seat"}, env()).status == 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(doctor_reports)

BOOST_FIXTURE_TEST_CASE(doctor_finds_nothing_grave_with_good_servers, servers)
{
    doctor_report const report(nodes);
    BOOST_TEST(report.gravest() == 0);
    BOOST_TEST(report.told.at("worst") == "info");
    BOOST_TEST(report.found("young") == "info");
    BOOST_TEST(report.found("not-durable") == "info");
    BOOST_TEST(report.told.at("nodes").size() == 3U);
    BOOST_TEST(keys() == 0U);
    finished_run const text({"doctor"}, env());
    BOOST_TEST(contains(text.out, "info: all nodes: may forget locks in a crash"));
    BOOST_TEST(contains(text.out, "is taken for new (REDLOCK_ASSUME_FRESH), and votes at once [young]"));
}

BOOST_FIXTURE_TEST_CASE(doctor_groups_nodes_with_the_same_finding, servers)
{
    probes[0].command({"CONFIG", "SET", "min-replicas-to-write", "1"});
    probes[2].command({"CONFIG", "SET", "min-replicas-to-write", "1"});
    finished_run const text({"doctor"}, env());
    auto const times = [&](std::string const& words) {
        std::size_t count = 0;
        for (auto at = text.out.find(words); at != std::string::npos; at = text.out.find(words, at + 1))
            ++count;
        return count;
    };
    BOOST_TEST(times("[min-replicas]") == 1U);
    BOOST_TEST(times("    -> min-replicas-to-write 0\n") == 1U);
    BOOST_TEST(contains(text.out, "warning: " + at(0).url() + ", " + at(2).url() + ": takes no locks"));
    BOOST_TEST(times("[not-durable]") == 1U);
}

/// Servers that are declared durable, and are, vote at once; the other ones are young.
BOOST_AUTO_TEST_CASE(doctor_warns_of_young_servers_beside_voting_majority)
{
    servers const old({.arguments = durably}, 2);
    redis_server const young;
    doctor_report const report(called_durable(old) + young.url(), {}, false);
    BOOST_TEST(report.status == 1);
    BOOST_TEST(report.found("young", young.url()) == "warning");
    BOOST_TEST(report.found("no-quorum") == "");
}

BOOST_AUTO_TEST_CASE(doctor_reports_young_majority_as_error)
{
    servers const old({.arguments = durably}, 2);
    servers const young;
    finished_run const waiting({"doctor"}, {{"REDLOCK_NODES", called_durable(old) + young.nodes}});
    BOOST_TEST(waiting.status == 2);
    BOOST_TEST(contains(waiting.out, "error: 2 of 5 nodes can vote; a majority again in "), waiting.out);
    BOOST_TEST(contains(waiting.out, " s (for a ttl of 30.0 s) [no-quorum]"));
    BOOST_TEST(contains(waiting.out, "[young]"));
    doctor_report const fresh(called_durable(old) + young.nodes);
    BOOST_TEST(fresh.gravest() == 0);
    BOOST_TEST(fresh.found("no-quorum") == "");
}

/// As for the library: no client has a longer lock than the longest that was promised, whatever its own would be.
BOOST_AUTO_TEST_CASE(doctor_accepts_server_older_than_longest_ttl)
{
    servers const some({.own_clock = true});
    for (auto const& server : some)
        server->set_age(std::chrono::seconds{15});
    BOOST_TEST(doctor_report(some.nodes, {}, false).found("no-quorum") == "error");
    BOOST_TEST(doctor_report(some.nodes, {"--longest-ttl", "5s"}, false).found("no-quorum") == "");
}

/// A client waits by the ttl of its own lock: what doctor says holds for the ttl that it names.
BOOST_AUTO_TEST_CASE(doctor_names_the_ttl_of_the_wait_and_what_is_seen_of_the_locks_own)
{
    servers some({.own_clock = true});
    for (auto const& server : some)
        server->set_age(std::chrono::seconds{9});
    auto const words = [&](std::vector<std::string> const& arguments) {
        return doctor_report(some.nodes, arguments, false).words("no-quorum");
    };
    std::string const general = "0 of 3 nodes can vote; a majority again in 2";
    BOOST_TEST(words({}).starts_with(general), words({}));
    BOOST_TEST(words({}).ends_with(" s (for a ttl of 30.0 s)"), words({}));
    BOOST_TEST(words({"seat"}).ends_with(" s (for a ttl of 30.0 s)"), words({"seat"}));
    BOOST_TEST(words({"--longest-ttl", "40s"}).ends_with(" s (by --longest-ttl)"));
    BOOST_TEST(words({"-t", "5s", "seat"}) == "");
    BOOST_TEST(
        doctor_report(some.nodes, {"seat"}, false).words("young").ends_with(" s (for a ttl of 30.0 s)"));

    some.probes[0].command({"SET", "seat", "owner", "PX", "5500"});
    std::string const short_lock = words({"seat"});
    BOOST_TEST(contains(short_lock, " s (for a ttl of 30.0 s), for 'seat', whose key has "), short_lock);
    BOOST_TEST(short_lock.ends_with(" s left, perhaps at once"), short_lock);
    some.probes[0].command({"SET", "seat", "owner", "PX", "600000"});
    BOOST_TEST(contains(words({"seat"}), " s left, in at least 5"), words({"seat"}));
    std::string const long_lock = words({"-t", "5s", "seat"});
    BOOST_TEST(long_lock.starts_with("0 of 3 nodes can vote for 'seat', whose key has "), long_lock);
    BOOST_TEST(words({"-t", "5s", "other"}) == "");
    BOOST_TEST(!contains(words({"--longest-ttl", "40s", "seat"}), "seat"));
}

BOOST_FIXTURE_TEST_CASE(doctor_reports_servers_refusing_votes_as_no_quorum, servers)
{
    for (std::size_t const i : {0U, 2U}) {
        probes[i].command({"CONFIG", "SET", "min-replicas-to-write", "1"});
        BOOST_TEST(doctor_report(nodes).found("no-vote", at(i).url()) == "error");
        BOOST_TEST(doctor_report(nodes).found("no-quorum") == (i == 0 ? "" : "error"));
    }
}

BOOST_AUTO_TEST_CASE(doctor_reports_server_that_is_not_redis_as_error)
{
    for (std::string const greeting : {"HTTP/1.1 400 Bad Request\r\n\r\n", "+HI\r\n", ":1\r\n"}) {
        curt_server const server({greeting});
        doctor_report const report("redis" + server.place());
        BOOST_TEST_CONTEXT(report.told) BOOST_TEST(report.found("no-redis") == "error");
    }
}

/// The server greets as Redis does, and then has the same answer to everything.
BOOST_AUTO_TEST_CASE(doctor_reports_replies_of_wrong_type_as_error)
{
    std::string const no = "-NOPERM no\r\n";
    std::string const greeting = "%1\r\n$5\r\nproto\r\n:3\r\n+OK\r\n+OK\r\n" + no + no + no;
    for (std::string const answer : {":1\r\n", "+OK\r\n", "*0\r\n", "_\r\n", "HTTP/1.1\r\n"}) {
        std::string all;
        for (int i = 0; i != 29; ++i)
            all += answer;
        curt_server const server({greeting, no, all});
        doctor_report const report("redis" + server.place());
        BOOST_TEST_CONTEXT(report.told) BOOST_TEST(report.found("no-redis") == "error");
    }
}

/// twemproxy does so, and some TLS servers.
BOOST_AUTO_TEST_CASE(doctor_reports_server_that_hangs_up_without_an_answer)
{
    curt_server const server({});
    doctor_report const report("redis" + server.place());
    BOOST_TEST_CONTEXT(report.told) BOOST_TEST(report.found("hung-up") == "error");
}

BOOST_AUTO_TEST_CASE(status_tells_a_connection_that_is_closed_from_a_server_that_is_late)
{
    std::string const no = "-NOPERM no\r\n";
    curt_server const server({"%1\r\n$5\r\nproto\r\n:3\r\n+OK\r\n+OK\r\n" + no + no + no, no});
    finished_run const run({"status", "seat"}, {{"REDLOCK_NODES", "redis" + server.place()}});
    BOOST_TEST(run.status == 69);
    BOOST_TEST(contains(run.out, "unreachable (question: "), run.out);
}

BOOST_AUTO_TEST_CASE(doctor_reports_tls_on_one_side_only)
{
    certificates const files;
    redis_server server({.tls = files.server});
    doctor_report const plain("redis://127.0.0.1:" + std::to_string(server.tls_port()));
    BOOST_TEST_CONTEXT(plain.told) BOOST_TEST(plain.found("hung-up") == "error");
    doctor_report const secure("rediss://127.0.0.1:" + std::to_string(server.port()), {"--insecure"});
    BOOST_TEST_CONTEXT(secure.told) BOOST_TEST(secure.found("tls") == "error");
    curt_server const alert({std::string("\x15\x03\x01\x00\x02\x02\x46", 7)});
    BOOST_TEST(doctor_report("redis" + alert.place()).found("tls") == "error");
    curt_server const error({"-ERR unknown command\r\n"});
    BOOST_TEST(doctor_report("rediss" + error.place(), {"--insecure"}).found("tls") == "error");
}

BOOST_FIXTURE_TEST_CASE(doctor_reports_fence_beyond_its_limit, servers)
{
    auto const fence_of = [&](std::string const& name) {
        return doctor_report(nodes, {name}).found("fence");
    };
    BOOST_TEST(fence_of("seat") == "");
    BOOST_TEST(finished_run({"run", "--fenced", "seat", "true"}, env()).status == 0);
    BOOST_TEST(fence_of("seat") == "");
    set("seat:redlock-fence", std::to_string((1LL << 43) - 2));
    BOOST_TEST(fence_of("seat") == "warning");
    set("seat:redlock-fence", std::to_string(1LL << 43));
    BOOST_TEST(fence_of("seat") == "error");
    set("seat:redlock-fence", "many");
    BOOST_TEST(fence_of("seat") == "error");
    BOOST_TEST(fence_of("other") == "");
}

BOOST_FIXTURE_TEST_CASE(doctor_reports_key_that_is_no_lock, servers)
{
    auto const found = [&] { return doctor_report(nodes, {"seat"}).found("foreign-key"); };
    BOOST_TEST(found() == "");
    BOOST_TEST(finished_run({"acquire", "seat"}, env()).status == 0);
    BOOST_TEST(found() == "");
    probes[1].command({"SET", "seat", "settings"});
    BOOST_TEST(doctor_report(nodes, {"seat"}).found("foreign-key", at(1).url()) == "error");
    probes[1].command({"DEL", "seat"});
    BOOST_TEST(found() == "");
    probes[1].command({"RPUSH", "seat", "1"});
    BOOST_TEST(doctor_report(nodes, {"seat"}).found("foreign-key", at(1).url()) == "error");
    probes[1].command({"EXPIRE", "seat", "60"}); // as the key of readers does
    BOOST_TEST(doctor_report(nodes, {"seat"}).found("foreign-key", at(1).url()) == "error");
    BOOST_TEST(contains(doctor_report(nodes, {"seat"}).words("foreign-key"), "it is no string"));
    BOOST_TEST(doctor_report(nodes).found("foreign-key") == "");
    BOOST_TEST(doctor_report(nodes, {"other"}).found("foreign-key") == "");
}

BOOST_AUTO_TEST_CASE(doctor_reports_refused_servers_as_error)
{
    redis_server master({.arguments = {"--repl-diskless-sync-delay", "0"}});
    redis_server replica({.arguments = {"--replicaof", "127.0.0.1", std::to_string(master.port())}});
    redis_server evicting({.arguments = {"--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru"}});
    redis_server cluster({.arguments = {"--cluster-enabled", "yes"}});
    wait_until([&] { return contains(probe(replica.port()).info("replication"), "master_link_status:up"); });
    reserved_port const nobody(0);
    std::string const missing = "redis://127.0.0.1:" + std::to_string(nobody.number());
    doctor_report const report(master.url() + ' ' + replica.url() + ' ' + evicting.url() + ' ' +
                               cluster.url() + ' ' + missing);
    BOOST_TEST(report.status == 2);
    BOOST_TEST(report.found("replica", replica.url()) == "error");
    BOOST_TEST(report.found("eviction", evicting.url()) == "error");
    BOOST_TEST(report.found("cluster", cluster.url()) == "error");
    BOOST_TEST(report.found("unreachable", missing) == "error");
    BOOST_TEST(report.found("replicas", master.url()) == "warning");
    BOOST_TEST(report.found("no-quorum") == "error");
}

BOOST_AUTO_TEST_CASE(doctor_reports_two_urls_of_one_server_as_error)
{
    redis_server server;
    std::string const second = "unix://" + server.unix_path();
    doctor_report const report(server.url() + ' ' + second);
    BOOST_TEST(report.status == 2);
    BOOST_TEST(report.found("same-server", second) == "error");
    BOOST_TEST(report.found("even") == "warning");
    finished_run const text({"doctor"}, {{"REDLOCK_NODES", server.url() + ' ' + second}});
    BOOST_TEST(contains(text.out, "2 nodes survive no failure: both are needed"), text.out);
}

/// If one of these is missing, waiters ask in sequence.
// rule Q23
BOOST_AUTO_TEST_CASE(doctor_names_rights_that_the_queue_needs)
{
    std::string const usual = "user locker on >pw ~seat* ~redlock-marker resetchannels &redlock-to:* +@all ";
    auto const report_of = [](std::string const& rights, std::string const& query = "") {
        redis_server server({.acl = {"user default off", rights}});
        doctor_report report("redis://locker:pw@127.0.0.1:" + std::to_string(server.port()) + query,
                             {"seat"});
        return report;
    };
    std::string const beginning = "waiters do not use its queue, or only poll in it; missing: ";
    for (std::string const missing : {"subscribe", "publish", "exists", "type", "zadd", "zrange", "zrem",
                                      "zrank", "zscore", "zcard", "mget", "pttl", "client|tracking"}) {
        doctor_report const report = report_of(usual + '-' + missing);
        BOOST_TEST(report.found("no-queue") == "warning", missing);
        BOOST_TEST(report.words("no-queue") == beginning + '+' + missing);
    }
    BOOST_TEST(report_of(usual + "-zcard -zadd").words("no-queue") == beginning + "+zadd, +zcard");
    BOOST_TEST(report_of(usual + "resetchannels").words("no-queue") == beginning + "&redlock-to:*");
    std::string const bare = "user locker on >pw ~seat ~seat:redlock-doctor ~redlock-marker "
                             "~seat:redlock-doctor:redlock-fence +@all &redlock-to:*";
    BOOST_TEST(report_of(bare).words("no-queue") == beginning + "~seat:redlock-doctor:redlock-queue");
    BOOST_TEST(report_of(usual, "?protocol=2").words("no-queue") == beginning + "RESP3");
    BOOST_TEST(report_of(usual).found("no-queue") == "");
}

/// Their rights are reported only if they are asked for: other locks do not need them.
BOOST_AUTO_TEST_CASE(doctor_names_what_is_missing_to_readers_and_writers)
{
    std::string const usual = "user locker on >pw ~seat* ~redlock-marker resetchannels &redlock-to:* +@all ";
    auto const report_of = [](std::string const& rights, std::vector<std::string> const& words) {
        redis_server server({.acl = {"user default off", rights}});
        return doctor_report("redis://locker:pw@127.0.0.1:" + std::to_string(server.port()), words);
    };
    std::string const beginning = "readers and writers of a shared_mutex do not work; missing: ";
    for (std::string const missing : {"exists", "type", "pexpireat", "zadd", "zrem", "zrange", "zscore",
                                      "zremrangebyscore", "hget", "time"}) {
        doctor_report const report = report_of(usual + '-' + missing, {"--shared", "seat"});
        BOOST_TEST(report.found("rights") == "error", missing);
        BOOST_TEST(report.words("rights") == beginning + '+' + missing);
    }
    BOOST_TEST(report_of(usual + "-type -zscore", {"--shared", "seat"}).words("rights") ==
               beginning + "+type, +zscore");
    BOOST_TEST(report_of(usual + "-type", {"seat"}).found("rights") == "");
    std::string const bare = "user locker on >pw ~seat ~seat:redlock-doctor ~redlock-marker "
                             "~seat:redlock-doctor:redlock-fence +@all &redlock-to:* ";
    std::string const queue = "~seat:redlock-doctor:redlock-queue";
    BOOST_TEST(report_of(bare, {"--shared", "seat"}).words("rights") == beginning + queue);
    BOOST_TEST(report_of(bare + queue, {"--shared", "seat"}).found("rights") == "");
    doctor_report const unheard = report_of(usual + "-subscribe", {"--shared", "seat"});
    BOOST_TEST(unheard.found("rights") == "");
    BOOST_TEST(unheard.found("no-queue") == "warning"); // they wait in the queue, too
    BOOST_TEST(report_of(usual, {"--shared", "--prepare", "seat"}).found("rights") == "");
}

// rule EL7
BOOST_AUTO_TEST_CASE(doctor_names_what_is_missing_to_sets_and_elections)
{
    std::string const usual = "user locker on >pw ~seat* ~redlock-marker resetchannels &redlock-to:* +@all ";
    auto const words_of = [](std::string const& rights, std::vector<std::string> words) {
        redis_server server({.acl = {"user default off", rights}});
        words.emplace_back("seat");
        return doctor_report("redis://locker:pw@127.0.0.1:" + std::to_string(server.port()), words)
            .words("rights");
    };
    std::string const of_sets = "locks of several names do not work; missing: ";
    std::string const of_elections = "elections do not work; missing: ";
    BOOST_TEST(words_of(usual + "-exists", {"--several"}) == of_sets + "+exists");
    BOOST_TEST(words_of(usual + "-exists", {}) == "");
    BOOST_TEST(words_of(usual + "-time", {"--elect"}) == of_elections + "+time");
    std::string const bare =
        "user locker on >pw ~seat ~seat:redlock-doctor ~seat:redlock-doctor:redlock-queue "
        "~redlock-marker ~seat:redlock-doctor:redlock-fence +@all &redlock-to:* ";
    std::string const missing = of_elections + "~seat:redlock-doctor:redlock-leader";
    BOOST_TEST(words_of(bare, {"--elect"}) == missing);
    BOOST_TEST(words_of(bare + "%R~seat:*-leader", {"--elect"}) == missing); // an observer has this right
    BOOST_TEST(words_of(bare, {"--several"}) == "");
    BOOST_TEST(words_of(bare + "-exists -type", {"--shared", "--several", "--elect"}) ==
               "readers and writers of a shared_mutex do not work; missing: +exists, +type");
    BOOST_TEST(words_of(usual, {"--shared", "--several", "--elect", "--prepare"}) == "");
}

/// A script is refused if any of its keys is.
BOOST_AUTO_TEST_CASE(doctor_names_what_is_missing_to_semaphores)
{
    std::string const usual = "user locker on >pw ~seat* ~redlock-marker resetchannels &redlock-to:* +@all ";
    auto const report_of = [](std::string const& rights, std::vector<std::string> words) {
        redis_server server({.acl = {"user default off", rights}});
        words.emplace_back("seat");
        return doctor_report("redis://locker:pw@127.0.0.1:" + std::to_string(server.port()), words);
    };
    std::string const beginning = "semaphores do not work; missing: ";
    for (std::string const missing : {"eval", "evalsha", "exists", "type", "del", "pttl", "mget", "pexpireat",
                                      "hget", "hmget", "hgetall", "hset", "hdel", "hlen", "hkeys", "time"}) {
        doctor_report const report = report_of(usual + '-' + missing, {"--permits"});
        BOOST_TEST(report.found("rights") == "error", missing);
        BOOST_TEST(report.words("rights") == beginning + '+' + missing);
    }
    BOOST_TEST(report_of(usual + "-hset -hkeys", {}).found("rights") == "");
    BOOST_TEST(report_of(usual, {"--permits", "--prepare"}).found("rights") == "");
    std::string const bare =
        "user locker on >pw ~seat ~seat:redlock-doctor ~redlock-marker +@all &redlock-to:* ";
    std::string const queue = "~seat:redlock-doctor:redlock-queue";
    std::string const fence = "~seat:redlock-doctor:redlock-fences";
    BOOST_TEST(report_of(bare + fence, {"--permits"}).words("rights") == beginning + queue);
    doctor_report const unfenced = report_of(bare + queue, {"--permits"});
    BOOST_TEST(unfenced.found("rights") == "warning");
    BOOST_TEST(unfenced.words("rights") == "fenced " + beginning + fence);
    BOOST_TEST(report_of(bare + queue + ' ' + fence, {"--permits"}).found("rights") == "");
}

/// Further rights of a mutex are not required.
BOOST_AUTO_TEST_CASE(doctor_finds_no_fault_with_exact_rights_of_a_kind)
{
    auto const report_of = [](std::string const& rights, std::string const& kind) {
        redis_server server({.acl = {"user default off",
                                     "user locker on >pw resetchannels -@all " + rights + native_right()}});
        return doctor_report("redis://locker:pw@127.0.0.1:" + std::to_string(server.port()), {kind, "seat"});
    };
    auto const flaws = [](doctor_report const& report) { // but that it is one server, on a busy machine
        std::string ids;
        for (nlohmann::json const& one : report.told.at("findings"))
            if (one.at("severity") != "info" && one.at("id") != "one-node" && one.at("id") != "slow")
                ids += one.at("id").get<std::string>() + ' ';
        return ids;
    };
    std::string const permits = "~seat* &redlock-to:* +eval +evalsha +info +config|get +time +type +exists "
                                "+pttl +del +pexpireat +mget "
                                "+hget +hmget +hgetall +hset +hdel +hlen +hkeys +zadd +zrem +zrange +zscore "
                                "+client|tracking +subscribe "
                                "+publish ";
    doctor_report const in_line = report_of(permits + "+zrank +zcard +pexpire", "--permits");
    BOOST_TEST(flaws(in_line) == "rights ", in_line.told);
    BOOST_TEST(in_line.words("rights") == "fenced semaphores do not work; missing: +get, +set");
    doctor_report const fenced =
        report_of(permits + "+zrank +zcard +pexpire +set +get ~redlock-marker", "--permits");
    BOOST_TEST(flaws(fenced) == "", fenced.told);
    BOOST_TEST(report_of(permits + "+zrank +zcard +pexpire +set +get", "--permits").words("rights") ==
               "fenced semaphores do not work; missing: ~redlock-marker");
    doctor_report const without = report_of(permits, "--permits");
    BOOST_TEST(without.words("no-queue") ==
               "waiters do not use its queue, or only poll in it; missing: +pexpire, +zcard, +zrank");
    BOOST_TEST(without.gravest() == 1, without.told);
    BOOST_TEST(report_of(permits + "resetchannels", "--permits").words("no-queue") ==
               "waiters do not use its queue, or only poll in it; missing: &redlock-to:*, +pexpire, "
               "+zcard, +zrank");

    std::string const readers =
        "~seat* ~redlock-marker +set +get +del +pexpire +eval +evalsha +info +config|get +time +mget +pttl "
        "+exists +type +pexpireat +zadd +zrem +zrange +zscore +zcard +zremrangebyscore +hget "
        "+client|tracking ";
    doctor_report const shared = report_of(readers + "&redlock-to:* +zrank +subscribe +publish ", "--shared");
    BOOST_TEST(flaws(shared) == "", shared.told);
    for (std::string const kind : {"--shared", "--elect", "--several"}) // all these wait in a queue
        BOOST_TEST(report_of(readers, kind).found("no-queue") == "warning", kind);
}

/// Then the rights to the semaphore's own keys are not known.
BOOST_AUTO_TEST_CASE(doctor_does_not_judge_permits_by_key_that_is_not_permitted)
{
    redis_server server(
        {.acl = {"user default off", "user locker on >pw ~seat ~seat:redlock-s* +@all -set -get"}});
    std::string const url = "redis://locker:pw@127.0.0.1:" + std::to_string(server.port());
    doctor_report const report(url, {"--permits", "seat"});
    BOOST_TEST(contains(report.words("unchecked"), "the key 'seat:redlock-doctor' is not permitted"),
               report.told);
    BOOST_TEST(report.found("rights") == "", report.told);
    BOOST_TEST(report.found("no-quorum") == "", report.told);
}

BOOST_FIXTURE_TEST_CASE(doctor_that_tries_rights_of_all_kinds_leaves_no_keys, servers)
{
    doctor_report const report(nodes, {"--shared", "--several", "--elect", "--permits", "seat"});
    BOOST_TEST(report.found("rights") == "");
    BOOST_TEST(keys() == 0U);
}

/// Then the rights to the lock's own keys are not known.
BOOST_AUTO_TEST_CASE(doctor_does_not_judge_by_key_of_trial_that_is_not_permitted)
{
    redis_server server({.acl = {"user default off", "user locker on >pw ~seat ~redlock-marker +@all"}});
    std::string const url = "redis://locker:pw@127.0.0.1:" + std::to_string(server.port());
    doctor_report const report(url, {"seat"});
    BOOST_TEST(report.status == 1, report.told);
    BOOST_TEST(contains(report.words("unchecked"), "the key 'seat:redlock-doctor' is not permitted"),
               report.told);
    BOOST_TEST(report.found("rights") == "");
    BOOST_TEST(report.found("no-quorum") == "");
    doctor_report const other(url, {"other"}); // its own key is not permitted
    BOOST_TEST(other.found("rights") == "error");
    BOOST_TEST(contains(other.told.dump(), "permit the lock's keys"), other.told);
    BOOST_TEST(other.found("unchecked") == "");
}

/// Rights of commands that are not executed are not tried.
BOOST_AUTO_TEST_CASE(doctor_says_that_key_of_trial_is_taken)
{
    redis_server server;
    probe node{server.port()};
    node.command({"SET", "seat:redlock-doctor", "another"});
    doctor_report const report(server.url(), {"seat"});
    BOOST_TEST(report.status == 1, report.told);
    BOOST_TEST(contains(report.words("unchecked"), "the key 'seat:redlock-doctor' is there already"),
               report.told);
    node.command({"DEL", "seat:redlock-doctor"});
    BOOST_TEST(doctor_report(server.url(), {"seat"}).found("unchecked") == "");
}

/// "enough" is what docs/server-checklist.md, "Rights", says.
BOOST_AUTO_TEST_CASE(doctor_reports_each_missing_right)
{
    redis_server server(
        {.acl = {"user default off",
                 "user few on >pw ~seat* resetchannels -@all +set +get +del +pexpire +eval +evalsha",
                 "user fewer on >pw ~seat* resetchannels -@all +set +get +eval",
                 "user none on >pw ~seat* resetchannels -@all +get",
                 "user enough on >pw ~seat* ~redlock-marker resetchannels -@all +set +get "
                 "+del +pexpire +eval +evalsha +info +config|get +time +pttl +mget +select "
                 "+client|tracking +client|setname "
                 "+subscribe +publish +exists +type +zadd +zrange +zrem +zrank +zscore +zcard &redlock-to:*" +
                     native_right()}});
    std::string const place = "@127.0.0.1:" + std::to_string(server.port());
    doctor_report const few("redis://few:pw" + place, {"seat"});
    BOOST_TEST(few.status == 1);
    BOOST_TEST(few.found("no-info") == "warning");
    BOOST_TEST(few.found("no-time") == "warning");
    BOOST_TEST(few.found("no-config") == "info");
    BOOST_TEST(few.found("rights") == "warning");
    BOOST_TEST(few.found("no-queue") == "warning");
    BOOST_TEST(doctor_report("redis://fewer:pw" + place, {"seat"}).found("rights") == "error");
    doctor_report const enough("redis://enough:pw" + place,
                               {"seats"}); // the other key of trial is still there
    for (std::string const id :
         {"rights", "no-queue", "unchecked", "no-info", "no-time", "no-config", "no-vote"})
        BOOST_TEST(enough.found(id) == "", id);
    BOOST_TEST(doctor_report("redis://enough:pw" + place, {"other"}).found("rights") == "error");
    BOOST_TEST(doctor_report("redis://enough:no" + place).found("refused") == "error");
    for (std::string const missing : {"set", "get", "del", "pexpire", "eval", "evalsha"}) {
        redis_server other({.acl = {"user default off", "user locker on >pw ~seat* +@all -" + missing}});
        doctor_report const report("redis://locker:pw@127.0.0.1:" + std::to_string(other.port()), {"seat"});
        if (missing == "set" || native_right().empty())
            BOOST_TEST(report.found("rights") == "error", missing);
        else
            BOOST_TEST(report.found("no-scripts") == "warning", missing);
    }
    doctor_report const unnamed("redis://enough:pw" + place); // no key is tried
    BOOST_TEST(unnamed.status == 1);
    BOOST_TEST(unnamed.found("unchecked") == "warning");
    BOOST_TEST(unnamed.found("rights") == "");
    BOOST_TEST(doctor_report("redis://fewer:pw" + place).found("unchecked") == "warning");
    BOOST_TEST(doctor_report("redis://none:pw" + place).found("rights") == "error"); // to run commands
}

BOOST_AUTO_TEST_CASE(doctor_warns_of_risky_settings)
{
    redis_server server({.arguments = {"--min-replicas-to-write", "0", "--maxmemory", "1", "--appendonly",
                                       "yes", "--appendfsync", "always"},
                         .own_clock = true});
    server.set_age(std::chrono::minutes{1});
    doctor_report const report(server.url() + "?durable=true");
    BOOST_TEST(report.status == 2); // memory is so short that it takes no locks
    BOOST_TEST(report.found("no-vote") == "error");
    BOOST_TEST(report.found("one-node") == "warning");
    BOOST_TEST(report.found("memory") == "warning");
    BOOST_TEST(report.found("clock") == "warning");
    BOOST_TEST(report.found("durable") == "info");
    BOOST_TEST(report.found("young") == "");
    BOOST_TEST(doctor_report(server.url() + "?protocol=2").found("resp2") == "warning");
}

BOOST_AUTO_TEST_SUITE_END()

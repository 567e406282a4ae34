#include "servers.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace redlock::test;
using nlohmann::json;

namespace {

struct examined {
    explicit examined(std::string const& urls, std::vector<std::string> const& more = {}, bool fresh = true)
    {
        std::vector<std::string> arguments{"doctor", "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        environment variables{{"REDLOCK_NODES", urls}};
        if (fresh)
            variables["REDLOCK_ASSUME_FRESH"] = "1";
        finished const run(arguments, variables);
        status = run.status;
        told = json::parse(run.out);
    }

    /// The severity of what was found; empty where it was not.
    [[nodiscard]] std::string found(std::string const& id, std::string const& node = "") const
    {
        for (json const& one : told.at("findings"))
            if (one.at("id") == id && (node.empty() || one.at("node") == node))
                return one.at("severity");
        return "";
    }

    int status;
    json told;
};

} // namespace

BOOST_AUTO_TEST_SUITE(status_test)

BOOST_FIXTURE_TEST_CASE(tells_who_holds_a_lock, servers)
{
    BOOST_TEST(finished({"status", "seat"}, env()).status == 1);
    std::string const token =
        json::parse(finished({"acquire", "--fenced", "--json", "seat"}, env()).out).at("token");
    wait_until([&] { return holders("seat", token) >= 2; });

    finished const run({"status", "--json", "seat"}, env());
    json const told = json::parse(run.out);
    BOOST_TEST(run.status == 0);
    BOOST_TEST(told.at("status") == "held");
    BOOST_TEST(told.at("votes").get<int>() >= 2);
    BOOST_TEST(told.at("holder") == token.substr(0, 8) + "...");
    auto const& rows = told.at("nodes");
    auto const holds = std::ranges::find_if(rows, [](json const& row) { return row.contains("holder"); });
    BOOST_TEST(holds->at("pttl_ms").get<int>() > 0);
    BOOST_TEST(holds->at("role") == "master");
    BOOST_TEST(holds->contains("fence"));
    BOOST_TEST(!contains(run.out, token)); // who has it can release the lock
    BOOST_TEST(contains(finished({"status", "seat"}, env()).out, "seat: held by " + token.substr(0, 8)));
}

BOOST_FIXTURE_TEST_CASE(a_minority_is_no_holder_and_silence_is_no_answer, servers)
{
    probes[0].command({"SET", "seat", "theirs"});
    BOOST_TEST(finished({"status", "seat"}, env()).status == 1);
    group[1].kill();
    BOOST_TEST(finished({"status", "seat"}, env()).status == 69);
    probes[2].command({"SET", "seat", "theirs"});
    BOOST_TEST(finished({"status", "seat"}, env()).status == 0);
}

BOOST_FIXTURE_TEST_CASE(a_key_that_is_no_lock_is_in_the_way_all_the_same, servers)
{
    for (probe& p : probes)
        p.command({"LPUSH", "seat", "1"});
    finished const run({"status", "seat"}, env());
    BOOST_TEST(run.status == 75);
    BOOST_TEST(contains(run.out, "seat: blocked\n"));
    BOOST_TEST(contains(run.out, "(not a lock)"));
    group[1].kill();
    BOOST_TEST(finished({"status", "seat"}, env()).status == 75);
    group[2].kill();
    BOOST_TEST(finished({"status", "seat"}, env()).status == 69);
}

BOOST_FIXTURE_TEST_CASE(holders_that_are_no_majority_block_the_lock_together, servers)
{
    probes[0].command({"SET", "seat", "theirs"});
    probes[1].command({"SET", "seat", "others"});
    finished const run({"status", "--json", "seat"}, env());
    BOOST_TEST(run.status == 75);
    BOOST_TEST(json::parse(run.out).at("status") == "blocked");
    probes[1].command({"DEL", "seat"});
    BOOST_TEST(finished({"status", "seat"}, env()).status == 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(doctor_test)

BOOST_FIXTURE_TEST_CASE(finds_nothing_grave_with_good_servers, servers)
{
    examined const report(nodes);
    BOOST_TEST(report.status == 0);
    BOOST_TEST(report.told.at("worst") == "info");
    BOOST_TEST(report.found("young") == "info");
    BOOST_TEST(report.found("not-durable") == "info");
    BOOST_TEST(report.told.at("nodes").size() == 3U);
    BOOST_TEST(keys() == 0U);
    finished const text({"doctor"}, env());
    BOOST_TEST(contains(text.out, "info: " + group[0].url()));
}

BOOST_FIXTURE_TEST_CASE(a_young_server_is_a_warning, servers)
{
    examined const report(nodes, {}, false);
    BOOST_TEST(report.status == 1);
    BOOST_TEST(report.found("young", group[2].url()) == "warning");
}

BOOST_AUTO_TEST_CASE(what_keeps_a_server_from_voting_is_an_error)
{
    redis_server master({.arguments = {"--repl-diskless-sync-delay", "0"}});
    redis_server replica({.arguments = {"--replicaof", "127.0.0.1", std::to_string(master.port())}});
    redis_server evicting({.arguments = {"--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru"}});
    redis_server cluster({.arguments = {"--cluster-enabled", "yes"}});
    wait_until([&] { return contains(probe(replica.port()).info("replication"), "master_link_status:up"); });
    reserved_port const nobody(0);
    std::string const missing = "redis://127.0.0.1:" + std::to_string(nobody.number());
    examined const report(master.url() + ' ' + replica.url() + ' ' + evicting.url() + ' ' + cluster.url() +
                          ' ' + missing);
    BOOST_TEST(report.status == 2);
    BOOST_TEST(report.found("replica", replica.url()) == "error");
    BOOST_TEST(report.found("eviction", evicting.url()) == "error");
    BOOST_TEST(report.found("cluster", cluster.url()) == "error");
    BOOST_TEST(report.found("unreachable", missing) == "error");
    BOOST_TEST(report.found("replicas", master.url()) == "warning");
    BOOST_TEST(report.found("no-quorum") == "error");
}

BOOST_AUTO_TEST_CASE(one_server_under_two_names_is_an_error)
{
    redis_server server;
    std::string const second = "unix://" + server.unix_path();
    examined const report(server.url() + ' ' + second);
    BOOST_TEST(report.status == 2);
    BOOST_TEST(report.found("same-server", second) == "error");
    BOOST_TEST(report.found("even") == "warning");
}

BOOST_AUTO_TEST_CASE(missing_rights_are_told_one_by_one)
{
    redis_server server(
        {.acl = {"user default off",
                 "user few on >pw ~seat* resetchannels -@all +set +get +del +pexpire +eval +evalsha",
                 "user fewer on >pw ~seat* resetchannels -@all +set +get +eval",
                 "user enough on >pw ~seat* ~redlock-marker resetchannels -@all +set +get +del +pexpire "
                 "+eval +evalsha +info +config|get +time +client|tracking +pttl +mget"}});
    std::string const place = "@127.0.0.1:" + std::to_string(server.port());
    examined const few("redis://few:pw" + place, {"seat"});
    BOOST_TEST(few.status == 1);
    BOOST_TEST(few.found("no-info") == "warning");
    BOOST_TEST(few.found("no-time") == "warning");
    BOOST_TEST(few.found("no-config") == "info");
    BOOST_TEST(few.found("rights") == "warning");
    BOOST_TEST(examined("redis://fewer:pw" + place, {"seat"}).found("rights") == "error");
    BOOST_TEST(examined("redis://enough:pw" + place, {"seat"}).found("rights") == "");
    BOOST_TEST(examined("redis://enough:pw" + place, {"other"}).found("rights") == "error");
    BOOST_TEST(examined("redis://enough:no" + place).found("refused") == "error");
}

BOOST_AUTO_TEST_CASE(what_may_go_wrong_is_a_warning)
{
    redis_server server({.arguments = {"--min-replicas-to-write", "0", "--maxmemory", "1mb", "--appendonly",
                                       "yes", "--appendfsync", "always"},
                         .own_clock = true});
    server.set_clock_ahead(std::chrono::minutes{1});
    examined const report(server.url());
    BOOST_TEST(report.status == 2); // memory is so short that it takes no locks
    BOOST_TEST(report.found("no-vote") == "error");
    BOOST_TEST(report.found("one-node") == "warning");
    BOOST_TEST(report.found("memory") == "warning");
    BOOST_TEST(report.found("clock") == "warning");
    BOOST_TEST(report.found("durable") == "info");
    BOOST_TEST(report.found("young") == "");
    BOOST_TEST(examined(server.url() + "?protocol=2").found("resp2") == "warning");
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "curt_server.hpp"
#include "servers.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <nlohmann/json.hpp>

using namespace redlock::test;

namespace {

/// Checks a refusal before any server is asked.
void refused(std::vector<std::string> const& arguments, int status, std::string const& why,
             environment const& variables = {{"REDLOCK_NODES", "redis://127.0.0.1:1"}})
{
    finished_run const run(arguments, variables);
    BOOST_TEST_CONTEXT(run.err)
    {
        BOOST_TEST(run.status == status);
        BOOST_TEST(contains(run.err, why));
        bool const to_evaluate = !arguments.empty() && arguments.front() == "acquire";
        BOOST_TEST(run.out == (to_evaluate ? "false\n" : ""));
    }
}

environment nodes(std::string const& urls)
{
    return {{"REDLOCK_NODES", urls}, {"REDLOCK_ASSUME_FRESH", "1"}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(refusals)

BOOST_AUTO_TEST_CASE(bad_arguments_are_usage_errors)
{
    std::string const verbs = "run, elect, acquire, extend, release, leader, status, list, doctor";
    refused({}, 64, "a verb is missing (" + verbs + ")");
    refused({"--", "run"}, 64, "a verb is missing");
    refused({"rum", "seat"}, 64, "unknown verb: 'rum' (" + verbs + ")");
    refused({"--json", "rum", "run", "seat"}, 64, "unknown verb: 'rum'");
    refused({"redis://me:s3cret@host"}, 64, "unknown verb: 'redis://***@host'");
    refused({"host:6379,Password=s3cret,ssl=True"}, 64, "unknown verb: 'host:6379,Password=***,ssl=True'");
    refused({"--jsn", "run", "seat", "true"}, 64, "--jsn");
    refused({"run"}, 64, "NAME");
    refused({"run", "seat"}, 64, "needs a command");
    refused({"run", "seat", "-c", "x", "--", "y"}, 64, "not both");
    refused({"run", "-t", "soon", "seat", "true"}, 64, "not a time: 'soon'");
    refused({"run", "-t", "-1s", "seat", "true"}, 64, "not a time: '-1s'");
    refused({"run", "-w", "", "seat", "true"}, 64, "not a time: ''"); // a variable that is not set
    refused({"run", "--prefix=", "job", "nice", "report"}, 64, "--prefix= is empty"); // not the next word
    refused({"list", "--prefix=", "acc"}, 64, "--prefix= is empty");
    refused({"run", "-s", "GO", "seat", "true"}, 64, "not a signal: 'GO'");
    refused({"run", "-k", "20s", "seat", "true"}, 64,
            "--kill-after 20s and a margin of 0.6 s do not fit into half of --ttl 30s");
    refused({"run", "-t", "1s", "-k", "451ms", "seat", "true"}, 64, "--kill-after may be 450 ms at most");
    refused({"run", "-t", "5s", "-k", "5s", "seat", "true"}, 64, "--kill-after may be 2400 ms at most");
    refused({"run", "-t", "100ms", "seat", "true"}, 64, "--ttl 100ms is too short to stop a command in time");
    refused({"run", "-t", "0.05", "seat", "true"}, 64, "--ttl 0.05 is too short to stop a command in time");
    refused({"run", "-t", "0", "seat", "true"}, 64, "--ttl 0 is too short to stop a command in time");
    refused({"run", "-n", "-w", "3", "seat", "true"}, 64, "-n");
    refused({"run", "-E", "300", "seat", "true"}, 64, "300");
    refused({"run", "--on-lost", "cry", "seat", "true"}, 64, "cry");
    refused({"run", "-v", "--no-wait", "seat", "--", "true"}, 64, "'--no-wait'");
    refused({"run", "seat", "--no-wait", "-c", "true"}, 64, "'--no-wait'");
    refused({"run", "seat", "--no-wait", "true"}, 64, "'--no-wait'");
    refused({"run", "--kil-after=1s", "seat", "--", "true"}, 64, "'--kil-after=1s'");
    refused({"run", "seat", "-x", "--", "true"}, 64, "'-x'");
    refused({"acquire", "--no-wait", "seat"}, 64, "--no-wait");
    refused({"extend", "seat"}, 64, "--owner");
    refused({"extend", "seat", "--owner", std::string(32, 'a'), "--token", "x"}, 64,
            "not a fencing token: 'x'");
    refused({"status", "--user", "me", "seat"}, 64, "REDISCLI_AUTH");
    refused({"status", "seat"}, 64, "no nodes", {{"X", ""}});
    refused({"-t", "10s", "run", "seat", "true"}, 64, "those of a verb stand behind it");
    refused({"-t", "10s", "rum", "seat"}, 64, "those of a verb stand behind it");
    refused({"acquire", "-t", "1ms", "seat"}, 64, "ttl");
    refused({"run", "-t", "25h", "seat", "true"}, 64, "ttl");
    refused({"run", "seat:redlock-fence", "true"}, 64, "reserved for the library's own keys");
    refused({"release", "seat", "--owner", "short"}, 64, "an owner token has 32 characters, not 5");
    for (std::string const option : {"--nodes-file", "--user", "--password-file", "--cacert", "--cacertdir",
                                     "--cert", "--key", "--sni", "--owner"})
        refused({"release", "seat", option, ""}, 64, option + ": is empty"); // a variable that is not set
    for (std::string const verb : {"acquire", "status"})
        refused({verb, ""}, 64, "the lock's name is empty");
    std::string const one_name = "--shared, --exclusive and --permits are for one lock";
    for (std::string const way : {"--shared", "--exclusive", "--permits=2"})
        refused({"run", "seat", "--also", "row", way, "true"}, 64, one_name);
    refused({"run", "seat", "--also", "", "true"}, 64, "--also: is empty");
    refused({"run", "seat", "--also", "row:redlock-fence", "true"}, 64,
            "reserved for the library's own keys");
}

BOOST_AUTO_TEST_CASE(bad_arguments_are_told_as_json_if_that_is_among_them)
{
    finished_run const run({"status", "--no-wait", "seat", "--json"}, nodes("redis://127.0.0.1:1"));
    BOOST_TEST(run.status == 64);
    BOOST_TEST(run.err == "");
    auto const told = nlohmann::json::parse(run.out);
    BOOST_TEST(told.at("exit_status") == 64);
    BOOST_TEST(contains(told.at("error").get<std::string>(), "'--no-wait'"));
    BOOST_TEST(finished_run({"status", "--", "--json"}, {{"X", ""}}).out == "");
}

BOOST_AUTO_TEST_CASE(bad_values_are_configuration_errors)
{
    refused({"acquire", "seat"}, 78, "names no nodes", nodes("  "));
    refused({"acquire", "seat"}, 78, "URL", nodes("ftp://host"));
    std::string const hint = "URLs are separated by spaces";
    refused({"acquire", "seat"}, 78, hint, nodes("redis://a:1,redis://b:2"));
    refused({"acquire", "seat"}, 78, hint, nodes("redis://a, redis://b"));
    refused({"acquire", "seat"}, 78, "a space inside one is %20", nodes("redis://:1 2@host:1"));
    refused({"status", "seat"}, 78, hint, nodes("a,b"));
    refused({"status", "-u", "redis://a,redis://b", "seat"}, 78, hint);
    BOOST_TEST(!contains(finished_run({"status", "seat"}, nodes("redis://host:x")).err, hint));
    refused({"acquire", "seat"}, 78, "one server", nodes("redis://host redis://host:6379/1"));
    refused({"acquire", "seat", "--cacert", "/no/such/file"}, 78, "/no/such/file",
            nodes("rediss://127.0.0.1:1"));
    refused({"status", "seat", "--nodes-file", "/no/such/file"}, 78, "/no/such/file");
    refused({"status", "seat", "--password-file", "/no/such/file"}, 78, "/no/such/file",
            nodes("redis://host"));
    refused({"status", "seat", "--password-file", "/dev/null"}, 78, "first line is empty",
            nodes("redis://host"));
    temporary_directory const place("redlock-password");
    std::ofstream(place.file("password")) << "secret\n";
    refused({"status", "seat", "--password-file", place.file("password")}, 64, "all URLs have them",
            nodes("redis://:other@host redis://user:other@host:1"));
}

/// With --json every error is JSON, also one of the arguments.
BOOST_AUTO_TEST_CASE(error_with_json_option_is_json)
{
    auto const told = [](std::vector<std::string> const& arguments, environment const& variables) {
        finished_run const run(arguments, variables);
        bool const runs = arguments.front() == "run"; // its standard output belongs to the command
        BOOST_TEST((runs ? run.out : run.err) == "");
        auto const object = nlohmann::json::parse(runs ? run.err : run.out);
        BOOST_TEST(object.at("exit_status") == run.status);
        return object.at("error").get<std::string>();
    };
    for (std::string const verb : {"acquire", "status", "doctor"})
        BOOST_TEST(told({verb, "--json", "seat"}, nodes(" ")) == "$REDLOCK_NODES names no nodes", verb);
    BOOST_TEST(told({"run", "--json", "seat", "true"}, nodes("")) == "$REDLOCK_NODES names no nodes");
    BOOST_TEST(contains(told({"acquire", "--json", "seat"}, {{"X", ""}}), "no nodes: give them"));
    BOOST_TEST(
        contains(told({"release", "--json", "seat"}, nodes("redis://127.0.0.1:1")), "needs the lock's name"));
    BOOST_TEST(contains(
        told({"run", "--json", "-t", "1s", "-k", "1s", "seat", "true"}, nodes("redis://127.0.0.1:1")),
        "do not fit"));
}

BOOST_AUTO_TEST_CASE(help_and_version_succeed)
{
    finished_run const help({"run", "--help"});
    BOOST_TEST(help.status == 0);
    BOOST_TEST(contains(help.out, "redlock run [OPTIONS] NAME"));
    std::string const pointer = "redlock run --help";
    BOOST_TEST(contains(finished_run({"--help"}).out, pointer));
    for (std::string const verb : {"run", "acquire", "extend", "release", "status", "doctor"}) {
        std::string const text = finished_run({verb, "--help"}).out;
        BOOST_TEST(!contains(text, pointer), verb);
        BOOST_TEST(contains(text, "Example"), verb);
        auto const shared = text.find("Options of all verbs:");
        BOOST_TEST_REQUIRE(shared != std::string::npos, verb);
        BOOST_TEST(text.find("--node") > shared, verb); // a verb's own come first
    }
    BOOST_TEST(help.out.find("--kill-after") < help.out.find("Options of all verbs:"));
    BOOST_TEST(contains(help.out, "124  the lock was lost"));
    finished_run const version({"--version"});
    BOOST_TEST(version.status == 0);
    BOOST_TEST(version.out.starts_with("redlock "));
}

BOOST_AUTO_TEST_CASE(unreachable_servers_are_no_quorum)
{
    reserved_port const nobody(0);
    std::string const url = "redis://127.0.0.1:" + std::to_string(nobody.number());
    refused({"run", "-n", "seat", "true"}, 69, "unreachable", nodes(url));
    refused({"acquire", "-w", "100ms", "seat"}, 69, "unreachable", nodes(url));
    refused({"extend", "-t", "1s", "seat", "--owner", std::string(32, 'a')}, 69, "unreachable", nodes(url));
    refused({"release", "seat", "--owner", std::string(32, 'a')}, 69, "no quorum", nodes(url));
}

/// Also without -w: a job of cron must not wait until an operator looks.
BOOST_AUTO_TEST_CASE(unreachable_servers_are_waited_for_a_bounded_time)
{
    reserved_port const nobody(0);
    std::string const url = "redis://127.0.0.1:" + std::to_string(nobody.number());
    refused({"run", "-q", "seat", "true"}, 69, "unreachable", nodes(url));
    for (std::string const verb : {"run", "acquire"})
        BOOST_TEST(contains(finished_run({verb, "--help"}).out, "5 s while no majority can be reached"));
}

BOOST_AUTO_TEST_CASE(young_server_is_named_with_remaining_quarantine)
{
    redis_server server;
    refused({"run", "-n", "seat", "true"}, 69, "may vote in", {{"REDLOCK_NODES", server.url()}});
}

BOOST_AUTO_TEST_CASE(missing_right_has_its_own_exit_status)
{
    redis_server server({.acl = {"user default off", "user locker on >s3cret ~other:* +@all"}});
    std::string const place = "127.0.0.1:" + std::to_string(server.port());
    refused({"run", "-n", "seat", "true"}, 77, "NOPERM", nodes("redis://locker:s3cret@" + place));
    refused({"run", "-n", "seat", "true"}, 77, "WRONGPASS", nodes("redis://locker:wr0ng@" + place));
    refused({"acquire", "-w", "5s", "seat"}, 77, "NOAUTH", nodes("redis://" + place));
    std::string const token(32, 'a');
    for (std::string const verb : {"extend", "release"}) {
        refused({verb, "seat", "--owner", token}, 77, "NOPERM", nodes("redis://locker:s3cret@" + place));
        refused({verb, "seat", "--owner", token}, 77, "WRONGPASS", nodes("redis://locker:wr0ng@" + place));
    }
}

/// Three servers refuse with the same words.
BOOST_AUTO_TEST_CASE(same_error_of_several_nodes_is_printed_once)
{
    servers const three({.password = "s3cret"});
    finished_run const run({"run", "-n", "seat", "true"}, three.env());
    std::string const words = "NOAUTH";
    auto const first = run.err.find(words);
    BOOST_TEST_REQUIRE(first != std::string::npos, run.err);
    BOOST_TEST(run.err.find(words, first + 1) == std::string::npos, run.err);
    BOOST_TEST(contains(run.err, three.urls()[0] + ", " + three.urls()[1]), run.err);
    finished_run const release({"release", "seat", "--owner", std::string(32, 'a')}, three.env());
    BOOST_TEST(release.err.find(words) == release.err.rfind(words), release.err);
    BOOST_TEST(contains(release.err, words), release.err);
}

BOOST_AUTO_TEST_CASE(bad_certificate_is_configuration_error)
{
    certificates const files;
    redis_server server({.tls = files.server});
    refused({"run", "-n", "seat", "true"}, 78, "certificate", nodes(server.tls_url()));
    finished_run const good({"run", "--cacert", files.authority.file(), "seat", "echo", "held"},
                            nodes(server.tls_url()));
    BOOST_TEST(good.out == "held\n");
    finished_run const insecure({"run", "--insecure", "seat", "echo", "held"}, nodes(server.tls_url()));
    BOOST_TEST(insecure.out == "held\n");
}

BOOST_AUTO_TEST_CASE(cut_tls_connection_is_no_configuration_error)
{
    curt_server const server({});
    refused({"run", "-n", "seat", "true"}, 69, "TLS: ", nodes("rediss" + server.place()));
}

BOOST_AUTO_TEST_CASE(password_is_never_shown)
{
    redis_server server({.password = "s3cret"});
    std::string const place = "127.0.0.1:" + std::to_string(server.port());
    std::string const good = "redis://:s3cret@" + place;
    std::vector<std::vector<std::string>> const calls{
        {"run", "-v", "seat", "true"}, {"run", "--json", "-v", "seat", "true"},
        {"acquire", "seat"},           {"status", "seat"},
        {"status", "--json", "seat"},  {"doctor"},
        {"doctor", "--json"},          {"run", "-n", "seat", "true"}};
    std::vector<std::string> const urls{good,
                                        "redis://:s3cretX@" + place,
                                        "redis://s3cret:s3cret@" + place,
                                        "redis://:s3cret@" + place + "?client_name=s3cret%20",
                                        "redis://:s3cret@@@" + place,
                                        "reds://:s3cret@" + place,
                                        "\"redis://s3cret s3cret@" + place + '"',
                                        "redis:///:s3cret @" + place,
                                        "redis:s3cret\ts3cret@" + place,
                                        good + " " + good};
    auto const silent = [](finished_run const& run) {
        BOOST_TEST_CONTEXT(run.out << run.err) BOOST_TEST(!contains(run.out + run.err, "s3cret"));
    };
    for (std::string const& url : urls)
        for (auto const& call : calls)
            silent(finished_run(call, nodes(url)));
    silent(finished_run({"status", "--nod", good, "seat"}));
    silent(finished_run({"status", good, good}));
    silent(finished_run({"status", "-u", "redis://:s3cret@[", "seat"}));
    silent(finished_run({"status", "seat"},
                        {{"REDLOCK_NODES", "redis://" + place}, {"REDISCLI_AUTH", "s3cretX"}}));
    finished_run const right(
        {"acquire", "seat2"},
        {{"REDLOCK_NODES", "redis://" + place}, {"REDISCLI_AUTH", "s3cret"}, {"REDLOCK_ASSUME_FRESH", "1"}});
    BOOST_TEST(right.status == 0);
}

BOOST_AUTO_TEST_CASE(nodes_from_file_or_options_override_environment)
{
    redis_server server;
    temporary_directory const place("redlock-nodes");
    std::ofstream(place.file("nodes")) << "# the only one\n" << server.url() << "   # here\n\n";
    environment const elsewhere{{"REDLOCK_NODES", "redis://127.0.0.1:1"}, {"REDLOCK_ASSUME_FRESH", "1"}};
    BOOST_TEST(finished_run({"run", "--nodes-file", place.file("nodes"), "seat", "true"}, elsewhere).status ==
               0);
    BOOST_TEST(finished_run({"run", "-u", server.url(), "seat", "true"}, elsewhere).status == 0);
}

BOOST_AUTO_TEST_CASE(password_comes_from_a_file)
{
    redis_server server({.password = "s3cret"});
    temporary_directory const place("redlock-password");
    environment const known{{"REDLOCK_NODES", server.url()}, {"REDLOCK_ASSUME_FRESH", "1"}};
    for (std::string const user : {"", "default"}) {
        std::ofstream(place.file("password")) << "s3cret\nnot this\n";
        std::vector<std::string> call{"run", "--password-file", place.file("password"), "seat", "true"};
        if (!user.empty())
            call.insert(call.begin() + 1, {"--user", user});
        BOOST_TEST(finished_run(call, known).status == 0);
        std::ofstream(place.file("password")) << "not this\n";
        BOOST_TEST(finished_run(call, known).status == 77);
    }
}

BOOST_AUTO_TEST_CASE(common_options_may_precede_the_verb)
{
    redis_server first;
    redis_server second;
    environment const none{{"X", ""}};
    finished_run const run(
        {"--prefix", "my:", "--assume-fresh", "-u", first.url(), "run", "seat", "printf", "-u"}, none);
    BOOST_TEST_CONTEXT(run.err) BOOST_TEST(run.status == 0);
    BOOST_TEST(run.out == "-u");
    finished_run const both({"--json", "-u", first.url(), "status", "-u", second.url(), "seat"}, none);
    BOOST_TEST(both.status == 1);
    BOOST_TEST(nlohmann::json::parse(both.out).at("nodes").size() == 2U);
    refused({"-u", first.url(), "run", "--no-wait", "seat", "true"}, 64, "'--no-wait'", none);
    finished_run const eval({"-u", first.url(), "acquire", "--no-wait", "seat"}, none);
    BOOST_TEST(eval.out == "false\n");
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "kit/probe.hpp"
#include "kit/redis_server.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using redlock::test::probe;
using redlock::test::process_state;
using redlock::test::redis_server;
using redlock::test::redis_server_options;
using redlock::test::server_group;

} // namespace

BOOST_AUTO_TEST_SUITE(servers)

BOOST_AUTO_TEST_CASE(server_starts_on_free_port_and_answers)
{
    redis_server server;
    BOOST_TEST(server.running());
    BOOST_TEST(server.port() != 0);
    BOOST_TEST(server.tls_port() == 0);
    BOOST_TEST(server.url() == "redis://127.0.0.1:" + std::to_string(server.port()));
    BOOST_TEST(probe(server.port()).command({"PING"}) == "PONG");
}

BOOST_AUTO_TEST_CASE(unix_socket_leads_to_the_same_server)
{
    redis_server server;
    probe(server.port()).command({"SET", "k", "v"});
    BOOST_TEST(probe(server.unix_path()).get("k").value() == "v");
}

BOOST_AUTO_TEST_CASE(killed_server_is_gone_and_its_port_refuses)
{
    redis_server server;
    auto const pid = server.pid();
    server.kill();
    BOOST_TEST(!server.running());
    BOOST_TEST(server.pid() == -1);
    BOOST_TEST(process_state(pid) == '\0');
    BOOST_CHECK_THROW(probe(server.port()), std::system_error);
    BOOST_CHECK_THROW(server.pause(), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(restarted_server_keeps_port_and_loses_memory)
{
    redis_server server;
    auto const port = server.port();
    auto const pid = server.pid();
    probe(port).command({"SET", "k", "v"});
    server.restart();
    BOOST_TEST(server.port() == port);
    BOOST_TEST(server.pid() != pid);
    BOOST_TEST(!probe(port).exists("k"));
}

BOOST_AUTO_TEST_CASE(crashed_server_loads_its_append_only_file)
{
    redis_server server({.arguments = {"--appendonly", "yes", "--appendfsync", "always"}});
    probe(server.port()).command({"SET", "k", "v"});
    server.kill();
    server.restart();
    BOOST_TEST(probe(server.port()).get("k").value() == "v");
}

BOOST_AUTO_TEST_CASE(paused_server_is_silent_until_resumed)
{
    redis_server server;
    server.pause();
    server.pause();
    BOOST_TEST(process_state(server.pid()) == 'T');
    probe impatient(server.port(), std::chrono::milliseconds(50));
    BOOST_CHECK_THROW(impatient.command({"PING"}), std::system_error);
    server.resume();
    BOOST_TEST(process_state(server.pid()) != 'T');
    BOOST_TEST(probe(server.port()).command({"PING"}) == "PONG");
}

BOOST_AUTO_TEST_CASE(paused_server_can_be_restarted)
{
    redis_server server;
    server.pause();
    server.restart();
    BOOST_TEST(probe(server.port()).command({"PING"}) == "PONG");
    server.pause();
    BOOST_TEST(process_state(server.pid()) == 'T');
}

BOOST_AUTO_TEST_CASE(destroyed_server_leaves_no_process_and_no_files)
{
    pid_t pid = -1;
    std::filesystem::path directory;
    {
        redis_server server;
        pid = server.pid();
        directory = std::filesystem::path(server.unix_path()).parent_path();
        BOOST_TEST(std::filesystem::exists(directory));
    }
    BOOST_TEST(process_state(pid) == '\0');
    BOOST_TEST(!std::filesystem::exists(directory));
}

BOOST_AUTO_TEST_CASE(server_that_ends_by_itself_is_noticed)
{
    redis_server server;
    // No reply: the server closes the connection and exits.
    BOOST_CHECK_THROW(probe(server.port()).command({"SHUTDOWN", "NOSAVE"}), std::runtime_error);
    server.terminate();
    BOOST_TEST(!server.running());
    server.restart();
    BOOST_TEST(probe(server.port()).command({"PING"}) == "PONG");
}

BOOST_AUTO_TEST_CASE(server_that_cannot_start_throws_with_reason)
{
    auto const says_why = [](std::runtime_error const& failure) {
        return std::string(failure.what()).find("no-such-option") != std::string::npos;
    };
    BOOST_CHECK_EXCEPTION(redis_server({.arguments = {"--no-such-option", "1"}}), std::runtime_error,
                          says_why);
}

BOOST_AUTO_TEST_CASE(environment_variable_names_server_binary)
{
    constexpr auto variable = "REDLOCK_TEST_SERVER";
    char const* const set = std::getenv(variable);
    std::string const before = set != nullptr ? set : "";
    BOOST_TEST(redis_server::available());
    ::setenv(variable, "/nowhere/redis-server", 1);
    BOOST_TEST(!redis_server::available());
    BOOST_CHECK_THROW(redis_server(), std::runtime_error);
    // Empty counts as unset.
    ::setenv(variable, before.c_str(), 1);
    BOOST_TEST(redis_server::available());
}

BOOST_AUTO_TEST_CASE(server_on_port_in_use_is_refused)
{
    redis_server first;
    BOOST_CHECK_THROW(redis_server({.port = first.port()}), std::runtime_error);
    BOOST_TEST(probe(first.port()).command({"PING"}) == "PONG");
}

BOOST_AUTO_TEST_CASE(server_enforces_password_and_acl)
{
    redis_server guarded({.password = "secret"});
    probe guest(guarded.port());
    BOOST_TEST(guest.command({"GET", "k"}).starts_with("-NOAUTH"));
    BOOST_TEST(guest.command({"AUTH", "secret"}) == "OK");
    BOOST_TEST(guest.command({"GET", "k"}) == "(nil)");

    redis_server listed({.acl = {"user default off", "user locker on >pw ~lock:* +set +get"}});
    probe locker(listed.port());
    BOOST_TEST(locker.command({"AUTH", "locker", "pw"}) == "OK");
    BOOST_TEST(locker.command({"SET", "lock:a", "1"}) == "OK");
    BOOST_TEST(locker.command({"SET", "other", "1"}).starts_with("-NOPERM"));
    BOOST_TEST(locker.command({"DEL", "lock:a"}).starts_with("-NOPERM"));
}

BOOST_AUTO_TEST_CASE(servers_of_a_group_are_independent)
{
    server_group group(3);
    auto const urls = group.urls();
    BOOST_TEST(std::set<std::string>(urls.begin(), urls.end()).size() == 3U);
    probe(group[0].port()).command({"SET", "k", "v"});
    BOOST_TEST(!probe(group[1].port()).exists("k"));
    group[2].kill();
    BOOST_TEST(group[1].running());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(probes)

BOOST_AUTO_TEST_CASE(probe_shows_readable_replies)
{
    redis_server server;
    probe eye(server.port());
    BOOST_TEST(eye.command({"GET", "none"}) == "(nil)");
    BOOST_TEST(eye.command({"INCR", "n"}) == "1");
    BOOST_TEST(eye.command({"NONSENSE"}).starts_with("-ERR"));
    BOOST_TEST(eye.command({"EVAL", "return {1,{'a',false},'b c'}", "0"}) == "[1, [a, (nil)], b c]");
    BOOST_TEST(eye.command({"SET", "raw", std::string("a\r\nb\0c", 6)}) == "OK");
    BOOST_TEST(eye.get("raw").value() == std::string("a\r\nb\0c", 6));
    BOOST_TEST(eye.command({"SET", "big", std::string(100'000, 'x')}) == "OK");
    BOOST_TEST(eye.get("big").value().size() == 100'000U);
}

BOOST_AUTO_TEST_CASE(probe_shows_readable_resp3_replies)
{
    redis_server server;
    probe eye(server.port());
    BOOST_TEST(eye.command({"HELLO", "3"}).find("proto, 3") != std::string::npos);
    BOOST_TEST(eye.command({"GET", "none"}) == "(nil)");
    BOOST_TEST(!eye.get("none").has_value());
    eye.command({"HSET", "h", "f", "v"});
    BOOST_TEST(eye.command({"HGETALL", "h"}) == "[f, v]");
}

BOOST_AUTO_TEST_CASE(probe_answers_questions_about_keys_and_commands)
{
    redis_server server;
    probe eye(server.port());
    BOOST_TEST(eye.command_calls("set") == 0);
    eye.command({"SET", "b", "1", "PX", "60000"});
    eye.command({"SET", "a", "(nil)"});
    BOOST_TEST(eye.command_calls("set") == 2);
    BOOST_TEST((eye.keys() == std::vector<std::string>{"a", "b"}));
    BOOST_TEST(eye.get("a").value() == "(nil)");
    BOOST_TEST(eye.pttl("b") > 0);
    BOOST_TEST(eye.pttl("b") <= 60'000);
    BOOST_TEST(eye.pttl("a") == -1);
    BOOST_TEST(eye.pttl("none") == -2);
    BOOST_TEST(eye.exists("a"));
    BOOST_TEST(!eye.exists("none"));
    BOOST_TEST(eye.info("server").find("run_id:") != std::string::npos);
    eye.command({"LPUSH", "list", "x"});
    BOOST_CHECK_THROW(eye.get("list"), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(group_takes_servers_of_an_earlier_one_as_new)
{
    pid_t pid = -1;
    std::string script;
    {
        server_group first(1);
        pid = first[0].pid();
        first.ask(0).command({"SET", "k", "v"});
        script = first.ask(0).command({"SCRIPT", "LOAD", "return 1"});
    }
    server_group second(1);
    BOOST_TEST(second[0].pid() == pid);
    BOOST_TEST(second.no_keys());
    BOOST_TEST(second.ask(0).command_calls("set") == 0);
    BOOST_TEST(second.ask(0).command({"SCRIPT", "EXISTS", script}) == "[0]");
    BOOST_TEST(server_group(1, {.young = true})[0].pid() != pid);
}

BOOST_AUTO_TEST_CASE(group_takes_no_server_that_differs_from_a_new_one)
{
    redis_server master;
    using words = std::vector<std::string>;
    for (words const& change : {words{"CONFIG", "SET", "maxmemory", "100mb"},
                                {"CONFIG", "SET", "requirepass", "secret"},
                                {"ACL", "SETUSER", "default", "-get"},
                                {"ACL", "SETUSER", "other"},
                                {"SAVE"},
                                {"REPLICAOF", "127.0.0.1", std::to_string(master.port())},
                                {"CLIENT", "PAUSE", "60000"}})
        BOOST_TEST_CONTEXT(change[0] << ' ' << change[1 % change.size()])
        {
            pid_t pid = -1;
            {
                server_group first(1);
                pid = first[0].pid();
                BOOST_TEST(first.ask(0).command(change) == "OK");
            }
            BOOST_TEST(server_group(1)[0].pid() != pid);
        }
    for (auto const end : {&redis_server::kill, &redis_server::pause}) {
        pid_t pid = -1;
        {
            server_group first(1);
            pid = first[0].pid();
            (first[0].*end)();
        }
        BOOST_TEST(server_group(1)[0].pid() != pid);
    }
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "handshake_script.hpp"

using namespace redlock::test;
using redlock::server_error;

namespace {

handshake_settings full()
{
    return {.username = "locker", .password = "pw", .client_name = "app", .database = 2, .protocol = 3};
}

} // namespace

BOOST_AUTO_TEST_SUITE(handshake_steps)

BOOST_AUTO_TEST_CASE(handshake_with_resp3_takes_one_flight)
{
    conversation peer{full()};
    peer.sends({"HELLO 3 AUTH locker pw SETNAME app", "SELECT 2"})
        .replies({hello_ok, ok, ok, ok})
        .is_ready(3);
    BOOST_TEST(!peer.machine.facts().replica);
    BOOST_TEST(!peer.machine.facts().cluster);
}

BOOST_AUTO_TEST_CASE(handshake_sends_only_configured_commands)
{
    conversation{{}}.sends({"HELLO 3"}).replies({hello_ok, no_setinfo, no_setinfo}).is_ready(3);
    conversation{{.password = "pw"}}
        .sends({"HELLO 3 AUTH default pw"})
        .replies({hello_ok, ok, ok})
        .is_ready(3);
    conversation{{.username = "guest"}}
        .sends({"HELLO 3 AUTH guest "})
        .replies({hello_ok, ok, ok})
        .is_ready(3);
    conversation{{.username = "default"}}.sends({"HELLO 3"}).replies({hello_ok, ok, ok}).is_ready(3);
}

BOOST_AUTO_TEST_CASE(handshake_reads_cluster_role_and_protocol_from_hello)
{
    conversation peer{{}};
    peer.sends({"HELLO 3"})
        .replies({"|1\r\n+proto\r\n:9\r\n*6\r\n+proto\r\n:2\r\n+mode\r\n+cluster\r\n+role\r\n+replica\r\n",
                  ok, ok})
        .is_ready(2);
    BOOST_TEST(peer.machine.facts().cluster);
    BOOST_TEST(peer.machine.facts().replica);
}

BOOST_AUTO_TEST_CASE(handshake_falls_back_to_resp2_if_hello_is_refused)
{
    for (auto const refusal :
         {no_hello, std::string_view{"-NOPROTO unsupported protocol version\r\n"},
          std::string_view{"-NOPERM this user has no permissions to run the 'hello' command\r\n"},
          std::string_view{"-ERR Syntax error in HELLO option 'AUTH'\r\n"},
          std::string_view{"-ERR HELLO is not supported here\r\n"}, noauth}) {
        BOOST_TEST_CONTEXT(refusal)
        conversation{full()}
            .sends({"HELLO 3 AUTH locker pw SETNAME app", "SELECT 2"})
            .replies({refusal, noauth, noauth, noauth, noauth, noauth, noauth})
            .sends({"AUTH locker pw", "SELECT 2", "CLIENT SETNAME app"})
            .replies({ok, ok, no_setinfo, no_setinfo, no_setinfo})
            .is_ready(2);
    }
}

BOOST_AUTO_TEST_CASE(handshake_reads_whole_first_flight_before_fallback)
{
    conversation peer{{.password = "pw"}};
    peer.sends({"HELLO 3 AUTH default pw"}).replies({no_hello, noauth});
    BOOST_TEST(peer.machine.take_output().empty());
    peer.replies({noauth, noauth, noauth, noauth}).sends({"AUTH pw"}).replies({ok, ok, ok}).is_ready(2);
}

BOOST_AUTO_TEST_CASE(handshake_with_protocol_2_sends_no_hello)
{
    conversation{{.username = "default", .password = "pw", .protocol = 2}}
        .sends({"AUTH pw"})
        .replies({ok, ok, ok})
        .is_ready(2);
    conversation{{.username = "u", .password = "pw", .protocol = 2}}
        .sends({"AUTH u pw"})
        .replies({ok, ok, ok})
        .is_ready(2);
    conversation{{.protocol = 2}}.sends({"PING"}).replies({"+PONG\r\n", ok, ok}).is_ready(2);
    conversation{{.protocol = 2}}.sends({"PING"}).replies({"-NOPERM no ping\r\n", ok, ok}).is_ready(2);
}

BOOST_AUTO_TEST_CASE(handshake_without_required_password_fails_with_noauth)
{
    conversation{{}}
        .sends({"HELLO 3"})
        .replies({"-NOAUTH HELLO must be called with the client already authenticated\r\n"})
        .has_failed(server_error::noauth,
                    "NOAUTH HELLO must be called with the client already authenticated");
    conversation{{.protocol = 2}}.sends({"PING"}).replies({noauth}).has_failed(
        server_error::noauth, "NOAUTH Authentication required.");
    conversation{{}}
        .sends({"HELLO 3"})
        .replies({no_hello, no_setinfo, no_setinfo, no_info, no_config, no_time})
        .sends({"PING"})
        .replies({noauth})
        .has_failed(server_error::noauth, "NOAUTH Authentication required.");
}

BOOST_AUTO_TEST_CASE(handshake_with_wrong_password_fails_with_server_text)
{
    constexpr std::string_view words = "WRONGPASS invalid username-password pair or user is disabled.";
    conversation{full()}
        .sends({"HELLO 3 AUTH locker pw SETNAME app", "SELECT 2"})
        .replies({wrongpass})
        .has_failed(server_error::wrongpass, words);
    conversation{{.password = "pw"}}
        .sends({"HELLO 3 AUTH default pw"})
        .replies({no_hello, noauth, noauth, noauth, noauth, noauth})
        .sends({"AUTH pw"})
        .replies({"-ERR invalid password\r\n"})
        .has_failed(server_error::wrongpass, "ERR invalid password");
    conversation{{.username = "u", .password = "pw", .protocol = 2}}
        .sends({"AUTH u pw"})
        .replies({"-ERR wrong number of arguments for 'auth' command\r\n"})
        .has_failed(server_error::syntax, "ERR wrong number of arguments for 'auth' command");
}

BOOST_AUTO_TEST_CASE(handshake_error_with_long_server_text_is_cut_with_dots)
{
    std::string const words =
        "NOAUTH HELLO must be called with the client already authenticated, " + std::string(300, 'x');
    conversation{{}}
        .sends({"HELLO 3"})
        .replies({'-' + words + "\r\n"})
        .has_failed(server_error::noauth, words.substr(0, 197) + "...");
}

BOOST_AUTO_TEST_CASE(handshake_with_refused_database_fails_naming_it)
{
    conversation{{.database = 99}}
        .sends({"HELLO 3", "SELECT 99"})
        .replies({hello_ok, "-ERR DB index is out of range\r\n"})
        .has_failed(server_error::no_database, "SELECT 99: ERR DB index is out of range");
    conversation{{.database = 1, .protocol = 2}}
        .sends({"PING", "SELECT 1"})
        .replies({"+PONG\r\n", "-NOPERM no select\r\n"})
        .has_failed(server_error::noperm, "SELECT 1: NOPERM no select");
}

BOOST_AUTO_TEST_CASE(handshake_with_busy_or_loading_server_fails)
{
    struct row {
        std::string_view wire;
        server_error error;
    };
    row const rows[] = {
        {"-ERR max number of clients reached\r\n", server_error::max_clients},
        {"-LOADING Redis is loading the dataset in memory\r\n", server_error::loading},
        {"-DENIED Redis is running in protected mode\r\n", server_error::denied},
        {canned::busy, server_error::busy},
    };
    for (auto const& row : rows) {
        auto const words = row.wire.substr(1, row.wire.size() - 3);
        for (int protocol : {2, 3}) {
            conversation peer{{.protocol = protocol}};
            peer.machine.take_output();
            peer.replies({row.wire}).has_failed(row.error, words);
        }
        conversation{{}}.sends({"HELLO 3"}).replies({hello_ok, row.wire}).has_failed(row.error, words);
        conversation{{}}
            .sends({"HELLO 3"})
            .replies({hello_ok, ok, ok, row.wire})
            .has_failed(row.error, words);
    }
}

BOOST_AUTO_TEST_CASE(handshake_with_unexpected_reply_fails)
{
    conversation{{}}
        .sends({"HELLO 3"})
        .replies({ok})
        .has_failed(server_error::other, "HELLO was not answered with a map");
    conversation done{{}};
    done.sends({"HELLO 3"}).replies({hello_ok, ok, ok}).is_ready(3);
    resp_parser parser;
    parser.next(ok);
    BOOST_TEST((done.machine.on_reply(parser.message()) == step::failed));
    BOOST_TEST((done.machine.on_reply(parser.message()) == step::failed));
    conversation odd{{}};
    BOOST_TEST((odd.machine.on_reply({}) == step::failed));
}

BOOST_AUTO_TEST_CASE(handshake_tolerates_odd_entries_in_hello_map)
{
    conversation peer{{}};
    peer.sends({"HELLO 3"}).replies({"*3\r\n:1\r\n_\r\n+role\r\n", ok, ok}).is_ready(2);
    BOOST_TEST(!peer.machine.facts().replica);
}

BOOST_AUTO_TEST_CASE(handshake_error_is_bounded_and_hides_password)
{
    auto const said = [](std::string const& words, std::string const& password) {
        conversation peer{{.username = "u", .password = password, .protocol = 2}};
        peer.machine.take_output();
        auto const wire = "!" + std::to_string(words.size()) + "\r\n" + words + "\r\n";
        peer.replies({wire});
        BOOST_TEST((peer.last == step::failed));
        return peer.machine.failure_text();
    };
    BOOST_TEST(said("WRONGPASS bad\r\n\x1b[31m\x7fwords", "hunter2") == "WRONGPASS bad[31mwords");
    BOOST_TEST(said("WRONGPASS 'hunter2' is bad", "hunter2") == "WRONGPASS");
    BOOST_TEST(said("WRONGPASS 'hun\x01ter2' is bad", "hunter2") == "WRONGPASS");
    BOOST_TEST(said("WRONGPASS 'hun\x01ter2' is bad", "hun\x01ter2") == "WRONGPASS");
    BOOST_TEST(said("WRONGPASS " + std::string(189, '.') + "hunter2", "hunter2") == "WRONGPASS");
    BOOST_TEST(said("WRONGPASS " + std::string(500, '.'), "hunter2") == "WRONGPASS " + std::string(190, '.'));
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "handshake_script.hpp"

using namespace redlock::test;
using redlock::server_error;

/// The facts from the three commands at a flight's end.
namespace {

std::string const plain_info =
    "run_id:abc\r\nmaster_replid:def\r\nrole:master\r\nuptime_in_seconds:77\r\naof_enabled:1\r\n";
constexpr std::string_view always_fsync =
    "%2\r\n+appendfsync\r\n+always\r\n+no-appendfsync-on-rewrite\r\n+no\r\n";

constexpr std::string_view time_reply = "*2\r\n$10\r\n1700000000\r\n$2\r\n42\r\n";

std::string as_reply(std::string const& mark, std::string const& text)
{
    return mark + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

std::string const plain_reply = as_reply("$", plain_info);

} // namespace

BOOST_AUTO_TEST_SUITE(handshake_facts)

// rule N2
BOOST_AUTO_TEST_CASE(handshake_learns_server_facts_in_resp2_and_resp3)
{
    conversation newer{{}};
    newer.sends({"HELLO 3"})
        .replies({hello_ok, ok, ok, as_reply("=", "txt:" + plain_info), always_fsync, time_reply})
        .is_ready(3);
    conversation older{{.protocol = 2}};
    older.sends({"PING"})
        .replies({"+PONG\r\n", ok, ok, as_reply("$", plain_info),
                  "*4\r\n+appendfsync\r\n+always\r\n+no-appendfsync-on-rewrite\r\n+no\r\n", time_reply})
        .is_ready(2);
    for (auto const& facts : {newer.machine.facts(), older.machine.facts()}) {
        BOOST_TEST_REQUIRE(facts.info.has_value());
        BOOST_TEST(incarnation(facts) == "abc:def");
        BOOST_TEST(facts.durable);
        BOOST_TEST_REQUIRE(facts.time.has_value());
        BOOST_TEST(facts.time->count() == 1'700'000'000'000'042);
        BOOST_TEST(!facts.replica);
        BOOST_TEST(!facts.cluster);
    }
}

// rule N6
BOOST_AUTO_TEST_CASE(handshake_without_permission_for_info_knows_no_facts)
{
    for (auto const refusal : {no_info, std::string_view{"-ERR unknown command 'INFO'\r\n"},
                               std::string_view{"-ERR nothing\r\n"}, std::string_view{"*0\r\n"}}) {
        BOOST_TEST_CONTEXT(refusal)
        {
            conversation peer{{}};
            peer.sends({"HELLO 3"}).replies({hello_ok, ok, ok, refusal, always_fsync}).is_ready(3);
            BOOST_TEST(!peer.machine.facts().info.has_value());
            BOOST_TEST(!peer.machine.facts().durable);
            BOOST_TEST(!peer.machine.facts().time.has_value());
            BOOST_TEST(incarnation(peer.machine.facts()).empty());
        }
    }
    conversation peer{{}};
    peer.sends({"HELLO 3"})
        .replies({hello_ok, ok, ok, noauth})
        .has_failed(server_error::noauth, "NOAUTH Authentication required.");
}

BOOST_AUTO_TEST_CASE(server_is_durable_only_if_all_append_settings_say_so)
{
    auto const durable = [](std::string const& info, std::string_view settings) {
        conversation peer{{}};
        peer.sends({"HELLO 3"}).replies({hello_ok, ok, ok, as_reply("$", info), settings}).is_ready(3);
        return peer.machine.facts().durable;
    };
    std::string const no_aof = "run_id:abc\r\nrole:master\r\nuptime_in_seconds:1\r\naof_enabled:0\r\n";
    BOOST_TEST(durable(plain_info, always_fsync));
    BOOST_TEST(!durable(no_aof, always_fsync));
    BOOST_TEST(!durable(plain_info, no_config));
    BOOST_TEST(durable(no_aof, "%3\r\n+appendonly\r\n+yes\r\n+appendfsync\r\n+always\r\n"
                               "+no-appendfsync-on-rewrite\r\n+no\r\n"));
    BOOST_TEST(!durable(plain_info, "%3\r\n+appendonly\r\n+no\r\n+appendfsync\r\n+always\r\n"
                                    "+no-appendfsync-on-rewrite\r\n+no\r\n"));
    BOOST_TEST(!durable(plain_info, "%1\r\n+appendfsync\r\n+always\r\n"));
    BOOST_TEST(!durable(plain_info, "%1\r\n+no-appendfsync-on-rewrite\r\n+no\r\n"));
    BOOST_TEST(
        !durable(plain_info, "%2\r\n+appendfsync\r\n+everysec\r\n+no-appendfsync-on-rewrite\r\n+no\r\n"));
    BOOST_TEST(
        !durable(plain_info, "%2\r\n+appendfsync\r\n+always\r\n+no-appendfsync-on-rewrite\r\n+yes\r\n"));
}

BOOST_AUTO_TEST_CASE(handshake_takes_worse_of_hello_and_info)
{
    constexpr std::string_view replica = "%2\r\n+role\r\n+replica\r\n+mode\r\n+cluster\r\n";
    for (auto const answer : {no_info, std::string_view{plain_reply}}) {
        conversation peer{{}};
        peer.sends({"HELLO 3"}).replies({replica, ok, ok, answer}).replies({no_config}).is_ready(2);
        BOOST_TEST(peer.machine.facts().replica);
        BOOST_TEST(peer.machine.facts().cluster);
    }
    conversation old{{.protocol = 2}};
    auto const info = as_reply("$", "run_id:a\r\nrole:slave\r\nuptime_in_seconds:1\r\ncluster_enabled:1\r\n");
    old.sends({"PING"}).replies({"+PONG\r\n", ok, ok, info}).replies({no_config}).is_ready(2);
    BOOST_TEST(old.machine.facts().replica);
    BOOST_TEST(old.machine.facts().cluster);
}

BOOST_AUTO_TEST_SUITE_END()

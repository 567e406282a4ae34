// SPDX-License-Identifier: BSL-1.0
#include "redis/error_class.hpp"

#include <boost/test/unit_test.hpp>

#include <ostream>
#include <set>
#include <string>

using redlock::server_error;
using redlock::to_string;
using redlock::redis::classify;
using redlock::redis::is_about_keys;
using redlock::redis::permanent;

namespace redlock {

static std::ostream& boost_test_print_type(std::ostream& out, server_error error)
{
    return out << to_string(error);
}

} // namespace redlock

BOOST_AUTO_TEST_SUITE(error_class)

// rule A4
BOOST_AUTO_TEST_CASE(error_reply_is_classified_by_its_first_words)
{
    struct row {
        std::string_view text;
        server_error expected;
    };
    row const rows[] = {
        {"NOSCRIPT No matching script. Please use EVAL.", server_error::noscript},
        {"READONLY You can't write against a read only replica.", server_error::readonly},
        {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
         server_error::masterdown},
        {"LOADING Redis is loading the dataset in memory", server_error::loading},
        {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
         server_error::busy},
        {"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
         server_error::misconf},
        {"NOREPLICAS Not enough good replicas to write.", server_error::noreplicas},
        {"OOM command not allowed when used memory > 'maxmemory'.", server_error::oom},
        {"CLUSTERDOWN Hash slot not served", server_error::clusterdown},
        {"TRYAGAIN Multiple keys request during rehashing of slot", server_error::tryagain},
        {"MOVED 3999 127.0.0.1:6381", server_error::moved},
        {"ASK 3999 127.0.0.1:6381", server_error::ask},
        {"NOAUTH Authentication required.", server_error::noauth},
        {"NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> "
         "AUTH <user> "
         "<pass> option can be used to authenticate the client",
         server_error::noauth},
        {"WRONGPASS invalid username-password pair or user is disabled.", server_error::wrongpass},
        {"NOPERM this user has no permissions to run the 'set' command", server_error::noperm},
        {"NOPERM", server_error::noperm},
        {"NOPROTO unsupported protocol version", server_error::noproto},
        {"WRONGTYPE Operation against a key holding the wrong kind of value", server_error::wrongtype},
        {"DENIED Redis is running in protected mode because protected mode is enabled", server_error::denied},
        {"ERR Key should be of string type if conditions are specified", server_error::wrongtype},
        {"ERR max number of clients reached", server_error::max_clients},
        {"ERR max number of clients + cluster connections reached", server_error::max_clients},
        {"ERR unknown command 'HELLO', with args beginning with: '3' ", server_error::unknown_command},
        {"ERR unknown command `HELLO`, with args beginning with: `3`, ", server_error::unknown_command},
        {"ERR Unknown subcommand or wrong number of arguments for 'SETINFO'.", server_error::unknown_command},
        {"ERR unknown subcommand 'SETINFO'. Try CLIENT HELP.", server_error::unknown_command},
        {"ERR syntax error", server_error::syntax},
        {"ERR Syntax error in HELLO option 'AUTH'", server_error::syntax},
        {"ERR wrong number of arguments for 'auth' command", server_error::syntax},
        {"ERR The user executing the script can't run this command or subcommand script: 0123, on "
         "@user_script:1.",
         server_error::noperm},
        {"ERR invalid password", server_error::wrongpass},
        {"ERR AUTH <password> called without any password configured for the default user.",
         server_error::wrongpass},
        {"ERR Client sent AUTH, but no password is set", server_error::wrongpass},
        {"ERR Error running script (call to f_01): @user_script:1: @user_script: 1: -OOM command not allowed "
         "when used "
         "memory > 'maxmemory'. ",
         server_error::oom},
        {"ERR Error running script (call to f_01): @user_script:1: WRONGTYPE Operation against a key holding "
         "the wrong "
         "kind of value ",
         server_error::wrongtype},
        {"ERR Error running script (call to f_01): @user_script:2: @user_script: 2: Unknown Redis command "
         "called from "
         "Lua script ",
         server_error::unknown_command},
        {"ERR Error running script (call to f_01): @user_script", server_error::other},
        {"ERR DB index is out of range", server_error::no_database},
        {"ERR invalid DB index", server_error::no_database},
        {"ERR SELECT is not allowed in cluster mode", server_error::no_database},
        {"ERR", server_error::other},
        {"", server_error::other},
        {" ", server_error::other},
        // A word counts as a whole and as servers spell it.
        {"BUSYGROUP Consumer Group name already exists", server_error::other},
        {"BUSYKEY Target key name already exists.", server_error::other},
        {"noauth required", server_error::other},
        {"ERR the word NOAUTH inside", server_error::other},
    };
    for (auto const& row : rows)
        BOOST_TEST_CONTEXT(row.text)
    BOOST_TEST(classify(row.text) == row.expected);
}

BOOST_AUTO_TEST_CASE(refusal_of_keys_is_told_from_others)
{
    for (char const* const text :
         {"NOPERM this user has no permissions to access one of the keys used as arguments",
          "NOPERM No permissions to access a key", "NOPERM No permissions to access the 'seat' key"})
        BOOST_TEST(is_about_keys(text), text);
    for (char const* const text :
         {"NOPERM this user has no permissions to access one of the channels used as arguments",
          "NOPERM No permissions to access a channel", "WRONGTYPE Operation against a key",
          "NOPERM User the key has no permissions to run the 'zadd' command", ""})
        BOOST_TEST(!is_about_keys(text), text);
}

// rule A8
BOOST_AUTO_TEST_CASE(only_lasting_errors_are_permanent)
{
    std::set<server_error> const lasting{
        server_error::noauth, server_error::wrongpass,       server_error::noperm,    server_error::noproto,
        server_error::denied, server_error::unknown_command, server_error::wrongtype, server_error::moved,
        server_error::syntax, server_error::no_database};
    for (int i = 0; i <= static_cast<int>(server_error::other); ++i) {
        auto const error = static_cast<server_error>(i);
        BOOST_TEST_CONTEXT(to_string(error))
        BOOST_TEST(permanent(error) == lasting.contains(error));
    }
}

BOOST_AUTO_TEST_CASE(every_server_error_has_a_unique_name)
{
    std::set<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(server_error::other); ++i)
        BOOST_TEST(names.insert(to_string(static_cast<server_error>(i))).second);
    BOOST_TEST(to_string(server_error::noauth) == "NOAUTH");
}

BOOST_AUTO_TEST_SUITE_END()

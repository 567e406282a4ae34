// SPDX-License-Identifier: BSL-1.0
#include "attempt.hpp"
#include "kit/probe.hpp"
#include "kit/recorder.hpp"
#include "kit/redis_server.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace {

namespace asio = boost::asio;
using namespace redlock::test;

using redlock::server_error;

/// Nothing else looks like it, whole or in part, and a URL must encode half of it.
std::string const odd_secret = "Xyzzy:Plugh@Hoard/Of?Gems#40%25 done";
std::string const secret_in_url = "Xyzzy%3APlugh%40Hoard%2FOf%3FGems%2340%2525%20done";

std::string everything(attempt const& seen)
{
    std::string text = seen.message + seen.result.message();
    for (auto const& row : seen.table)
        text += row.node + row.detail;
    for (auto const& row : seen.nodes)
        text += row.node + row.detail;
    return text + to_string(seen.table);
}

void never_shown(std::string const& text)
{
    for (char const* const part : {"Xyzzy", "Plugh", "Hoard", "Gems"})
        BOOST_TEST((text.find(part) == std::string::npos), text);
}

attempt try_secretly(redlock::config settings)
{
    auto const told = std::make_shared<recorder>();
    settings.observer = told;
    auto const seen = try_once(std::move(settings));
    never_shown(everything(seen));
    for (auto const& change : told->nodes)
        never_shown(change.node + change.detail);
    return seen;
}

std::string with_credentials(redis_server const& server, std::string const& credentials,
                             std::string const& query = {})
{
    return "redis://" + credentials + "@127.0.0.1:" + std::to_string(server.port()) + query;
}

void refused(attempt const& seen, server_error error, std::string const& words)
{
    BOOST_TEST(seen.result == make_error_code(redlock::errc::no_quorum));
    BOOST_TEST_REQUIRE(seen.table.size() == 1U);
    BOOST_TEST((seen.table[0].result == redlock::node_result::refused));
    BOOST_TEST((seen.table[0].error == error), to_string(seen.table[0].error));
    BOOST_TEST((seen.detail().find(words) != std::string::npos), seen.detail());
    BOOST_TEST((seen.message.find(words) != std::string::npos), seen.message);
    BOOST_TEST((seen.nodes.at(0).detail.find(words) != std::string::npos), seen.nodes[0].detail);
}

void granted(attempt const& seen)
{
    BOOST_TEST(seen.granted(), seen.message);
}

std::string const locker = "user locker on >" + std::string("pw") + " ~* +@all";

/// This client's own line of CLIENT LIST while it holds a lock.
std::string connection_seen_by(redis_server const& server, redlock::config settings, std::string const& mark)
{
    asio::io_context context;
    redlock::client locks(context.get_executor(), std::move(settings));
    redlock::mutex lock(locks, "resource", long_lived);
    auto const list = run(context, [&]() -> asio::awaitable<std::string> {
        redlock::lease held = co_await lock.acquire();
        auto text = probe(server.port()).command({"CLIENT", "LIST"});
        co_await held.release();
        co_return text;
    });
    auto const at = list.find(mark);
    BOOST_TEST_REQUIRE((at != std::string::npos), list);
    auto const begin = list.rfind('\n', at) + 1; // npos + 1 is the first line
    return ' ' + list.substr(begin, list.find('\n', at) - begin) + ' ';
}

bool has(std::string const& line, std::string const& field)
{
    return line.find(' ' + field + ' ') != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(credentials)

BOOST_AUTO_TEST_CASE(password_of_default_user_authenticates)
{
    redis_server server({.password = odd_secret});
    for (char const* const query : {"", "?protocol=2"}) {
        granted(try_secretly(settings_for({with_credentials(server, ':' + secret_in_url, query)})));
        granted(try_secretly(settings_for({with_credentials(server, "default:" + secret_in_url, query)})));
        auto settings = settings_for({server.url() + query});
        settings.password = odd_secret;
        granted(try_secretly(settings));
        settings.password = odd_secret + "x";
        refused(try_secretly(settings), server_error::wrongpass, "WRONGPASS");
        settings.password.clear();
        refused(try_secretly(settings), server_error::noauth, "NOAUTH");
        refused(try_secretly(settings_for({with_credentials(server, ":Hoard" + secret_in_url, query)})),
                server_error::wrongpass, "WRONGPASS");
    }
}

/// Nobody restarts the client.
BOOST_AUTO_TEST_CASE(password_that_has_changed_is_asked_for_at_the_next_connection)
{
    redis_server server({.password = "first"});
    auto settings = settings_for({server.url()});
    std::string now = "first";
    std::string asked_for;
    settings.credentials_provider = [&](std::string_view node) {
        asked_for = node;
        return redlock::credentials{.username = {}, .password = now};
    };
    settings.reconnect.min_delay = std::chrono::milliseconds{1};
    asio::io_context context;
    redlock::client locks(context.get_executor(), std::move(settings));
    redlock::mutex lock(locks, "resource", long_lived);
    run(context, [&]() -> asio::awaitable<void> {
        redlock::lease held = co_await lock.acquire();
        co_await held.release();
        BOOST_TEST(asked_for == server.url());
        asked_for.clear();
        probe root(server.port());
        root.command({"AUTH", "first"});
        root.command({"CONFIG", "SET", "requirepass", "second"});
        now = "second";
        held = co_await lock.acquire();
        co_await held.release();
        BOOST_TEST(asked_for.empty()); // the connection stays as it is
        root.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
        held = co_await lock.acquire();
        co_await held.release();
        BOOST_TEST(asked_for == server.url());
    });
}

/// The servers have dropped the connections, and what the program knows is still the former password.
BOOST_AUTO_TEST_CASE(waiting_operation_goes_on_until_the_provider_knows_the_new_password)
{
    redis_server server({.password = "new"});
    auto settings = settings_for({server.url()});
    int asked = 0;
    settings.credentials_provider = [&](std::string_view) {
        return redlock::credentials{.username = {}, .password = ++asked < 4 ? "former" : "new"};
    };
    asio::io_context context;
    redlock::client locks(context.get_executor(), std::move(settings));
    redlock::mutex lock(locks, "resource", long_lived);
    run(context, [&]() -> asio::awaitable<void> {
        redlock::lease held = co_await lock.acquire();
        co_await held.release();
    });
    BOOST_TEST(asked == 4);
}

BOOST_AUTO_TEST_CASE(password_that_no_provider_may_change_ends_waiting_operations_at_once)
{
    redis_server server({.password = "new"});
    auto settings = settings_for({server.url()});
    settings.password = "former";
    asio::io_context context;
    redlock::client locks(context.get_executor(), std::move(settings));
    auto options = long_lived;
    options.retry.outage_patience = std::chrono::hours{1};
    redlock::mutex lock(locks, "resource", options);
    run(context, [&]() -> asio::awaitable<void> {
        boost::system::error_code ec;
        redlock::lease const held = co_await lock.acquire(asio::redirect_error(asio::use_awaitable, ec));
        BOOST_TEST(ec == redlock::errc::no_quorum);
    });
}

BOOST_AUTO_TEST_CASE(what_the_provider_of_credentials_throws_is_told)
{
    redis_server server({.password = "secret"});
    auto settings = settings_for({server.url()});
    settings.credentials_provider = [](std::string_view) -> redlock::credentials {
        throw std::runtime_error("no token yet");
    };
    auto seen = try_once(settings);
    BOOST_TEST(seen.nodes.at(0).detail == "credentials_provider: no token yet");
    settings.credentials_provider = [](std::string_view) -> redlock::credentials { throw 1; };
    seen = try_once(settings);
    BOOST_TEST(seen.nodes.at(0).detail == "credentials_provider: an exception that is no std::exception");
    settings.credentials_provider = [](std::string_view) {
        return redlock::credentials{.username = "locker", .password = {}};
    };
    seen = try_once(settings);
    BOOST_TEST(seen.nodes.at(0).detail == "credentials_provider: a user name without a password");
}

BOOST_AUTO_TEST_CASE(who_is_named_by_the_url_is_not_asked_for)
{
    redis_server server({.password = "secret"});
    auto settings = settings_for({with_credentials(server, ":secret")});
    settings.credentials_provider = [](std::string_view) -> redlock::credentials {
        throw std::runtime_error("asked");
    };
    granted(try_once(settings));
    settings.password = "secret";
    asio::io_context context;
    BOOST_CHECK_EXCEPTION(
        redlock::client(context, settings), redlock::lock_error, [](redlock::lock_error const& e) {
            return std::string(e.what()).find("credentials_provider is given together") != std::string::npos;
        });
}

// rule N2
BOOST_AUTO_TEST_CASE(user_name_and_password_authenticate)
{
    redis_server server(
        {.acl = {"user default off", locker, "user other on >else ~* +@all", "user gone off >pw ~* +@all"}});
    for (char const* const query : {"", "?protocol=2"}) {
        granted(try_secretly(settings_for({with_credentials(server, "locker:pw", query)})));
        refused(try_secretly(settings_for({with_credentials(server, "locker:else", query)})),
                server_error::wrongpass, "WRONGPASS");
        refused(try_secretly(settings_for({with_credentials(server, "nobody:pw", query)})),
                server_error::wrongpass, "WRONGPASS");
        refused(try_secretly(settings_for({with_credentials(server, "gone:pw", query)})),
                server_error::wrongpass, "WRONGPASS");
        refused(try_secretly(settings_for({server.url() + query})), server_error::noauth, "NOAUTH");
    }
}

BOOST_AUTO_TEST_CASE(credentials_in_url_override_config)
{
    redis_server server({.acl = {"user default on >pw ~* +@all", locker, "user other on >else ~* +@all"}});
    auto settings = settings_for({server.url()});
    settings.username = "locker";
    settings.password = "pw";
    granted(try_secretly(settings));
    settings.username = "other"; // now a wrong pair
    refused(try_secretly(settings), server_error::wrongpass, "WRONGPASS");
    settings.nodes = {with_credentials(server, "locker:pw")};
    granted(try_secretly(settings));
    // Either half alone is completed by the configuration's.
    settings.nodes = {with_credentials(server, ":else")};
    granted(try_secretly(settings));
    settings.nodes = {with_credentials(server, "locker")};
    granted(try_secretly(settings));
}

BOOST_AUTO_TEST_CASE(password_is_not_shown_when_server_does_not_know_auth)
{
    // Such a server's complaint shows the first 128 bytes of the arguments.
    redis_server server({.arguments = {"--rename-command", "AUTH", "", "--rename-command", "HELLO", ""}});
    for (std::string const& password : {odd_secret, "Xyzzy" + std::string(300, 'x')}) {
        auto settings = settings_for({server.url()});
        settings.password = password;
        auto const seen = try_secretly(settings);
        refused(seen, server_error::unknown_command, "AUTH: unknown command");
        BOOST_TEST((everything(seen).find("xxxx") == std::string::npos), everything(seen));
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(connection_settings)

BOOST_AUTO_TEST_CASE(connection_sets_its_name_and_speaks_resp3)
{
    redis_server server;
    auto const line = connection_seen_by(server, settings_for({server.url()}), "name=redlock ");
    BOOST_TEST(has(line, "resp=3"), line);
    BOOST_TEST(has(line, "db=0"), line);
    auto settings = settings_for({server.url()});
    settings.client_name = "billing";
    connection_seen_by(server, settings, "name=billing ");
    settings.nodes[0] += "?client_name=invoices&protocol=2";
    BOOST_TEST(has(connection_seen_by(server, settings, "name=invoices "), "resp=2"));
    settings.client_name.clear();
    settings.nodes = {server.url()};
    connection_seen_by(server, settings, "name= ");
}

BOOST_AUTO_TEST_CASE(configured_database_is_selected)
{
    redis_server server;
    for (char const* const path : {"/5", "?db=5", "/5?protocol=2"}) {
        auto const line = connection_seen_by(server, settings_for({server.url() + path}), "name=redlock ");
        BOOST_TEST(has(line, "db=5"), line);
    }
    BOOST_TEST(has(
        connection_seen_by(server, settings_for({"unix://" + server.unix_path() + "?db=6"}), "name=redlock "),
        "db=6"));
}

BOOST_AUTO_TEST_CASE(unknown_database_is_named_in_the_error)
{
    redis_server server;
    for (char const* const path : {"/99", "/99?protocol=2", "/2147483647"}) {
        auto const seen = try_once(settings_for({server.url() + path}));
        refused(seen, server_error::no_database, "SELECT ");
        refused(seen, server_error::no_database, "DB index is out of range");
    }
}

BOOST_AUTO_TEST_CASE(unknown_database_ends_acquire_at_once)
{
    redis_server server;
    BOOST_TEST(acquire_despite_outages(settings_for({server.url() + "/99"})) ==
               make_error_code(redlock::errc::no_quorum));
}

BOOST_AUTO_TEST_SUITE_END()

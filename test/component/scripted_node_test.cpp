// SPDX-License-Identifier: BSL-1.0
#include "component/lone_client.hpp"
#include "component/scripted_node.hpp"
#include "kind/kind.hpp"
#include "redis/info.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <regex>
#include <sstream>
#include <string>

using namespace redlock;
using namespace redlock::test;

namespace {

using asio::ip::tcp;

/// A connection that shows replies byte for byte.
class raw_client {
public:
    explicit raw_client(std::uint16_t port) : socket_(context_)
    {
        socket_.connect({asio::ip::address_v4::loopback(), port});
    }

    void send(std::initializer_list<std::string_view> command)
    {
        std::string bytes;
        redis::append_command(bytes, command);
        asio::write(socket_, asio::buffer(bytes));
    }

    /// The reply, its end found by the reply to an unknown command behind it, which every state of a server gives.
    std::string ask(std::initializer_list<std::string_view> command)
    {
        std::string bytes;
        redis::append_command(bytes, command);
        return ask(std::move(bytes));
    }

    std::string ask(std::string command)
    {
        constexpr std::string_view mark = "-ERR unknown command 'THE-END', with args beginning with: \r\n";
        redis::append_command(command, {"THE-END"});
        asio::write(socket_, asio::buffer(command));
        std::string bytes;
        asio::read_until(socket_, asio::dynamic_buffer(bytes), std::string(mark));
        return bytes.substr(0, bytes.size() - mark.size());
    }

private:
    asio::io_context context_;
    tcp::socket socket_;
};

std::string without_numbers(std::string_view text)
{
    static std::regex const number(R"((\$\d+\r\n\d+\.\d+\.\d+)|(:\d+))");
    return std::regex_replace(std::string(text), number, "#");
}

redis_server_options with(std::vector<std::string> arguments)
{
    redis_server_options options;
    options.arguments = std::move(arguments);
    return options;
}

} // namespace

BOOST_AUTO_TEST_SUITE(canned_answers)

BOOST_AUTO_TEST_CASE(canned_hello_matches_real_server)
{
    redis_server server;
    raw_client raw(server.port());
    BOOST_TEST(without_numbers(raw.ask({"HELLO", "3"})) == without_numbers(canned::hello));
    BOOST_TEST(raw.ask({"PING"}) == canned::pong);
    std::string const time = raw.ask({"TIME"}); // microseconds without leading zeros
    BOOST_TEST(time.starts_with("*2\r\n$10\r\n"), time);
    BOOST_TEST(time_reply(1700000000000042us).starts_with("*2\r\n$10\r\n1700000000\r\n$2\r\n42\r\n"));
    BOOST_TEST(raw.ask({"CLIENT", "SETINFO", "LIB-NAME", "x"}) == canned::unknown_setinfo);
}

BOOST_AUTO_TEST_CASE(canned_info_matches_real_server)
{
    redis_server server;
    raw_client raw(server.port());
    raw.ask({"HELLO", "3"});
    // A server says the pairs of a map in any order.
    std::string const settings = raw.ask({"CONFIG", "GET", redis::append_settings_pattern});
    BOOST_TEST(settings.size() == canned::append_settings.size());
    for (std::string const pair :
         {"$25\r\nno-appendfsync-on-rewrite\r\n$2\r\nno\r\n", "$11\r\nappendfsync\r\n$8\r\neverysec\r\n"}) {
        BOOST_TEST((settings.find(pair) != std::string::npos), settings);
        BOOST_TEST((canned::append_settings.find(pair) != std::string::npos));
    }
    std::string const said = raw.ask({"INFO"});
    BOOST_TEST(said.starts_with("="));
    BOOST_TEST(info_reply({}).starts_with("="));
    // The values differ from server to server; the names and their order do not.
    std::size_t at = 0;
    std::istringstream lines{std::string(canned::info)};
    for (std::string line; std::getline(lines, line) && at != std::string::npos;) {
        auto const name = line.substr(0, line.find_first_of(":\r"));
        at = said.find(name, at);
        BOOST_TEST((at != std::string::npos), name);
    }
    auto const parsed = redis::parse_info(std::string_view(said).substr(said.find("txt:") + 4));
    BOOST_TEST(parsed.run_id.size() == 40U);
    BOOST_TEST(parsed.replid.size() == 40U);
    BOOST_TEST(!redis::parse_info(canned::info).run_id.empty());
}

BOOST_AUTO_TEST_CASE(canned_vote_replies_match_real_server)
{
    redis_server server;
    raw_client resp2(server.port());
    raw_client resp3(server.port());
    resp3.ask({"HELLO", "3"});
    BOOST_TEST(resp3.ask({"SET", "k", "n", "NX", "PX", "60000"}) == canned::ok);
    BOOST_TEST(resp3.ask({"SET", "k", "m", "NX", "PX", "60000"}) == canned::nil);
    BOOST_TEST(resp2.ask({"SET", "k", "m", "NX", "PX", "60000"}) == canned::nil_resp2);
}

BOOST_AUTO_TEST_CASE(canned_pushes_of_channels_match_real_server)
{
    redis_server server;
    raw_client raw(server.port());
    raw.ask({"HELLO", "3"});
    BOOST_TEST(raw.ask({"SUBSCRIBE", "news"}) == subscription_push("news"));
    BOOST_TEST(probe(server.port()).command({"PUBLISH", "news", "hello"}) == "1");
    BOOST_TEST(raw.ask({"PING"}) == message_push("news", "hello") + std::string(canned::pong));
    raw.ask({"ACL", "SETUSER", "default", "-subscribe"});
    BOOST_TEST(raw.ask({"SUBSCRIBE", "more"}) == canned::noperm_subscribe);
}

BOOST_AUTO_TEST_CASE(canned_script_replies_match_real_server)
{
    redis_server server;
    raw_client raw(server.port());
    raw.ask({"HELLO", "3"});
    auto const commands = kind::plain.make_commands("", {60s, 60s});
    std::string const ours(redis::nonce_length, 'a');
    std::string const theirs(redis::nonce_length, 'b');
    auto const ask = [&](kind::request what, std::string const& nonce, redis::script_form form) {
        std::string bytes;
        commands->append(bytes, what, {{"", "k"}, nonce}, form);
        return raw.ask(std::move(bytes));
    };
    auto const extend = std::bind_front(ask, kind::request::extend);
    auto const release = std::bind_front(ask, kind::request::release);
    raw.ask({"SET", "k", ours});
    BOOST_TEST(release(ours, redis::script_form::hash) == canned::noscript);
    BOOST_TEST(extend(ours, redis::script_form::text) == canned::one);
    BOOST_TEST(extend(theirs, redis::script_form::hash) == canned::zero);
    BOOST_TEST(release(theirs, redis::script_form::text) == canned::zero);
    BOOST_TEST(release(ours, redis::script_form::hash) == canned::one);
    raw.ask({"RPUSH", "list", "n"});
    BOOST_TEST(raw.ask({"GET", "list"}) == canned::wrongtype);
}

BOOST_AUTO_TEST_CASE(canned_permission_errors_match_real_server)
{
    redis_server_options options;
    options.acl = {"user default on >right ~* +@all", "user poor on >poor ~* +ping"};
    redis_server server(options);
    raw_client raw(server.port());
    // Without authentication the mark is refused too, so the reply is read by its length.
    BOOST_TEST(probe(server.port()).command({"SET", "k", "n"}) + "\r\n" == canned::noauth);
    BOOST_TEST(probe(server.port()).command({"AUTH", "wrong"}) + "\r\n" == canned::wrongpass);
    raw.send({"AUTH", "poor", "poor"});
    probe eye(server.port());
    eye.command({"AUTH", "poor", "poor"});
    BOOST_TEST(eye.command({"SET", "k", "n"}) + "\r\n" == canned::noperm);
}

BOOST_AUTO_TEST_CASE(canned_role_and_limit_errors_match_real_server)
{
    auto const vote = [](redis_server_options const& options) {
        redis_server server(options);
        return probe(server.port()).command({"SET", "k", "n", "NX", "PX", "60000"}) + "\r\n";
    };
    redis_server master;
    auto const port = std::to_string(master.port());
    BOOST_TEST(vote(with({"--maxmemory", "1"})) == canned::oom);
    BOOST_TEST(vote(with({"--min-replicas-to-write", "1"})) == canned::noreplicas);
    BOOST_TEST(vote(with({"--replicaof", "127.0.0.1", port})) == canned::readonly);
    BOOST_TEST(vote(with({"--cluster-enabled", "yes"})) == canned::clusterdown);

    auto const stale = with({"--replicaof", "127.0.0.1", "1", "--replica-serve-stale-data", "no"});
    redis_server orphan(stale);
    BOOST_TEST(probe(orphan.port()).command({"GET", "k"}) + "\r\n" == canned::masterdown);
}

BOOST_AUTO_TEST_CASE(canned_busy_error_matches_real_server)
{
    redis_server server(with({"--busy-reply-threshold", "1"}));
    raw_client hog(server.port());
    hog.send({"EVAL", "while true do end", "0"});
    probe eye(server.port());
    std::string said;
    auto const limit = std::chrono::steady_clock::now() + patience;
    do
        said = eye.command({"SET", "k", "n"});
    while (said == "OK" && std::chrono::steady_clock::now() < limit);
    BOOST_TEST(said + "\r\n" == canned::busy);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(scripted_nodes)

BOOST_AUTO_TEST_CASE(scripted_node_grants_by_default_and_reports_surprises)
{
    asio::io_context context;
    scripted_node node(context);
    node.expect("EVAL", reply(canned::one));
    tcp::socket socket(context);
    tcp::endpoint const there(
        asio::ip::address_v4::loopback(),
        static_cast<std::uint16_t>(std::stoi(node.url().substr(node.url().rfind(':') + 1))));
    socket.async_connect(there, [&](error_code) {
        std::string bytes;
        redis::append_command(bytes, {"PING"});
        redis::append_command(bytes, {"SET", "k", "n"});
        asio::write(socket, asio::buffer(bytes));
    });
    run_until(context, [&] { return node.heard().size() == 2; });
    BOOST_TEST(!node.done());
    BOOST_TEST(node.surprises().size() == 1U);
    std::string answered(canned::pong.size(), ' ');
    asio::read(socket, asio::buffer(answered));
    BOOST_TEST(answered == canned::pong);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
// The simulation's server says what a real one says, byte for byte: to every command of the library, and unasked.
#include "component/pair_of_servers.hpp"
#include "component/random_talk.hpp"
#include "kit/dice.hpp"
#include "kit/redis_server.hpp"
#include "redis/handshake.hpp"
#include "redis/info.hpp"
#include "redis/resp_parser.hpp"
#include "redis/script.hpp"
#include "redis/scripts.hpp"
#include "world/server.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::test {

namespace {

/// Received bytes that have not been taken, message by message.
class messages {
public:
    void append(std::string_view bytes) { input_.append(bytes); }
    /// The next one, which the parser has then taken apart, until more is asked for; empty where more has to come.
    std::string_view take(redis::resp_parser& parser)
    {
        input_.erase(0, std::exchange(taken_, 0));
        auto const parsed = parser.next(input_);
        if (parsed.status == redis::parse_status::complete)
            taken_ = parsed.consumed;
        return std::string_view(input_).substr(0, taken_);
    }

private:
    std::string input_;
    std::size_t taken_ = 0;
};

/// A connection to the real server that shows every byte.
class wire {
public:
    wire(boost::asio::io_context& context, std::uint16_t port) : socket_(context)
    {
        socket_.connect({boost::asio::ip::address_v4::loopback(), port});
    }

    void send(std::string const& bytes) { boost::asio::write(socket_, boost::asio::buffer(bytes)); }

    std::string_view next(redis::resp_parser& parser)
    {
        for (;;) {
            if (auto const one = said_.take(parser); !one.empty())
                return one;
            std::array<char, 4096> some{};
            said_.append({some.data(), socket_.read_some(boost::asio::buffer(some))});
        }
    }

private:
    boost::asio::ip::tcp::socket socket_;
    messages said_;
};

std::int64_t wall_us()
{
    using namespace std::chrono;
    return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

/// A connection to the simulated one.
class simulated_wire {
public:
    simulated_wire(world::server& server, world::server::connection_id id) : server_(server), id_(id)
    {
        server_.connect(id_);
    }

    void send(std::string const& bytes)
    {
        server_.receive(id_, bytes, wall_us());
        said_.append(server_.take_output(id_));
    }
    std::string_view next(redis::resp_parser& parser) { return said_.take(parser); }

private:
    world::server& server_;
    world::server::connection_id id_;
    messages said_;
};

/// Ignores the time, and values that each server draws.
std::string in_words(redis::server_facts const& told)
{
    auto const flag = [](std::optional<bool> what) { return !what ? "unknown" : *what ? "yes" : "no"; };
    redis::server_info const& info = told.info.value();
    std::ostringstream out;
    out << "protocol " << told.protocol << ", replica " << flag(told.replica) << ' ' << flag(info.replica)
        << ", cluster " << flag(told.cluster) << ' ' << flag(info.cluster) << ", role known "
        << flag(told.role_known) << ", durable " << flag(told.durable) << ", forgetful: " << told.forgetful
        << ", version " << info.version << ", ids " << info.run_id.size() << ' ' << info.replid.size()
        << ", uptime " << flag(info.uptime.has_value()) << ", loading " << flag(info.loading) << ", promoted "
        << flag(info.promoted) << ", may evict " << flag(info.may_evict) << ", AOF " << flag(info.aof)
        << ", replicas " << info.replicas;
    return out.str();
}

std::uint64_t from_environment(char const* name, std::uint64_t otherwise)
{
    char const* const told = std::getenv(name); // NOLINT(concurrency-mt-unsafe): nobody changes it
    return told ? std::strtoull(told, nullptr, 10) : otherwise;
}

struct acquaintance {
    redis::handshake::step how;
    redis::server_facts facts;
    server_error failure;
};

/// Talks as the library does.
template <class Wire>
acquaintance meet(Wire wire, redis::handshake_settings const& settings)
{
    redis::handshake h(settings);
    redis::resp_parser parser;
    for (;;) {
        wire.send(h.take_output());
        if (wire.next(parser).empty())
            throw std::runtime_error("no answer");
        if (auto const how = h.on_reply(parser.message()); how != redis::handshake::step::more)
            return {how, h.facts(), h.failure()};
    }
}

/// Compares the facts that decide whether a server may vote.
void compare_facts(pair_of_servers& both, redis::handshake_settings const& settings)
{
    static world::server::connection_id next_id = 1000;
    boost::asio::io_context context;
    auto const real = meet(wire(context, both.real().port()), settings);
    auto const fake = meet(simulated_wire(both.fake(), next_id++), settings);
    BOOST_TEST((real.how == fake.how));
    BOOST_TEST(static_cast<int>(real.failure) == static_cast<int>(fake.failure),
               settings.protocol << settings.username << ' ' << settings.password);
    if (real.how != redis::handshake::step::ready)
        return;
    BOOST_TEST(in_words(real.facts) == in_words(fake.facts));
    BOOST_TEST((*fake.facts.time >= *real.facts.time &&
                *fake.facts.time - *real.facts.time < std::chrono::minutes{1}));
}

} // namespace

BOOST_AUTO_TEST_SUITE(simulated_server)

// rules Q2, K9, S1 and EL2
BOOST_AUTO_TEST_CASE(simulated_server_answers_like_real_server)
{
    auto const first = from_environment("REDLOCK_FIRST_SEED", 1);
    auto const last = from_environment("REDLOCK_LAST_SEED", 1);
    for (std::uint64_t seed = first; seed <= last; ++seed)
        BOOST_TEST_CONTEXT("seed " << seed)
        {
            random_talk talk(seed);
            for (int i = 0; i != 3000; ++i)
                talk.step();
        }
}

/// The real server may have any version; versions without the commands use the same error texts.
// rule K8
BOOST_AUTO_TEST_CASE(simulated_server_compares_like_real_server)
{
    using words = pair_of_servers::words;
    dice chance(1);
    pair_of_servers both;
    both.connect({.tracks = true, .no_loop = true});
    both.connect({.tracks = true});
    both.connect({.protocol = 2});
    auto const owner = [&] { return std::string(32, static_cast<char>('a' + chance.below(2))); };
    for (int i = 0; i != 3000; ++i) {
        std::vector<words> const said{{"SET", "lock", owner(), "NX", "PX", "600000"},
                                      {"SET", "lock", owner(), "IFEQ", owner(), "PX", "1200000"},
                                      {"SET", "lock", owner(), "IFEQ", owner(), "PX", "1200000"},
                                      {"SET", "lock", owner(), "IFEQ", owner(), "PX", "0"},
                                      {"DELEX", "lock", "IFEQ", owner()},
                                      {"DELEX", "lock"},
                                      {"DELIFEQ", "lock", owner()},
                                      {"GET", "lock"},
                                      {"PTTL", "lock"},
                                      {"RPUSH", "lock", "no owner"},
                                      {"ZADD", "lock", "1", owner()},
                                      {"HSET", "lock", "0", owner()},
                                      {"DEL", "lock"},
                                      {"DEL", "lock"}};
        both.ask(static_cast<unsigned>(1 + chance.below(3)), said[chance.below(said.size())]);
        if (chance.one_in(20))
            both.fill(chance.one_in(3));
        if (chance.one_in(10))
            both.as_somebody_else({"SET", "lock", owner(), "PX", "1800000"});
        both.compare_keys({"lock"});
    }
}

BOOST_AUTO_TEST_CASE(simulated_server_reports_facts_like_real_server)
{
    pair_of_servers both;
    redis::handshake_settings const as_anybody{};
    redis::handshake_settings const as_in_redis_5{.protocol = 2};
    for (auto const& how : {as_anybody, as_in_redis_5}) {
        compare_facts(both, how);
        for (bool const now : {true, false}) {
            both.demote(now);
            compare_facts(both, how);
        }
        for (bool const now : {true, false}) {
            both.append(now);
            compare_facts(both, how);
        }
    }
    both.evict();
    compare_facts(both, as_anybody);
    both.protect("of nobody");
    for (int const protocol : {2, 3}) {
        compare_facts(both, {.protocol = protocol});
        compare_facts(both, {.password = "of somebody", .protocol = protocol});
        compare_facts(both, {.password = "of nobody", .protocol = protocol});
        compare_facts(both, {.username = "nobody", .password = "of nobody", .protocol = protocol});
    }
}

BOOST_AUTO_TEST_CASE(simulated_server_denies_commands_like_real_server)
{
    pair_of_servers both;
    both.connect({.tracks = true, .no_loop = true});
    std::vector<std::pair<std::string, pair_of_servers::words>> const examples{
        {"set", {"SET", "lock", "somebody"}},
        {"evalsha", {"EVALSHA", "0000000000000000000000000000000000000000", "0"}},
        {"client|tracking", {"CLIENT", "TRACKING", "ON", "NOLOOP"}},
        {"info", {"INFO"}},
        {"time", {"TIME"}},
        {"config", {"CONFIG", "GET", "*append*"}},
        {"pttl", {"PTTL", "lock"}},
        {"subscribe", {"SUBSCRIBE", "any"}},
        {"publish", {"PUBLISH", "any", "text"}}};
    for (auto const& [name, example] : examples) {
        both.forbid(name);
        both.ask(1, example);
    }
}

BOOST_AUTO_TEST_CASE(simulated_server_leaves_channels_like_real_server)
{
    pair_of_servers both;
    for (int const protocol : {2, 3}) {
        auto const id = both.connect({.protocol = protocol});
        both.ask(id, {"UNSUBSCRIBE"});
        both.ask(id, {"SUBSCRIBE", "one"});
        both.ask(id, {"UNSUBSCRIBE"});
        both.ask(id, {"SUBSCRIBE", "one", "two"});
        both.ask(id, {"RESET"});
        both.ask(id, {"PUBLISH", "one", "is anybody here?"});
        both.ask(id, {"GET", "lock"});
    }
}

BOOST_AUTO_TEST_CASE(client_that_finds_expired_key_is_told_of_its_next_change)
{
    using words = pair_of_servers::words;
    namespace scripts = redis::scripts;
    std::string const owner(32, 'a');
    auto const script = [](redis::script const& which, words const& rest) {
        words all{"EVAL", std::string(which.text)};
        all.insert(all.end(), rest.begin(), rest.end());
        return all;
    };
    pair_of_servers both;
    both.connect({.tracks = true, .no_loop = true});
    both.connect({.tracks = true});
    for (words const& question :
         {words{"GET", "lock"},
          {"PTTL", "lock"},
          {"TYPE", "lock"},
          {"MGET", "lock", "other"},
          {"ZCARD", "lock"},
          {"DEL", "lock"},
          script(scripts::release, {"1", "lock", owner}),
          script(scripts::extend, {"1", "lock", owner, "60000"}),
          script(scripts::vote, {"2", "lock", "queue", "x", owner, "60000", owner}),
          script(scripts::give_back, {"2", "other", "lock", "x", owner, "", "take", "0", ""})})
        for (unsigned const id : {1U, 2U}) {
            both.as_somebody_else({"SET", "lock", owner, "PX", "3600000"});
            both.ask(1, {"GET", "lock"});
            both.ask(2, {"GET", "lock"});
            both.advance_clock(std::chrono::hours{2});
            both.ask(id, question);
            both.as_somebody_else({"SET", "lock", "somebody"});
            both.ask(id, {"PTTL", "other"});
        }
}

/// A key that a command finds expired does not count as shown.
BOOST_AUTO_TEST_CASE(client_that_finds_two_expired_keys_is_told_of_their_next_change)
{
    std::string const owner(32, 'a');
    pair_of_servers both;
    both.connect({.tracks = true});
    for (std::string const key : {"lock", "lock2"})
        both.as_somebody_else({"SET", key, owner, "PX", "3600000"});
    both.advance_clock(std::chrono::hours{2});
    both.ask(1, {"EVAL", std::string(redis::scripts::multi_vote.text), "2", "lock", "lock2", "2", owner,
                 "60000", ""});
}

/// The order of Valkey 9.1, and of Redis since 7.2.
BOOST_AUTO_TEST_CASE(own_message_may_come_after_answer)
{
    world::server server{[](world::server::connection_id) {}};
    server.is.own_messages_first = false;
    server.connect(1);
    auto const say = [&](pair_of_servers::words const& command) {
        server.receive(1, pair_of_servers::in_bytes(command), wall_us());
        return server.take_output(1);
    };
    (void)say({"HELLO", "3"});
    (void)say({"SUBSCRIBE", "x"});
    BOOST_TEST(say({"PUBLISH", "x", "hi"}) == ":1\r\n>3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$2\r\nhi\r\n");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

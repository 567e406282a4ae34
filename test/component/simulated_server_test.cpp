// The simulation's server says what a real one says, byte for byte: to every command of the library, and unasked.
#include "kind/kind.hpp"
#include "kit/dice.hpp"
#include "kit/probe.hpp"
#include "kit/redis_server.hpp"
#include "redis/command.hpp"
#include "redis/handshake.hpp"
#include "redis/info.hpp"
#include "redis/marker.hpp"
#include "redis/resp_parser.hpp"
#include "world/server.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <charconv>
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

/// What has been said and not been taken, message by message.
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

    /// What it says until it has answered, with what it said before unasked.
    std::string say(std::string const& command)
    {
        send(command);
        redis::resp_parser parser;
        std::string all;
        do
            all += next(parser);
        while (redis::value(parser.message()).type == redis::resp_type::push);
        return all;
    }

private:
    boost::asio::ip::tcp::socket socket_;
    messages said_;
};

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

std::int64_t take_number(std::string_view& text)
{
    std::int64_t value = 0;
    auto const end = std::from_chars(text.data(), text.data() + text.size(), value).ptr;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

/// But for times, which are a little apart.
bool same(std::string_view a, std::string_view b)
{
    constexpr std::int64_t tolerance = 10'000;
    while (!a.empty() && !b.empty()) {
        if (is_digit(a[0]) && is_digit(b[0])) {
            auto const x = take_number(a);
            auto const y = take_number(b);
            bool const times = x > tolerance && y > tolerance;
            if (x != y && !(times && std::abs(x - y) < tolerance))
                return false;
            continue;
        }
        if (a[0] != b[0])
            return false;
        a.remove_prefix(1);
        b.remove_prefix(1);
    }
    return a.empty() && b.empty();
}

std::int64_t wall_us()
{
    using namespace std::chrono;
    return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

constexpr std::chrono::milliseconds hour{3'600'000};

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

/// But for the time, and for what each server draws.
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

struct acquaintance {
    redis::handshake::step how;
    redis::server_facts facts;
    server_error failure;
};

/// As the library does.
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

/// The same goes to both, over two connections that track, and as somebody else.
class pair_of_servers {
public:
    explicit pair_of_servers(std::uint64_t seed, int protocol = 3) : dice_(seed)
    {
        fake_.is.run_id = fake_.is.replid = std::string(40, 'a');
        fake_.is.started_us = wall_us();
        std::string hello;
        redis::append_command(hello, {"HELLO", "3"});
        for (unsigned const id : {1U, 2U}) {
            fake_.connect(id);
            if (protocol == 2)
                continue;
            (void)on(id).say(hello);
            (void)told(id, hello);
        }
        std::string tracking;
        redis::append_command(tracking, {"CLIENT", "TRACKING", "ON", "NOLOOP"});
        compare(1, tracking);
        compare(2, tracking);
    }

    void step()
    {
        unsigned const id = dice_.one_in(2) ? 1 : 2;
        std::string command;
        auto const form = dice_.one_in(2) ? redis::script_form::hash : redis::script_form::text;
        std::string const owner(32, static_cast<char>('a' + dice_.below(3)));
        kind::claim const whose{{"", "lock"}, owner, number()};
        using kind::request;
        auto const plain = [&](request what) { plain_->append(command, what, whose, form); };
        auto const fenced = [&](request what) { fenced_->append(command, what, whose, form); };
        switch (dice_.below(16)) {
        case 0: return as_somebody_else();
        case 1:
        case 2: plain(request::vote); break;
        case 3: plain(request::extend); break;
        case 4:
        case 5: plain(request::release); break;
        case 6: plain(request::time_left); break;
        case 7: plain(request::owner); break;
        case 8: fenced(request::number); break;
        case 9: fenced(request::write_back); break;
        case 10:
        case 11: fenced(request::extend); break;
        case 12: fenced(request::adopt); break;
        case 13: mark(command); break;
        default: fenced(request::vote); break;
        }
        if (takes_marker(command)) // each has its own, for their clocks differ a little
            return compare_fenced(id, command);
        compare(id, command);
    }

    /// There is no memory left.
    void fill(bool now)
    {
        probe_.command({"CONFIG", "SET", "maxmemory", now ? "1" : "0"});
        fake_.is.out_of_memory = now;
        fake_.is.maxmemory = now ? 1 : 0;
    }

    /// It follows another server, which cannot be reached.
    void demote(bool now)
    {
        if (now)
            probe_.command({"REPLICAOF", "127.0.0.1", "1"});
        else
            probe_.command({"REPLICAOF", "NO", "ONE"});
        fake_.is.replica = now;
        if (!now)
            fake_.is.replid2 = std::string(40, '1');
    }

    void append(bool now)
    {
        probe_.command({"CONFIG", "SET", "appendonly", now ? "yes" : "no"});
        probe_.command({"CONFIG", "SET", "appendfsync", now ? "always" : "everysec"});
        fake_.is.append_only = now;
        fake_.is.append_fsync = now ? "always" : "everysec";
    }

    void evict()
    {
        probe_.command({"CONFIG", "SET", "maxmemory", "1gb", "maxmemory-policy", "volatile-lru"});
        fake_.is.maxmemory = 1'000'000'000;
        fake_.is.maxmemory_policy = "volatile-lru";
    }

    void protect(std::string const& password)
    {
        probe_.command({"CONFIG", "SET", "requirepass", password});
        fake_.is.password = password;
    }

    /// What decides whether it may vote.
    void compare_facts(redis::handshake_settings const& settings)
    {
        auto const real = meet(wire(context_, real_.port()), settings);
        auto const fake = meet(simulated_wire(fake_, next_id_++), settings);
        BOOST_TEST((real.how == fake.how));
        BOOST_TEST(static_cast<int>(real.failure) == static_cast<int>(fake.failure),
                   settings.protocol << settings.username << ' ' << settings.password);
        if (real.how != redis::handshake::step::ready)
            return;
        BOOST_TEST(in_words(real.facts) == in_words(fake.facts));
        BOOST_TEST((*fake.facts.time >= *real.facts.time &&
                    *fake.facts.time - *real.facts.time < std::chrono::minutes{1}));
    }

    /// Nobody may run it any more.
    void forbid(std::string const& command, std::vector<std::string_view> const& example)
    {
        probe_.command({"ACL", "SETUSER", "default", "-" + command});
        fake_.is.forbidden.insert(command);
        std::string to_both;
        redis::append_command(to_both, example);
        BOOST_TEST(on(1).say(to_both) == told(1, to_both));
    }

private:
    wire& on(unsigned id) { return id == 1 ? first_ : second_; }

    std::string told(unsigned id, std::string const& command)
    {
        fake_.receive(id, command, wall_us());
        return fake_.take_output(id);
    }

    void compare_fenced(unsigned id, std::string const& command)
    {
        bool const named = dice_.one_in(2);
        std::string to_real = command;
        std::string to_fake = command;
        kind::append_marker(to_real, named ? real_marker_ : "");
        kind::append_marker(to_fake, named ? fake_marker_ : "");
        compare_answers(id, to_real, to_fake);
        compare_answers(3 - id, ping_, ping_);
    }

    /// The connection that did not ask may have been told something, too.
    void compare(unsigned id, std::string const& command)
    {
        compare_answers(id, command, command);
        compare_answers(3 - id, ping_, ping_);
    }

    void compare_answers(unsigned id, std::string const& to_real, std::string const& to_fake)
    {
        std::string const real = on(id).say(to_real);
        std::string const fake = told(id, to_fake);
        bool const both_errors = real.starts_with('-') && fake.starts_with('-');
        BOOST_REQUIRE_MESSAGE(both_errors ? first_word(real) == first_word(fake) : same(real, fake),
                              earlier_ << "then by " << id << ' ' << to_real << "\nthe server says\n"
                                       << real << "\nthe simulation\n"
                                       << fake);
        earlier_ = (earlier_.size() > 3000 ? "" : earlier_) + std::to_string(id) + ' ' + to_real + real;
        keep_marker(real, real_marker_);
        keep_marker(fake, fake_marker_);
    }

    static void keep_marker(std::string const& reply, std::string& marker)
    {
        if (auto const at = reply.find(" run:"); at != std::string::npos)
            marker = reply.substr(at + 1, reply.find('\r', at) - at - 1);
    }

    static std::string first_word(std::string const& text)
    {
        return text.substr(0, text.find_first_of(" \r"));
    }

    static bool takes_marker(std::string const& command)
    {
        return command.find(":redlock-fence") != std::string::npos && command.find("*2") != 0;
    }

    std::uint64_t number()
    {
        return dice_.one_in(3) ? 1 + dice_.below(8)
                               : static_cast<std::uint64_t>(wall_us() / 1000) + dice_.below(3) * 100'000;
    }

    void mark(std::string& command)
    {
        redis::marker seen;
        if (dice_.one_in(2)) {
            seen.text = dice_.one_in(2) ? "run:one/0a1b2c3d/0/5" : "run:one/ffffffff/0/5";
            seen.now = std::chrono::milliseconds{wall_us() / 1000} + (dice_.one_in(2) ? hour : -hour);
        }
        redis::mark_call call{.key_prefix = "",
                              .incarnation = dice_.one_in(2) ? "run:one" : "run:two",
                              .lineage = "0a1b2c3d",
                              .certain_for = {},
                              .absence_is_excused = dice_.one_in(2),
                              .seen = seen};
        if (dice_.one_in(2))
            call.certain_for = std::chrono::milliseconds{100'000};
        redis::append_mark(command, call);
    }

    void as_somebody_else()
    {
        switch (dice_.below(8)) {
        case 0: fill(!fake_.is.out_of_memory); break;
        case 1: demote(!fake_.is.replica); break;
        case 2:
            probe_.command({"SCRIPT", "FLUSH"});
            fake_.flush_scripts();
            break;
        default: write();
        }
        compare(1, ping_);
    }

    void write()
    {
        std::vector<std::vector<std::string>> const deeds{{"DEL", "lock"},
                                                          {"DEL", "lock:redlock-fence"},
                                                          {"DEL", "redlock-marker"},
                                                          {"FLUSHALL"},
                                                          {"SET", "lock:redlock-fence", "some text"},
                                                          {"SET", "lock:redlock-fence", "17"},
                                                          {"SET", "redlock-marker", "no marker"},
                                                          {"SET", "lock", "somebody", "PX", "7200001"}};
        auto const& deed = deeds[dice_.below(deeds.size())];
        auto const real = probe_.command(deed);
        auto const fake = fake_.execute(deed, wall_us());
        BOOST_TEST((real.front() == '-') == (fake.front() == '-'), deed[0] << ": " << real << ", " << fake);
    }

    dice dice_;
    redis_server real_;
    probe probe_{real_.port()};
    boost::asio::io_context context_;
    wire first_{context_, real_.port()};
    wire second_{context_, real_.port()};
    world::server fake_{[](world::server::connection_id) {}};
    world::server::connection_id next_id_ = 3;
    std::unique_ptr<kind::commands const> plain_ = kind::plain.make_commands("", {hour, hour});
    std::unique_ptr<kind::commands const> fenced_ = kind::fenced.make_commands("", {hour, 10 * hour});
    std::string const ping_ = "*1\r\n$4\r\nPING\r\n";
    std::string real_marker_;
    std::string fake_marker_;
    std::string earlier_; ///< what was said before
};

} // namespace

BOOST_AUTO_TEST_SUITE(simulated_server)

BOOST_AUTO_TEST_CASE(simulated_server_answers_like_real_server)
{
    for (std::uint64_t seed = 1; seed != 5; ++seed) {
        pair_of_servers both(seed, seed == 4 ? 2 : 3);
        for (int i = 0; i != 3000; ++i)
            both.step();
    }
}

BOOST_AUTO_TEST_CASE(simulated_server_reports_facts_like_real_server)
{
    pair_of_servers both(1);
    redis::handshake_settings const as_anybody{};
    redis::handshake_settings const as_in_redis_5{.protocol = 2};
    for (auto const& how : {as_anybody, as_in_redis_5}) {
        both.compare_facts(how);
        for (bool const now : {true, false}) {
            both.demote(now);
            both.compare_facts(how);
        }
        for (bool const now : {true, false}) {
            both.append(now);
            both.compare_facts(how);
        }
    }
    both.evict();
    both.compare_facts(as_anybody);
    both.protect("of nobody");
    for (int const protocol : {2, 3}) {
        both.compare_facts({.protocol = protocol});
        both.compare_facts({.password = "of somebody", .protocol = protocol});
        both.compare_facts({.password = "of nobody", .protocol = protocol});
        both.compare_facts({.username = "nobody", .password = "of nobody", .protocol = protocol});
    }
}

BOOST_AUTO_TEST_CASE(simulated_server_denies_commands_like_real_server)
{
    pair_of_servers both(1);
    both.forbid("set", {"SET", "lock", "somebody"});
    both.forbid("evalsha", {"EVALSHA", "0000000000000000000000000000000000000000", "0"});
    both.forbid("client|tracking", {"CLIENT", "TRACKING", "ON", "NOLOOP"});
    both.forbid("info", {"INFO"});
    both.forbid("time", {"TIME"});
    both.forbid("config", {"CONFIG", "GET", "*append*"});
    both.forbid("pttl", {"PTTL", "lock"});
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

// SPDX-License-Identifier: BSL-1.0
#include "component/pair_of_servers.hpp"

#include "redis/command.hpp"
#include "redis/error_class.hpp"
#include "redis/info.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>

namespace redlock::test {

namespace {

/// The answer ends alike, whatever the connection speaks and waits for.
constexpr std::string_view full_stop = "*2\r\n$4\r\nPING\r\n$3\r\nend\r\n";
constexpr std::string_view stopped = "$3\r\nend\r\n";

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

/// Ignores times, which differ a little.
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

/// Keeps the part of errors that clients read: versions differ in the rest.
std::string with_classes_of_errors(std::string_view text)
{
    constexpr std::string_view end = "\r\n";
    std::string out;
    while (!text.empty()) {
        auto const line = text.substr(0, std::min(text.find(end), text.size() - end.size()) + end.size());
        text.remove_prefix(line.size());
        if (!line.starts_with('-')) {
            out += line;
            continue;
        }
        auto const error = line.substr(1);
        out.append("-").append(to_string(redis::classify(error)));
        out.append(redis::is_about_keys(error) ? " of keys" : "").append(end);
    }
    return out;
}

/// Shortens a script to its first characters.
std::string in_short(std::string command)
{
    for (char& c : command)
        if (c == '\r' || c == '\n')
            c = ' ';
    if (auto const start = command.find("-- "); start != std::string::npos)
        command.erase(start + 30, command.find(" $1 ", start) - start - 30);
    return command;
}

/// "[1795717436, 942657]"
std::int64_t seconds_in(std::string_view time)
{
    time.remove_prefix(1);
    return take_number(time);
}

void keep_marker(std::string const& reply, std::string& marker)
{
    if (auto const at = reply.find(" run:"); at != std::string::npos)
        marker = reply.substr(at + 1, reply.find('\r', at) - at - 1);
}

} // namespace

pair_of_servers::pair_of_servers()
    : real_({.arguments = {"--enable-debug-command", "yes"}, .own_clock = true})
{
    probe_.command({"ACL", "SETUSER", "admin", "on", "nopass", "~*", "&*", "+@all"});
    probe_.command({"AUTH", "admin", "any"});
    // Keys expire when a command looks at them, and not when the server finds the time.
    BOOST_REQUIRE(probe_.command({"DEBUG", "SET-ACTIVE-EXPIRE", "0"}) == "OK");
    auto const told = redis::parse_info(probe_.command({"INFO"})).native;
    newer_ = told.has_value();
    fake_.is.shows_declared_keys = fake_.is.own_messages_first = !newer_;
    if (newer_)
        fake_.is.version = *told == redis::script_form::delex ? world::server::release::redis_8_6
                                                              : world::server::release::valkey_9_1;
    fake_.is.run_id = fake_.is.replid = std::string(40, 'a');
    fake_.is.started_us = now_us();
}

unsigned pair_of_servers::connect(manner how)
{
    auto const id = static_cast<unsigned>(peers_.size()) + 1;
    peers_.emplace(id, peer{boost::asio::ip::tcp::socket(context_), how});
    open(id);
    return id;
}

void pair_of_servers::open(unsigned id)
{
    peer& its = peers_.at(id);
    its.socket = boost::asio::ip::tcp::socket(context_);
    its.socket.connect({boost::asio::ip::address_v4::loopback(), real_.port()});
    fake_.connect(id);
    if (its.how.protocol == 3) {
        (void)real_answer(id, in_bytes({"HELLO", "3"}));
        (void)fake_answer(id, in_bytes({"HELLO", "3"}));
    }
    words tracking{"CLIENT", "TRACKING", "ON"};
    if (its.how.no_loop)
        tracking.emplace_back("NOLOOP");
    if (its.how.tracks)
        compare_answers(id, in_bytes(tracking), in_bytes(tracking));
}

void pair_of_servers::reconnect(unsigned id)
{
    auto const port = peers_.at(id).socket.local_endpoint().port();
    probe_.command({"CLIENT", "KILL", "ADDR", "127.0.0.1:" + std::to_string(port)});
    fake_.disconnect(id);
    open(id);
}

std::string pair_of_servers::in_bytes(words const& command)
{
    std::string out;
    std::vector<std::string_view> const views(command.begin(), command.end());
    redis::append_command(out, views);
    return out;
}

void pair_of_servers::compare(unsigned id, std::string const& to_real, std::string const& to_fake)
{
    compare_answers(id, to_real, to_fake);
    // The server answers all of them in one turn.
    for (auto const& [other, its] : peers_)
        if (other != id)
            ask_real(other, "");
    for (auto const& [other, its] : peers_)
        if (other != id)
            compare_answers(other, "", take_real_answer(other), "");
}

void pair_of_servers::compare_keys(words const& names)
{
    std::string questions;
    for (std::string const& name : names)
        for (words const& question : {words{"TYPE", name}, words{"GET", name}, words{"PTTL", name},
                                      words{"ZRANGE", name, "0", "-1", "WITHSCORES"}, words{"HGETALL", name}})
            questions += in_bytes(question);
    compare_answers(connections(), questions, questions);
}

void pair_of_servers::ask_real(unsigned id, std::string const& question)
{
    boost::asio::write(peers_.at(id).socket, boost::asio::buffer(question + std::string(full_stop)));
}

std::string pair_of_servers::take_real_answer(unsigned id)
{
    auto& socket = peers_.at(id).socket;
    std::string all;
    while (!all.ends_with(stopped)) {
        std::array<char, 4096> some{};
        all.append(some.data(), socket.read_some(boost::asio::buffer(some)));
    }
    return all;
}

std::string pair_of_servers::real_answer(unsigned id, std::string const& to_real)
{
    ask_real(id, to_real);
    return take_real_answer(id);
}

std::string pair_of_servers::fake_answer(unsigned id, std::string const& to_fake)
{
    fake_.receive(id, to_fake + std::string(full_stop), now_us());
    return fake_.take_output(id);
}

void pair_of_servers::compare_answers(unsigned id, std::string const& to_real, std::string const& to_fake)
{
    compare_answers(id, to_real, real_answer(id, to_real), to_fake);
}

void pair_of_servers::compare_answers(unsigned id, std::string const& to_real, std::string const& real,
                                      std::string const& to_fake)
{
    std::string const fake = fake_answer(id, to_fake);
    auto const told = [this](std::string const& text) {
        // The simulation's words are those of Redis 7.0.
        return newer_ ? with_classes_of_errors(text) : text;
    };
    BOOST_REQUIRE_MESSAGE(same(told(real), told(fake)), earlier_ << "then by " << id << ' '
                                                                 << in_short(to_real) << "\nthe server says\n"
                                                                 << real << "\nthe simulation\n"
                                                                 << fake);
    if (!to_real.empty())
        earlier_ += std::to_string(id) + ' ' + in_short(to_real) + "-> " + in_short(real) + '\n';
    if (earlier_.size() > 20'000)
        earlier_.erase(0, 10'000);
    keep_marker(real, real_marker_);
    keep_marker(fake, fake_marker_);
}

void pair_of_servers::as_somebody_else(words const& command)
{
    auto const real = probe_.command(command);
    auto const is = fake_.is;
    fake_.is.forbidden.clear(); // for other clients
    fake_.is.forbidden_channels = false;
    auto const fake = fake_.execute(command, now_us());
    fake_.is = is;
    BOOST_REQUIRE_MESSAGE((real.front() == '-') == (fake.front() == '-'),
                          command[0] << ": " << real << ", " << fake);
    earlier_ += "somebody else: " + in_short(in_bytes(command)) + '\n';
}

void pair_of_servers::fill(bool now)
{
    probe_.command({"CONFIG", "SET", "maxmemory", now ? "1" : "0"});
    fake_.is.out_of_memory = now;
    fake_.is.maxmemory = now ? 1 : 0;
    earlier_ += now ? "full\n" : "not full\n";
}

void pair_of_servers::demote(bool now)
{
    if (now)
        probe_.command({"REPLICAOF", "127.0.0.1", "1"});
    else
        probe_.command({"REPLICAOF", "NO", "ONE"});
    fake_.is.replica = now;
    if (!now)
        fake_.is.replid2 = std::string(40, '1');
    earlier_ += now ? "a replica\n" : "no replica\n";
}

void pair_of_servers::append(bool now)
{
    probe_.command({"CONFIG", "SET", "appendonly", now ? "yes" : "no"});
    probe_.command({"CONFIG", "SET", "appendfsync", now ? "always" : "everysec"});
    fake_.is.append_only = now;
    fake_.is.append_fsync = now ? "always" : "everysec";
}

void pair_of_servers::evict()
{
    probe_.command({"CONFIG", "SET", "maxmemory", "1gb", "maxmemory-policy", "volatile-lru"});
    fake_.is.maxmemory = 1'000'000'000;
    fake_.is.maxmemory_policy = "volatile-lru";
}

void pair_of_servers::protect(std::string const& password)
{
    probe_.command({"CONFIG", "SET", "requirepass", password});
    fake_.is.password = password;
}

void pair_of_servers::forbid(std::string const& command)
{
    probe_.command({"ACL", "SETUSER", "default", "-" + command});
    fake_.is.forbidden.insert(command);
    earlier_ += command + " is forbidden\n";
}

void pair_of_servers::forbid_channels(bool now)
{
    probe_.command({"ACL", "SETUSER", "default", now ? "resetchannels" : "allchannels"});
    fake_.is.forbidden_channels = now;
    earlier_ += now ? "channels are forbidden\n" : "channels are allowed\n";
    if (now)
        for (auto const& [id, its] : peers_)
            reconnect(id);
}

void pair_of_servers::mend()
{
    if (fake_.is.out_of_memory)
        fill(false);
    if (fake_.is.replica)
        demote(false);
    if (fake_.is.forbidden_channels)
        forbid_channels(false);
    if (fake_.is.forbidden.empty())
        return;
    probe_.command({"ACL", "SETUSER", "default", "+@all"});
    fake_.is.forbidden.clear();
    earlier_ += "nothing is forbidden\n";
}

void pair_of_servers::forget_scripts()
{
    probe_.command({"SCRIPT", "FLUSH"});
    fake_.flush_scripts();
}

void pair_of_servers::advance_clock(std::chrono::milliseconds by)
{
    ahead_ += by;
    real_.set_clock_ahead(ahead_);
    // Valkey reads its clock once a turn of its loop.
    while (seconds_in(probe_.command({"TIME"})) < now_us() / 1'000'000 - 1)
        continue;
    earlier_ += std::to_string(by.count()) + " ms later\n";
}

std::int64_t pair_of_servers::now_us() const
{
    using namespace std::chrono;
    return duration_cast<microseconds>(system_clock::now().time_since_epoch() + ahead_).count();
}

} // namespace redlock::test

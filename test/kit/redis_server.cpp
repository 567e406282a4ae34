// SPDX-License-Identifier: BSL-1.0
#include "kit/redis_server.hpp"

#include "kit/text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace redlock::test {
namespace {

using clock = std::chrono::steady_clock;

/// Generous, because sanitizers and a loaded machine stretch a start of 10 ms; reached only by a failure.
constexpr std::chrono::seconds start_limit{20};
constexpr int start_poll_ms = 2;
constexpr int start_attempts = 5;
/// For tests a server of this age is still young: most leases are longer.
constexpr std::chrono::seconds oldest_spare{10};

/// Resolved before the fork: between fork and exec a process with threads may call next to nothing.
std::string find_binary()
{
    char const* chosen = std::getenv("REDLOCK_TEST_SERVER");
    std::string const name = chosen != nullptr && *chosen != '\0' ? chosen : "redis-server";
    auto const executable = [](std::string const& path) { return ::access(path.c_str(), X_OK) == 0; };
    if (name.find('/') != std::string::npos)
        return executable(name) ? name : std::string();
    char const* places = std::getenv("PATH");
    std::istringstream list(places != nullptr ? places : "/usr/bin:/usr/local/bin");
    for (std::string place; std::getline(list, place, ':');) {
        auto path = place + "/" + name;
        if (executable(path))
            return path;
    }
    return {};
}

/// Its configuration and its users, which a test may have changed.
std::string manner_of(probe& asked)
{
    return asked.command({"CONFIG", "GET", "*"}) + asked.command({"ACL", "LIST"});
}

/// It takes part in no replication, and never did.
bool stands_alone(std::string const& replication)
{
    return contains(replication, "role:master\r") && contains(replication, "connected_slaves:0\r") &&
           contains(replication, "master_replid2:" + std::string(40, '0')) &&
           contains(replication, "master_repl_offset:0\r");
}

using servers = std::vector<std::unique_ptr<redis_server>>;

/// Servers that a group has left.
servers& spare_servers()
{
    static servers all;
    return all;
}

std::unique_ptr<redis_server> take_spare_server()
{
    servers& all = spare_servers();
    while (!all.empty()) {
        auto one = std::move(all.back());
        all.pop_back();
        if (one->make_as_new())
            return one;
    }
    auto made = std::make_unique<redis_server>();
    made->note_manner();
    return made;
}

} // namespace

bool redis_server::available()
{
    return !find_binary().empty();
}

std::string redis_server::binary()
{
    return find_binary();
}

redis_server::redis_server(redis_server_options options) : options_(std::move(options)), port_(options_.port)
{
    if (options_.unix_path.empty())
        options_.unix_path = directory_.file("socket");
    if (options_.tls)
        tls_port_.emplace(std::uint16_t{0});
    if (!options_.acl.empty()) {
        std::ofstream file(directory_.file("users.acl"));
        for (auto const& entry : options_.acl)
            file << entry << '\n';
    }
    if (options_.own_clock)
        set_clock_ahead({});
    start();
}

std::vector<std::string> redis_server::command_line() const
{
    std::vector<std::string> words;
    auto const add = [&words](auto... word) { (words.emplace_back(word), ...); };
    if (options_.own_clock) // by env(1), which makes way for the server: the process stays the same
        add("/usr/bin/env", "LD_PRELOAD=" REDLOCK_SHIFTED_CLOCK,
            "REDLOCK_SHIFTED_CLOCK=" + directory_.file("clock"));
    add(find_binary());
    add("--port", std::to_string(port()), "--bind", "127.0.0.1", "--unixsocket", unix_path());
    add("--dir", directory_.path().string(), "--save", "", "--appendonly", "no", "--daemonize", "no");
    if (options_.tls) {
        add("--tls-port", std::to_string(tls_port()), "--tls-cert-file", options_.tls->certificate);
        add("--tls-key-file", options_.tls->key, "--tls-ca-cert-file", options_.tls->authority);
        add("--tls-auth-clients", options_.require_client_certificate ? "yes" : "no");
    }
    if (!options_.password.empty())
        add("--requirepass", options_.password);
    if (!options_.acl.empty())
        add("--aclfile", directory_.file("users.acl"));
    words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
    return words;
}

void redis_server::start()
{
    if (!available())
        throw std::runtime_error("redis_server: no redis-server (PATH, REDLOCK_TEST_SERVER)");
    for (int attempt = 1; attempt <= start_attempts; ++attempt) {
        log_start_ = log().size();
        started_at_ = clock::now();
        process_ = child_process(command_line(), directory_.file("log"));
        if (started())
            return;
        if (said().find("Address already in use") == std::string::npos)
            break;
        if (options_.port == 0)
            port_ = reserved_port(0);
        if (tls_port_)
            *tls_port_ = reserved_port(0);
    }
    constexpr std::size_t tail = 2000;
    auto const all = log();
    throw std::runtime_error("redis_server: cannot start:\n" +
                             all.substr(all.size() - std::min(tail, all.size())));
}

/// A server binds its TCP ports before its Unix socket and gives up if one is taken, so an answer on the
/// socket in our own directory proves that the ports are served, and by our child.
bool redis_server::started()
{
    auto const deadline = clock::now() + start_limit;
    while (clock::now() < deadline) {
        if (process_.ended_within(start_poll_ms))
            return false;
        if (answers())
            return true;
    }
    kill();
    return false;
}

bool redis_server::answers() const
{
    try {
        auto const said = probe(unix_path()).command({"PING"});
        // A server that asks for a password, or does not know PING, has read its data and serves.
        return said.find("LOADING") == std::string::npos;
    } catch (std::exception const&) {
        return false;
    }
}

void redis_server::pause()
{
    if (process_.paused())
        return;
    if (!running())
        throw std::runtime_error("redis_server: not running:\n" + said());
    if (!process_.pause())
        throw std::runtime_error("redis_server: ended by itself:\n" + said());
}

void redis_server::resume()
{
    if (process_.paused() && !process_.resume())
        throw std::runtime_error("redis_server: ended by itself:\n" + said());
}

bool redis_server::has_only_own_files() const
{
    return std::ranges::all_of(std::filesystem::directory_iterator(directory_.path()), [](auto const& entry) {
        auto const name = entry.path().filename();
        return name == "log" || name == "socket";
    });
}

void redis_server::note_manner()
{
    probe asked(unix_path());
    manner_ = manner_of(asked);
}

bool redis_server::make_as_new() noexcept
{
    try {
        if (!running() || process_.paused() || clock::now() - started_at_ > oldest_spare ||
            !has_only_own_files())
            return false;
        constexpr std::chrono::seconds limit{1}; // it may have been told to answer nobody
        probe asks(unix_path(), limit);
        asks.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
        asks.command({"CLIENT", "KILL", "TYPE", "pubsub"});
        // A connection that it has not accepted yet brings commands with it: they come before the answer to the second.
        asks.command({"PING"});
        asks.command({"PING"});
        if (!contains(asks.info("clients"), "connected_clients:1\r") ||
            !stands_alone(asks.info("replication")))
            return false;
        for (std::vector<std::string> const& words :
             std::vector<std::vector<std::string>>{{"FLUSHALL"},
                                                   {"SCRIPT", "FLUSH"},
                                                   {"FUNCTION", "FLUSH"},
                                                   {"SLOWLOG", "RESET"},
                                                   {"ACL", "LOG", "RESET"},
                                                   {"CONFIG", "RESETSTAT"}})
            if (asks.command(words) != "OK")
                return false;
        return manner_of(asks) == manner_;
    } catch (std::exception const&) {
        return false;
    }
}

/// In place: the server has the file mapped.
void redis_server::set_clock_ahead(std::chrono::milliseconds by)
{
    std::int64_t const count = by.count();
    int const file = ::open(directory_.file("clock").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    bool const written = ::pwrite(file, &count, sizeof count, 0) == sizeof count;
    ::close(file);
    if (!options_.own_clock || !written)
        throw std::runtime_error("redis_server: its clock cannot be set");
}

void redis_server::set_age(std::chrono::seconds age)
{
    constexpr std::string_view field = "uptime_in_seconds:";
    set_clock_ahead(age);
    auto const deadline = clock::now() + start_limit;
    for (probe asks(unix_path()); clock::now() < deadline;) {
        auto const told = asks.info("server");
        if (std::stoll(told.substr(told.find(field) + field.size())) >= age.count())
            return;
    }
    throw std::runtime_error("redis_server: it does not get older");
}

void redis_server::restart()
{
    terminate();
    start();
}

std::string redis_server::url() const
{
    return "redis://127.0.0.1:" + std::to_string(port());
}

std::string redis_server::tls_url() const
{
    return "rediss://127.0.0.1:" + std::to_string(tls_port());
}

std::string redis_server::log() const
{
    return text_of(directory_.file("log"));
}

std::string redis_server::said() const
{
    return log().substr(log_start_);
}

server_group::server_group(std::size_t count, redis_server_options const& options)
    : keeps_(options == redis_server_options{})
{
    (void)spare_servers(); // outlives this group
    while (servers_.size() < count)
        probes.emplace_back(
            servers_.emplace_back(keeps_ ? take_spare_server() : std::make_unique<redis_server>(options))
                ->port());
}

server_group::~server_group()
{
    probes.clear();
    if (keeps_)
        std::ranges::move(servers_, std::back_inserter(spare_servers()));
}

std::vector<std::string> server_group::urls() const
{
    std::vector<std::string> list;
    for (auto const& server : servers_)
        list.push_back(server->url());
    return list;
}

void server_group::restart(std::size_t index)
{
    servers_.at(index)->restart();
    probes.at(index) = probe(servers_.at(index)->port());
}

void server_group::command(std::vector<std::string> const& words)
{
    for (probe& each : probes)
        each.command(words);
}

std::size_t server_group::holders(std::string const& key, std::string_view value)
{
    std::size_t sum = 0;
    for (std::size_t i = 0; i != size(); ++i)
        sum += servers_[i]->running() && probes[i].get(key) == value ? 1 : 0;
    return sum;
}

std::size_t server_group::keys()
{
    std::size_t sum = 0;
    for (std::size_t i = 0; i != size(); ++i)
        sum += servers_[i]->running() ? probes[i].keys().size() : 0;
    return sum;
}

bool server_group::is_free(std::string const& key)
{
    return std::ranges::none_of(probes, [&](probe& each) { return each.exists(key); });
}

} // namespace redlock::test

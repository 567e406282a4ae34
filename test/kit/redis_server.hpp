// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kit/certificates.hpp"
#include "kit/child_process.hpp"
#include "kit/probe.hpp"
#include "kit/reserved_port.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

struct redis_server_options {
    /// 0: a free one.
    std::uint16_t port = 0;
    /// Empty: a socket in the server's own directory. There always is one: it is how the start is observed.
    std::string unix_path{};
    /// Also listen for TLS, on a port of its own.
    std::optional<tls_files> tls{};
    bool require_client_certificate = false;
    std::string password{};
    /// Lines of an ACL file, "user name on >secret ~* +@all".
    std::vector<std::string> acl{};
    /// Appended to the command line, so they win over the defaults: {"--appendonly", "yes"}.
    std::vector<std::string> arguments{};
    /// Its wall clock can be set, by `set_clock_ahead`.
    bool own_clock = false;
    /// In a group: started for this group. Other groups may have servers of some seconds.
    bool young = false;

    bool operator==(redis_server_options const&) const = default;
};

/// A real server of our own on loopback, in a directory of its own, dead at the latest with this process. The
/// binary is `redis-server`, or what REDLOCK_TEST_SERVER names. Construct it in a thread that outlives it:
/// the kernel ties the child's life to the thread that started it (prctl(2), PR_SET_PDEATHSIG).
class redis_server {
public:
    static bool available();
    /// Its path; empty if there is none.
    static std::string binary();

    /// Returns when the server answers; otherwise throws std::runtime_error with the end of its log.
    explicit redis_server(redis_server_options options = {});
    redis_server(redis_server const&) = delete;
    redis_server& operator=(redis_server const&) = delete;

    /// As in a crash: SIGKILL.
    void kill() { process_.kill(); }
    /// As an administrator ends it: SIGTERM.
    void terminate() { process_.terminate(); }
    /// Stops the process; its sockets stay open, and the kernel still accepts. Returns when it is stopped.
    void pause();
    void resume();
    /// Notes its configuration and its users, for `make_as_new`.
    void note_manner();
    /// Makes it forget its data, its clients and what it counted. False: it does not run or does not answer, it is some
    /// seconds old, its configuration or its users have changed, it has written files, or it took part in a replication.
    bool make_as_new() noexcept;
    /// Ends the server if it runs, and starts it on the same ports and directory.
    void restart();

    /// Sets its wall clock ahead of the machine's by this time. Only with `own_clock`.
    void set_clock_ahead(std::chrono::milliseconds);
    /// The same, and returns when its age is at least this: some servers know the time ten times a second only.
    void set_age(std::chrono::seconds);

    bool running() { return process_.running(); }
    /// -1 when the server does not run.
    pid_t pid() const noexcept { return process_.pid(); }
    std::uint16_t port() const noexcept { return port_.number(); }
    /// 0 without TLS.
    std::uint16_t tls_port() const noexcept { return tls_port_ ? tls_port_->number() : std::uint16_t{0}; }
    std::string const& unix_path() const noexcept { return options_.unix_path; }
    /// In its own directory, which it starts in: "dump.rdb".
    std::string file(std::string_view name) const { return directory_.file(name); }
    std::string const& password() const noexcept { return options_.password; }
    std::string url() const;
    std::string tls_url() const;
    std::string log() const;

private:
    std::vector<std::string> command_line() const;
    void start();
    bool started();
    bool answers() const;
    std::string said() const;
    bool has_only_own_files() const;

    temporary_directory directory_{"redlock-redis"};
    redis_server_options options_;
    reserved_port port_;
    std::optional<reserved_port> tls_port_;
    std::size_t log_start_ = 0;
    std::chrono::steady_clock::time_point started_at_{};
    std::string manner_{};
    child_process process_; // last: it ends before its directory goes
};

/// Independent servers for Redlock, and a probe of each. A start costs more than most tests: without options, servers that an
/// earlier group left as good as new serve again.
class server_group {
public:
    explicit server_group(std::size_t count, redis_server_options const& options = {});
    server_group(server_group const&) = delete;
    server_group& operator=(server_group const&) = delete;
    ~server_group();

    redis_server& at(std::size_t index) { return *servers_.at(index); }
    redis_server& operator[](std::size_t index) { return at(index); }
    probe& ask(std::size_t index) { return probes.at(index); }
    std::size_t size() const noexcept { return servers_.size(); }
    std::vector<std::string> urls() const;
    auto begin() const noexcept { return servers_.begin(); }
    auto end() const noexcept { return servers_.end(); }

    /// Restarts the server, and connects its probe again.
    void restart(std::size_t index);

    /// Sends a command to every server.
    void command(std::vector<std::string> const& words);
    /// The number of running servers that have this key with this value.
    std::size_t holders(std::string const& key, std::string_view value);
    /// The number of keys of any name on running servers.
    std::size_t keys();
    bool no_keys() { return keys() == 0; }
    /// No server has this key.
    bool is_free(std::string const& key);

private:
    bool keeps_ = false; ///< for later groups
    std::vector<std::unique_ptr<redis_server>> servers_;

public:
    std::vector<probe> probes;
};

} // namespace redlock::test

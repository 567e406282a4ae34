// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cycle_client.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace redlock::bench {

/// The CPUs of client and servers. With one CPU they share it.
struct placement {
    int client_cpu = 0;
    int server_cpu = 0;
};

[[nodiscard]] placement choose_cpus();

/// CPU time of this process so far, all of its threads together.
[[nodiscard]] double own_cpu_us();

/// CPU time of the process's main thread, exact to a scheduler tick (the servers here have one busy thread).
[[nodiscard]] double cpu_time_us(pid_t process);

/// One child process; killed and reaped with its owner, and by the kernel if this process dies first.
class child {
public:
    /// \param cpu -1: any
    child(int cpu, std::function<void()> const& body);
    child(child const&) = delete;
    child& operator=(child const&) = delete;
    ~child();

    [[nodiscard]] pid_t id() const noexcept { return id_; }
    [[nodiscard]] bool running();
    bool wait_for(std::chrono::duration<double> limit); ///< true when it ended by itself, with status 0

private:
    pid_t id_ = -1;
    int status_ = 0;
    bool reaped_ = false;
};

/// Redis servers of our own on free loopback ports, without persistence; each has a unix socket, too.
class redis_fleet {
public:
    enum class tls : std::uint8_t { no, where_it_can_be_had };
    redis_fleet(std::size_t nodes, int cpu, tls = tls::no);
    ~redis_fleet();
    redis_fleet(redis_fleet const&) = delete;
    redis_fleet& operator=(redis_fleet const&) = delete;

    [[nodiscard]] std::span<std::uint16_t const> ports() const noexcept { return ports_; }
    /// Empty: none was wanted, or redis-server was built without TLS.
    [[nodiscard]] std::span<std::uint16_t const> tls_ports() const noexcept { return tls_ports_; }
    /// The directory of the unix sockets and the certificates.
    [[nodiscard]] std::string directory() const;
    [[nodiscard]] std::vector<pid_t> ids(std::size_t nodes) const;

private:
    struct papers;

    [[nodiscard]] bool add_server(int cpu, bool with_tls);

    std::unique_ptr<papers> papers_; // outlives the servers
    std::vector<std::unique_ptr<child>> servers_;
    std::vector<std::uint16_t> ports_;
    std::vector<std::uint16_t> tls_ports_;
};

/// One process that answers on `nodes` ports without doing the work.
class null_fleet {
public:
    null_fleet(std::size_t nodes, int cpu);

    [[nodiscard]] std::span<std::uint16_t const> ports() const noexcept { return ports_; }
    [[nodiscard]] pid_t id() const noexcept { return server_->id(); }

private:
    std::vector<std::uint16_t> ports_;
    std::unique_ptr<child> server_;
};

/// Runs `body` in a forked process pinned to `cpu` and brings its value back through a pipe: each measurement
/// starts with a clean rusage and a clean heap. Throws when the child fails or does not end within `limit`.
template <class Body>
auto measure_in_child(int cpu, std::chrono::duration<double> limit, Body const& body)
{
    using value = std::invoke_result_t<Body const&>;
    static_assert(std::is_trivially_copyable_v<value>);
    int ends[2];
    if (::pipe(ends) != 0)
        throw std::runtime_error{"pipe"};
    value out{};
    bool ended = false;
    {
        child measured{cpu, [&] {
                           value const made = body();
                           if (::write(ends[1], &made, sizeof made) != static_cast<ssize_t>(sizeof made))
                               throw std::runtime_error{"write"};
                       }};
        ::close(ends[1]);
        ended = measured.wait_for(limit);
    }
    bool const complete = ended && ::read(ends[0], &out, sizeof out) == static_cast<ssize_t>(sizeof out);
    ::close(ends[0]);
    if (!complete)
        throw std::runtime_error{"a measurement failed or did not end in time"};
    return out;
}

} // namespace redlock::bench

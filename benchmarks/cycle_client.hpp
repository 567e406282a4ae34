// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::bench {

/// How a client reaches its servers.
enum class door : std::uint8_t { tcp, unix_socket, tls };

/// A contestant's settings: `concurrency` cycles in flight in one thread, one connection per node.
/// A cycle = vote on all nodes, majority, compare-and-delete on all nodes, majority.
struct setup {
    std::vector<std::uint16_t> ports; ///< one node each, on 127.0.0.1
    door way = door::tcp;
    std::vector<std::uint16_t> tls_ports{}; ///< TLS ports of the same nodes, if they have any
    std::string directory{};                ///< contains their unix sockets and their certificate
    std::vector<pid_t> servers;             ///< their CPU time is charged to the cycles
    unsigned concurrency = 1;
    std::chrono::duration<double> warm_up{0.1};
    std::chrono::duration<double> window{0.5};
    unsigned run_number = 0; ///< part of every key: keys left by an aborted run deny nothing
};

/// Trivially copyable: it travels through a pipe from the process that was measured.
struct result {
    std::uint64_t cycles = 0;
    std::uint64_t failed = 0; ///< cycles that did not reach both majorities
    double seconds = 0;
    double client_cpu_us_per_cycle = 0;
    double server_cpu_us_per_cycle = 0;
    double p50_us = 0;
    double p99_us = 0;
    double allocations_per_cycle = 0;
};

using cycle_client = result (*)(setup const&);

struct contestant {
    std::string_view name;
    cycle_client run;
    door way = door::tcp;
};

/// The cost of a held, self-renewing lease in its process' heap.
struct memory_result {
    std::uint64_t leases = 0;
    std::uint64_t failed = 0;
    double heap_bytes_per_lease = 0; ///< allocated on the heap, handle included, key and nonce not
    double rss_bytes_per_lease = 0;  ///< growth of the resident set, as it is
};

using lease_holder = memory_result (*)(setup const&, std::size_t leases);

/// The library's contestants; a build without the library has none.
std::vector<contestant> library_contestants();
lease_holder library_lease_holder();

inline constexpr std::size_t resource_name_length = 16;
inline constexpr std::size_t nonce_length = 32;

/// The path of a node's socket in a fleet's directory.
[[nodiscard]] std::string unix_socket_in(std::string const& directory, std::uint16_t port);

/// The name for a slot. It has the same length for every contestant, so that all send the same number of bytes.
std::string resource_name(unsigned run_number, unsigned slot);

} // namespace redlock::bench

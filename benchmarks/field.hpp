// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "processes.hpp"
#include "slow_network.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace redlock::bench {

/// Servers, and the network before them if there is one.
class field {
public:
    /// \param delay one way; zero: no network
    field(std::size_t nodes, std::chrono::microseconds delay, int server_cpu);

    /// The ports to which clients connect.
    [[nodiscard]] std::vector<std::uint16_t> const& doors() const { return doors_; }
    /// Commands that clients sent; zero without a network.
    [[nodiscard]] std::uint64_t sent() const { return network_ ? network_->commands() : 0; }
    /// Commands that servers executed, those inside scripts included.
    [[nodiscard]] std::uint64_t executed() const;
    /// CPU time of all servers.
    [[nodiscard]] double cpu_us() const;

private:
    redis_fleet fleet_;
    std::vector<std::uint16_t> servers_;
    std::vector<std::uint16_t> doors_;
    std::optional<slow_network> network_;
};

} // namespace redlock::bench

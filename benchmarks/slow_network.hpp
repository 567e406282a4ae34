// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "processes.hpp"
#include "shared_memory.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace redlock::bench {

/// Stands between clients and servers as a network does: what one end sends, the other gets in the same order a fixed
/// time later, however much it is. One process with one thread, which sleeps until a timer is due.
///
/// A timer (timerfd), and no spinning: a machine with two CPUs has none to spare for it. The kernel keeps such a timer
/// to some ten microseconds on a quiet machine, and does not stretch it as it does the time limits of epoll_wait.
class slow_network {
public:
    slow_network(std::span<std::uint16_t const> servers, std::chrono::microseconds one_way);

    /// The ports, one for each server, in their order.
    [[nodiscard]] std::span<std::uint16_t const> ports() const noexcept { return ports_; }
    /// The number of commands that clients have sent so far, without those inside scripts.
    [[nodiscard]] std::uint64_t commands() const { return commands_->load(); }

private:
    std::vector<std::uint16_t> ports_;
    shared_memory<std::atomic<std::uint64_t>> commands_;
    std::unique_ptr<child> forwarder_;
};

} // namespace redlock::bench

#pragma once

#include "core/fencing.hpp"
#include "core/lease_machine.hpp"
#include "lock/node_report.hpp"
#include "redis/command.hpp"
#include <redlock/lock_options.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace redlock::lock {

class engine;

enum class lock_kind : std::uint8_t { plain, fenced };

/// What a fenced lock has more than a plain one.
struct fence_state {
    redis::fenced_commands const commands;
    core::fence highest_seen = 0; ///< on any node; belongs to the client's executor
};

/// What all copies of a mutex, its acquisitions and its leases share: constant, but for the last table.
struct lock_state {
    lock_state(std::shared_ptr<engine> owner, std::string name, lock_options const& options, lock_kind);

    std::shared_ptr<engine> const client;
    std::string const name;
    lock_options const options;
    core::lease_terms const terms;
    core::duration const node_timeout;
    std::chrono::milliseconds const key_ttl;
    redis::lock_commands const commands;
    std::unique_ptr<fence_state> const fenced; ///< null: a plain lock

    /// Takes the rows over and leaves older ones for reuse.
    void publish(std::vector<node_report>& rows);
    [[nodiscard]] std::vector<node_outcome> last_attempt() const;

private:
    std::mutex mutable table_lock_;
    std::vector<node_report> table_;
};

} // namespace redlock::lock

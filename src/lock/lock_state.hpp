#pragma once

#include "core/fencing.hpp"
#include "core/lease_machine.hpp"
#include "core/tenure.hpp"
#include "redis/command.hpp"
#include <redlock/lock_options.hpp>
#include <redlock/node_outcome.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace redlock::lock {

class engine;
class resource;

enum class lock_kind : std::uint8_t { plain, fenced };

/// What all copies of a mutex, its acquisitions and its leases share. Constant.
struct lock_state {
    lock_state(std::shared_ptr<engine> owner, std::string name, lock_options const& options, lock_kind);

    std::shared_ptr<engine> const client;
    std::string const name;
    lock_options const options;
    core::lease_terms const terms;
    core::duration const node_timeout;
    std::chrono::milliseconds const key_ttl;
    redis::lock_commands const commands;
    std::unique_ptr<redis::fenced_commands> const fenced; ///< null: a plain lock
    core::tenure::terms const tenure;
    std::shared_ptr<resource> const wanted; ///< shared with the other locks of the same key

    [[nodiscard]] std::vector<node_outcome> last_attempt() const;
};

/// Do the keys that one of them sets live as long as those of the other, and carry the same?
[[nodiscard]] bool same_terms(lock_state const&, lock_state const&);

} // namespace redlock::lock

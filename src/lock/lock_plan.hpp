#pragma once

#include "core/lease_machine.hpp"
#include "core/tenure.hpp"
#include "redis/command.hpp"
#include <redlock/lock_options.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace redlock::lock {

class engine;

enum class lock_kind : std::uint8_t { plain, fenced };

/// What follows from a lock's options alone: the locks of one client that have the same ones share it. Constant.
struct lock_plan {
    lock_plan(std::shared_ptr<engine> owner, lock_options const&, lock_kind);

    std::shared_ptr<engine> const client;
    lock_options const options;
    core::lease_terms const terms;
    core::duration const node_timeout;
    std::chrono::milliseconds const key_ttl;
    core::tenure::terms const tenure;
    redis::lock_commands const commands;
    std::unique_ptr<redis::fenced_commands> const fenced; ///< null: plain locks
};

/// The plans that were used last, so that a hundred thousand locks do not each have one. Any thread.
class lock_plans {
public:
    [[nodiscard]] std::shared_ptr<lock_plan const> get(std::shared_ptr<engine> const& owner,
                                                       lock_options const&, lock_kind);

private:
    std::mutex guard_;
    std::array<std::weak_ptr<lock_plan const>, 8> recent_;
    std::size_t oldest_ = 0;
};

} // namespace redlock::lock

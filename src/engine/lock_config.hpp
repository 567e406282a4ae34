// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/batch_policy.hpp"
#include "core/instant.hpp"
#include "core/lease_machine.hpp"
#include "engine/all_options.hpp"
#include "kind/kind.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>

namespace redlock::detail {

class engine;
struct client_settings;
class runtime;

/// The configuration that follows from a lock's options. Locks of one client with the same options share it. Constant.
struct lock_config {
    lock_config(std::shared_ptr<engine> owner, runtime&, client_settings const&, all_options const&,
                redlock::kind::lock_kind const&, redlock::kind::lock_terms = {});

    std::shared_ptr<engine> const client; ///< kept alive
    runtime& on;
    client_settings const& settings;
    all_options const options;
    core::lease_terms const terms;
    core::duration const node_timeout;
    std::chrono::milliseconds const key_ttl;
    core::batch_policy::terms const batch_policy;
    std::unique_ptr<redlock::kind::commands const> const commands;
    redlock::kind::lock_kind const& kind;
    redlock::kind::lock_terms const kind_terms;

    /// Do operations wait in the queue, if they wait? Votes of readers and for permits heed it in any case (rule Q19).
    [[nodiscard]] bool queues() const { return options.fair || kind.heeds(); }
};

/// The configurations that were used last, so that a hundred thousand locks can share them. Any thread.
class lock_configs {
public:
    [[nodiscard]] std::shared_ptr<lock_config const> get(std::shared_ptr<engine> const& owner, runtime&,
                                                         client_settings const&, all_options const&,
                                                         kind::lock_kind const&, kind::lock_terms);

private:
    std::mutex guard_;
    std::array<std::weak_ptr<lock_config const>, 8> recent_;
    std::size_t oldest_ = 0;
};

} // namespace redlock::detail

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include <redlock/inspection.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace redlock::core {

/// One node's answer about a lock's key.
struct key_answer {
    enum class kind : std::uint8_t {
        unknown,
        absent,
        owned,
        several, ///< several owners share it: readers, or holders of permits
        no_lock, ///< data of another type: excludes every lock
    };
    kind what = kind::unknown;
    std::uint64_t owner = 0;                 ///< tells owners apart
    duration lives_at_least{};               ///< `duration::max()`: no expiry
    std::optional<duration> lives_at_most{}; ///< empty: not known, or no expiry
};

inline constexpr key_answer absent_key{.what = key_answer::kind::absent, .lives_at_most = duration::zero()};

/// The common answer of the nodes.
struct lock_verdict {
    lock_status status = lock_status::unknown;
    unsigned votes = 0;   ///< nodes that name the most frequent owner, or several owners
    unsigned free = 0;    ///< nodes without the key
    unsigned witness = 0; ///< one of these nodes
    /// The time until a majority is without the key, if no client changes it.
    duration taken_at_least{};
    std::optional<duration> taken_at_most{};
};

/// Counted over all nodes, never over those that answered. \param nodes at most `max_nodes`
[[nodiscard]] lock_verdict judge(std::span<key_answer const> nodes) noexcept;

} // namespace redlock::core

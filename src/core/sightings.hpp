// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include <redlock/inspection.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace redlock::core {

/// What one node told of a lock's key.
struct key_sighting {
    enum class kind : std::uint8_t {
        unknown,
        absent,
        owned,
        several, ///< of some who have it together, whoever they are: readers, or holders of permits
        no_lock, ///< of another type: in the way of every lock
    };
    kind what = kind::unknown;
    std::uint64_t owner = 0;                 ///< tells owners apart
    duration lives_at_least{};               ///< `duration::max()`: for ever
    std::optional<duration> lives_at_most{}; ///< empty: not known, or for ever
};

inline constexpr key_sighting absent_key{.what = key_sighting::kind::absent,
                                         .lives_at_most = duration::zero()};

/// What the nodes say together.
struct lock_verdict {
    lock_status status = lock_status::unknown;
    unsigned votes = 0;   ///< nodes that name one owner, the one whom most of them name; or that name several
    unsigned free = 0;    ///< nodes without the key
    unsigned witness = 0; ///< one that names this owner, or several
    /// Until a majority is without the key, if nobody changes it.
    duration taken_at_least{};
    std::optional<duration> taken_at_most{};
};

/// Counted over all nodes, never over those that answered. \param nodes at most `max_nodes`
[[nodiscard]] lock_verdict judge(std::span<key_sighting const> nodes) noexcept;

} // namespace redlock::core

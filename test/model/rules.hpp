// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/rule.hpp"

#include <cstdint>

namespace redlock::model {

/// Rules that stand in a script, or in what drives the core: the small world has its own copy of both, and can leave them out.
enum class rule : std::uint8_t {
    vote_only_if_free,
    vote_counts_up,
    release_compares,
    extend_compares,
    raise_only_while_ours,
    extension_bows_to_a_higher_fence,
    repair_only_what_is_gone,
    clock_before_the_first_byte,
    quarantine_after_a_restart,
    quarantine_covers_the_longest_key,
    quarantine_binds_the_holder,
    checked_when_handed_out,
    valid_reads_the_clock,
};

inline std::uint64_t rules_off = 0;

constexpr std::uint64_t bit(rule r)
{
    return std::uint64_t{1} << static_cast<unsigned>(r);
}

inline bool applies(rule r)
{
    return (rules_off & bit(r)) == 0;
}

} // namespace redlock::model

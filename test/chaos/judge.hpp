// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "chaos/journal.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace redlock::chaos {

struct verdict {
    std::vector<std::string> flaws{};
    std::uint64_t leases = 0;
    std::uint64_t refused = 0;
    std::uint64_t lost = 0; ///< leases whose loss was reported
    std::uint64_t writes = 0;
    std::uint64_t writes_late = 0;
    std::uint64_t latest_told = 0; ///< looks after the end
    std::uint64_t adopted = 0;     ///< leases that were left behind and confirmed
    std::uint64_t terms = 0;       ///< leases of the election
    std::uint64_t heard = 0;       ///< times that a program was told of the leader
    std::uint64_t changes = 0;     ///< completed changes of nodes
};

/// \param entries in the order of their instants
[[nodiscard]] verdict judge(std::vector<entry> const& entries);

[[nodiscard]] std::string describe(entry const&);

} // namespace redlock::chaos

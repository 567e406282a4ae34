#pragma once

#include "core/instant.hpp"
#include "engine/node_report.hpp"

#include <cstddef>
#include <vector>

namespace redlock::detail {

/// What each node last said of a lease, and when. Not part of the lease: while every node confirms there is none.
struct lease_record {
    explicit lease_record(std::size_t nodes) : rows(nodes), when(nodes) {}

    std::vector<node_report> rows;   ///< pending: silent since then
    std::vector<core::instant> when; ///< zero: not asked since the lock was won, and it had not granted
    core::instant confirmed;         ///< by a majority
    core::instant ended;             ///< zero: it goes on
    core::duration late{};           ///< so long this client's thread did not run while something was due
    bool proven = true;              ///< it has been confirmed at all
};

} // namespace redlock::detail

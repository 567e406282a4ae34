// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/tally.hpp"
#include "engine/node_report.hpp"
#include "kind/kind.hpp"
#include <redlock/node_outcome.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace redlock::detail {

/// Each node's answer to the last attempt on a key that was decided. Written on the client's executor, read by any thread.
/// The guard is an argument: all keys share it, because their tables are seldom asked for.
class attempt_table {
public:
    /// Takes the rows over and leaves as many older ones for reuse. Without memory for a first table there is none.
    void publish(std::mutex& guard, std::vector<node_report>& rows) noexcept;
    /// The same of an attempt that was won. If nodes did nothing but grant it, only which ones is kept.
    void publish_success(std::mutex& guard, std::vector<node_report>& rows) noexcept;
    void publish_grants(std::mutex& guard, core::node_set granted) noexcept;
    /// \param nodes their number
    void note_holder(std::mutex& guard, unsigned node, unsigned nodes, kind::key_observation const&) noexcept;
    /// \param nodes their names, in order
    /// \param several the names of a lock that has several
    [[nodiscard]] std::vector<node_outcome> outcomes(std::mutex& guard, std::vector<std::string> const& nodes,
                                                     std::span<std::string const> several = {}) const;

private:
    using table = std::vector<node_report>;

    [[nodiscard]] bool has_table() const { return table_ && !table_->empty(); }
    [[nodiscard]] table& make_table();

    std::atomic<core::node_set> granted_{}; ///< in the last attempt that was plainly won
    std::unique_ptr<table> table_;          ///< after one that was not; otherwise empty, or null
};

} // namespace redlock::detail

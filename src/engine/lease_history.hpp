// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "core/lease_machine.hpp"
#include "core/tally.hpp"
#include "engine/node_report.hpp"
#include <redlock/node_outcome.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace redlock::detail {

/// Each node's last answer about a lease, and its time: for operators. While every node confirms, nothing is kept. Written
/// on the client's executor alone, and read by any thread under the guard, which all leases share. Without memory nothing
/// is kept.
class lease_history {
public:
    struct record : boost::intrusive_ref_counter<record> {
        explicit record(std::size_t nodes) : rows(nodes), when(nodes) {}

        std::vector<node_report> rows;   ///< pending: silent since then
        std::vector<core::instant> when; ///< zero: not asked since the lock was won, and it had not granted
        core::instant confirmed;         ///< by a majority
        core::instant ended;             ///< zero: it goes on
        core::duration late{};           ///< how long this client's thread did not run while work was due
        bool confirmed_once = true;      ///< it has been confirmed at all
    };

    [[nodiscard]] bool empty() const { return !record_; }

    void keep(std::mutex& guard, core::lease_facts const&, unsigned node, node_report&&,
              core::instant now) noexcept;
    /// Shares the record of another lease of the same key, with which this one is lost.
    void share(std::mutex& guard, lease_history const&) noexcept;
    /// A majority has confirmed it.
    void confirm(std::mutex& guard, core::lease_facts const&) noexcept;
    /// A round begins. If all nodes confirmed the last one, the record is dropped.
    void begin_round(std::mutex& guard, core::lease_facts const&) noexcept;
    /// The lease is lost. Its record does not change any more.
    /// \param late how long this client's thread did not run, if that is the cause
    /// \param silent nodes whose answers the last round awaits
    void close(std::mutex& guard, core::lease_facts const&, core::node_set silent, core::duration late,
               core::instant now) noexcept;

    /// ": last confirmed 5.0 s ago; ..." and what each node said. Any thread.
    /// \param names of the nodes
    /// \param several the names of a lock that has several
    void tell(std::mutex& guard, core::instant now, std::vector<std::string> const& names,
              std::span<std::string const> several, std::string& text,
              std::vector<node_outcome>& table) const;

private:
    [[nodiscard]] bool open(core::lease_facts const&) noexcept;

    boost::intrusive_ptr<record> record_; ///< null: all nodes confirm
};

} // namespace redlock::detail

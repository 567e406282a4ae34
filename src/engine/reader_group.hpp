// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"

#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <cstddef>
#include <vector>

namespace redlock::detail {

class held_lease;

/// Readers of one client that share one key on the nodes (docs/protocol.md, rule S18). The leader renews the key, and the
/// followers rely on what the leader has confirmed. The last member gives the key back. Each member counts as a reference.
struct reader_group final : boost::intrusive_ref_counter<reader_group, boost::thread_unsafe_counter> {
    /// \param since when the first of them won the key, on CLOCK_BOOTTIME
    reader_group(held_lease& first, core::duration since) : members{&first}, won(since) {}

    [[nodiscard]] held_lease& leader() const { return *members.front(); }
    void put(std::size_t place, held_lease& member);
    void erase(held_lease& member);
    void lead(held_lease& follower);
    /// Prefers one that may lead. There is one.
    [[nodiscard]] held_lease& next_leader() const;

    std::vector<held_lease*> members; ///< the leader first
    core::duration const won;
};

} // namespace redlock::detail

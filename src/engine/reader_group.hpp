// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"

#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace redlock::detail {

class held_lease;

/// Readers of one client that share one key on the nodes (docs/protocol.md, rule S18). The leader renews the key, and the
/// followers rely on what the leader has confirmed. The last member gives the key back. Each member counts as a reference.
class reader_group final : public boost::intrusive_ref_counter<reader_group, boost::thread_unsafe_counter> {
public:
    /// \param won when the first of them won the key, on CLOCK_BOOTTIME
    reader_group(held_lease& leader, core::duration won) : leader_(&leader), won_(won) {}

    [[nodiscard]] held_lease& leader() const { return *leader_; }
    [[nodiscard]] core::duration won() const { return won_; }

    /// Takes the memory for one more follower, which has to be added then. \throws std::bad_alloc
    void make_room() { followers_.push_back(nullptr); }
    void add(held_lease& follower);
    [[nodiscard]] bool has_others() const { return !followers_.empty(); }
    /// A member leaves, which others follow or lead. If it leads, the next leader takes over.
    void remove(held_lease&);
    /// A leader that may not lead any more leaves it to a follower that may, if there is one.
    void pass_lead();
    /// Calls this for each follower, which may leave meanwhile.
    template <class Told>
    void tell_followers(Told const& told) const
    {
        for (std::size_t i = followers_.size(); i != 0; --i)
            told(*followers_[i - 1]); // the last takes the place of one that leaves
    }
    /// The group ends with its leader.
    [[nodiscard]] std::vector<held_lease*> take_followers() { return std::exchange(followers_, {}); }

private:
    void erase(held_lease& follower);
    [[nodiscard]] held_lease& next_leader() const;

    held_lease* leader_;
    std::vector<held_lease*> followers_;
    core::duration won_;
};

} // namespace redlock::detail

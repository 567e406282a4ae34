// SPDX-License-Identifier: BSL-1.0
#include "engine/held_lease.hpp"

#include <utility>

// How a leader tells who it is, and how it resigns (docs/protocol.md, rules EL2 and EL6).
namespace redlock::detail {

/// A round that is under way may have told the nodes something else.
// rule EL2
void held_lease::proclaim(std::unique_ptr<proclamation> said, wait_op& w)
{
    if (lose_if_over())
        leave_key();
    if (machine_.over())
        return w.finish(why_over());
    said->replace(fencing_token(), proclaimed_.get());
    proclaimed_ = std::move(said);
    waiting_.push_back(w);
    if (machine_.extending())
        w.wait_for_another_round();
    else
        start_extension();
}

/// Its keys may be another's by now: that a node says so is as good as its release.
// rule EL6
void held_lease::resign(wait_op& w)
{
    bool const unconfirmed = machine_.phase() == core::lease_phase::released && !on().life.closing() &&
                             !release_.confirmed(nodes().size());
    if (!unconfirmed)
        return release(w);
    waiting_.push_back(w);
    if (releasing_)
        return;
    release_ = {};
    may_be_claimed_ = true;
    releasing_ = true;
    on().life.release_began();
    on().loop().schedule_after(*this, lock().plan->node_timeout);
    release_on(nodes().all());
}

} // namespace redlock::detail

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
    if (over())
        return w.finish(why_over());
    said->replace(fencing_token(), static_cast<proclamation const*>(words_.get())); // a leader has no others
    words_ = std::move(said);
    waiting_.push_back(w);
    if (kept().extending())
        w.wait_for_another_round();
    else
        start_extension();
}

/// Its keys may be another's by now: a node that says so is as good as its release.
// rule EL6
void held_lease::resign(wait_op& w)
{
    parting* const leaves = parted();
    bool const unconfirmed = leaves && !on().life.closing() && !leaves->is_confirmed();
    if (!unconfirmed)
        return release(w);
    waiting_.push_back(w);
    if (leaves->under_way)
        return;
    leaves->begin();
    leaves->may_be_claimed = true;
    on().life.release_began();
    on().loop().schedule_after(*this, lock().plan->node_timeout);
    release_on(nodes().all(), kind::request::release);
}

} // namespace redlock::detail

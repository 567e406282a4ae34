// SPDX-License-Identifier: BSL-1.0
#include "engine/lifecycle.hpp"

#include <utility>

namespace redlock::detail {

void lifecycle::for_each_lock(std::function<void(lock_descriptor const&)> const& visit) const
{
    for (list const* const all : {&operations_, &leases_})
        for (activity const& each : *all)
            if (lock_descriptor const* const lock = each.wanted_lock())
                visit(*lock);
}

void lifecycle::keep_connections()
{
    if (closed_)
        return;
    nodes_.keep_connected(busy());
    if (!busy())
        backlog_.fetch_nodes();
}

void lifecycle::release_ended(bool confirmed)
{
    --releasing_;
    if (!closing_)
        return;
    all_released_ = all_released_ && confirmed;
    run_closer_if_done();
}

void lifecycle::rollback_ended(bool confirmed)
{
    --rolling_back_;
    if (!closing_ || closed_)
        return;
    all_released_ = all_released_ && confirmed;
    run_closer_if_done();
}

void lifecycle::stop_waiting()
{
    rollback_too_long_ = rolling_back_ != 0;
    all_released_ = all_released_ && !rollback_too_long_;
    run_closer_if_done();
}

/// The closer runs in a later turn, because the last release may fail while a node still processes other failures.
void lifecycle::run_closer_if_done()
{
    if (may_close())
        loop_.enqueue(closer_);
}

void lifecycle::retire()
{
    retired_ = true;
    for (activity& operation : operations_) // each stays listed until its task has run
        operation.on_retired();
    see_whether_drained();
}

bool lifecycle::close()
{
    return !std::exchange(closed_, true);
}

} // namespace redlock::detail

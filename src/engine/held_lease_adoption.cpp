// SPDX-License-Identifier: BSL-1.0
#include "core/fencing.hpp"
#include "engine/held_lease.hpp"

#include <chrono>
#include <utility>

// How a lease is left behind, and how another client goes on with it (docs/protocol.md, rule H9).
namespace redlock::detail {

namespace {

/// How often it looks whether nodes have been connected.
constexpr core::duration look_again = std::chrono::milliseconds{2};

} // namespace

// rule S12
void held_lease::detach()
{
    take_up();
    if (downgraded_) // no client may go on with it
        return handle_gone();
    taken_back_ = true; // its keys stay, also where it turned out to be lost
    if (has_ended())
        return;
    bool const others = leave_group();
    give_up(errc::released, others ? event::released : event::detached);
    if (!others)
        leave_key();
}

held_lease::held_lease(std::shared_ptr<lock_state> its, nonce const& owner, std::uint64_t fencing_token,
                       core::instant now)
    : lease_status(std::move(its),
                   {owner, fencing_token >> core::hand_off_bits,
                    static_cast<unsigned>(fencing_token & core::max_hand_offs), 0, core::duration::zero()},
                   now),
      stage_(std::in_place_type<keeping>,
             core::lease_machine::adopted(lock().plan->terms, nodes().size(), now)),
      reached_(nodes().all())
{
    show(lease_state::suspect);
}

boost::intrusive_ptr<held_lease> adopt_lease(std::shared_ptr<lock_state> const& lock, nonce const& owner,
                                             std::uint64_t fencing_token)
{
    void* const block = lock->plan->on.lease_blocks.take();
    lock->plan->on.life.expect_lease();
    return {::new (block) held_lease(lock, owner, fencing_token, lock->plan->on.its.read_clocks())};
}

/// Its time begins with the first operation, not with the object.
// rule H9
void held_lease::take_up()
{
    if (begun_)
        return;
    begun_ = true;
    if (on().life.closing()) {
        shut_down_ = true;
        (void)kept().release();
        publish(lease_state::released);
        return on().life.lease_came();
    }
    core::instant const now = on().loop().now();
    stage_.emplace<keeping>(core::lease_machine::adopted(lock().plan->terms, nodes().size(), now));
    began_ = now.boot;
    progress();
    on().life.begin_lease(*this);
    lock().wanted->adopted(*this);
    schedule();
    on().life.lease_came();
}

/// A client that adopts has often just been started. As an acquisition does, it waits until a majority is connected, and a
/// moment for the others.
bool held_lease::wait_for_nodes()
{
    nodes().connect_for(lock());
    core::duration const waited = on().loop().now().boot - began_;
    core::duration const patience =
        nodes().has_majority(lock()) ? lock().plan->node_timeout : on().its.settings().connect_timeout;
    bool const waits = nodes().awaits_voters(lock()) && waited < patience;
    if (waits)
        on().loop().schedule_after(*this, look_again);
    return waits;
}

} // namespace redlock::detail

// SPDX-License-Identifier: BSL-1.0
#include "core/fencing.hpp"
#include "engine/held_lease.hpp"
#include "engine/key_state.hpp"
#include "engine/waiter.hpp"

#include <chrono>
#include <cstddef>
#include <utility>

// How a lease ends: lost, given up, passed on, or left to another client, and how that one goes on with it.
namespace redlock::detail {

namespace {

/// The pause between two looks at whether nodes have been connected.
constexpr core::duration look_again = std::chrono::milliseconds{2};

} // namespace

void held_lease::await_end(wait_op& w)
{
    begin_if_adopted();
    if (over())
        return w.finish(why_over());
    w.wait_for_the_end();
    waiting_.push_back(w);
}

/// Returns the error for an operation that comes after the end.
errc held_lease::why_over() const
{
    return shut_down_ ? errc::shut_down : is_lost() ? errc::lease_lost : errc::released;
}

loss_cause held_lease::find_cause() const
{
    using loss = core::lease_machine::loss;
    switch (kept().cause()) {
    case loss::refused: return loss_cause::refused;
    case loss::hold_ended: return loss_cause::max_hold;
    default: return kept().stalled ? loss_cause::stalled : loss_cause::expired;
    }
}

void held_lease::lose()
{
    core::instant const now = on().loop().read_clock();
    bool const shares =
        follows() && kept().cause() != core::lease_machine::loss::hold_ended && renewer().kept().lost_at(now);
    if (shares)
        history_.share(lock().key->tables(), renewer().history_);
    auto const& last = (shares ? renewer() : *this).kept();
    auto const known = last.facts(); // a copy, as all of these: the group may end
    auto const silent = last.silent();
    auto const late_by = last.late_by(last.round_ends(lock().config->node_timeout), now);
    auto const ended = end_group();
    loss_cause const why = find_cause();
    auto const late = why == loss_cause::expired ? late_by : core::duration::zero();
    history_.close(lock().key->tables(), known, silent, late, now);
    publish_cause(why);
    show(lease_state::lost);
    tell_loss();
    stop_watching();
    end(errc::lease_lost);
    for (std::size_t i = 1; ended && i != ended->members.size(); ++i)
        ended->members[i]->lose_with(*this);
}

void held_lease::end(errc reason)
{
    shut_down_ = reason == errc::shut_down;
    on().loop().cancel(*this);
    on().life.end_lease(*this);
    if (permits())
        --lock().key->leases_with_permits;
    finish_all(waiting_, reason);
}

/// User code may have run for long since this turn began.
void held_lease::handle_gone()
{
    on().loop().read_clock();
    release(nullptr);
}

void held_lease::release(wait_op* waits)
{
    begin_if_adopted();
    apply_clock(on().loop().now());
    if (is_lost()) {
        delete_keys();
        tell_key_of_end();
    }
    bool const ended = over();
    if (!ended && !lock().key->hand_over(*this))
        return release_keys(errc::released, waits);
    if (waits)
        waits->finish(ended ? make_error_code(why_over()) : boost::system::error_code());
}

/// Others may go on with the key.
void held_lease::release_keys(errc why, wait_op* waits)
{
    bool const others = leave_group();
    give_up(why);
    if (waits)
        waiting_.push_back(*waits);
    if (others)
        return finish_all(waiting_, {});
    start_release(lock().config->queues() && !on().life.closing());
    // Nodes report key changes until the connections end. The queue must not pass such reports to this lease.
    tell_key_of_end();
}

void held_lease::abort(boost::system::error_code why)
{
    if (why == errc::shut_down) {
        // Another thread may destroy the handle as soon as the lease is shown to be released.
        boost::intrusive_ptr<held_lease> const kept_alive(this);
        return release_keys(errc::shut_down);
    }
    group_ = nullptr;      // the context goes, and takes all of them
    if (releasing_stage()) // its release was put off
        return link.unlink();
    kept().watching = false;
    kept().release();
    publish(lease_state::lost);
    on().loop().cancel(*this);
    on().life.end_lease(*this);
}

bool held_lease::may_go_on_as(lock_descriptor const& next_lock) const
{
    if (!same_times(lock(), next_lock) || !next_lock.config->options.renew || !is_certain() ||
        on().life.closing())
        return false;
    return handovers() < type().most_handoffs && remaining() >= next_lock.config->options.ttl / 2;
}

// rule W4
boost::intrusive_ptr<held_lease> held_lease::pass_to(waiter const& to)
{
    bool const may =
        type().passes_to == kind::handoff::next && same_terms(lock(), *to.lock()) && may_go_on_as(*to.lock());
    void* const block = may ? on().lease_blocks.try_take() : nullptr;
    if (!block)
        return nullptr;
    boost::intrusive_ptr<held_lease> made(
        ::new (block) held_lease(to.lock(), *this, to.attempts(), to.waited(on().loop().now())));
    give_up(errc::released, event::handed_over);
    made->begin();
    return made;
}

/// Ends the lease without telling the nodes: the caller releases its keys, passes them on, or leaves them there.
/// \param reason for operations that wait
/// \param how for the observer
void held_lease::give_up(errc reason, event how)
{
    kept().release();
    publish(lease_state::released);
    tell(how);
    stop_watching();
    stage_.emplace<releasing>(kept().facts()); // a copy: kept() ends here
    end(reason);
}

void held_lease::delete_keys()
{
    if (on().life.closing() || deletion_settled_)
        return;
    deletion_settled_ = true;
    on().rollbacks.try_start(owed(), nodes().all(), reached_);
}

// rule S12
void held_lease::detach()
{
    begin_if_adopted();
    if (downgraded_) // an adopting client would not know which downgrades are under way
        return handle_gone();
    deletion_settled_ = true; // the keys stay on the nodes, even if this lease is found to be lost
    if (end_if_expired())
        return;
    bool const others = leave_group();
    give_up(errc::released, others ? event::released : event::detached);
    if (!others)
        tell_key_of_end();
}

held_lease::held_lease(lock_ptr its, nonce const& owner, std::uint64_t fencing_token, core::instant now)
    : lease_status(std::move(its),
                   {owner, fencing_token >> core::hand_off_bits, core::hand_offs_of(fencing_token), 0,
                    core::duration::zero()},
                   now),
      stage_(std::in_place_type<keeping>,
             core::lease_machine::adopted(lock().config->terms, nodes().size(), now)),
      reached_(nodes().all())
{
    show(lease_state::suspect);
}

boost::intrusive_ptr<held_lease> adopt_lease(lock_ptr const& lock, nonce const& owner,
                                             std::uint64_t fencing_token)
{
    void* const block = lock->config->on.lease_blocks.take();
    lock->config->on.life.expect_lease();
    return {::new (block) held_lease(lock, owner, fencing_token, lock->config->on.its.read_clocks())};
}

/// Begins an adopted lease. The time of the lease begins with the first operation, not with the object.
// rule H9
void held_lease::begin_if_adopted()
{
    if (begun_)
        return;
    begun_ = true;
    if (on().life.closing()) {
        shut_down_ = true;
        kept().release();
        publish(lease_state::released);
        return on().life.lease_came();
    }
    core::instant const now = on().loop().now();
    stage_.emplace<keeping>(core::lease_machine::adopted(lock().config->terms, nodes().size(), now));
    began_ = now.boot;
    progress();
    on().life.begin_lease(*this);
    lock().key->adopted(*this);
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
        nodes().has_majority(lock()) ? lock().config->node_timeout : on().its.settings().connect_timeout;
    extension_owed_ = nodes().awaits_voters(lock()) && waited < patience;
    if (extension_owed_)
        on().loop().schedule_after(*this, look_again);
    return extension_owed_;
}

} // namespace redlock::detail

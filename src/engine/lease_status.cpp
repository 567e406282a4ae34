// SPDX-License-Identifier: BSL-1.0
#include "engine/lease_status.hpp"

#include <algorithm>
#include <utility>

namespace redlock::detail {

lease_status::lease_status(lock_ptr lock, origin const& from, core::instant begun)
    : lock_(std::move(lock)), deadline_boot_(0), deadline_raw_(0), progressed_(begun.boot.count()),
      waited_(from.waited), number_(from.number), nonce_(from.owner), attempts_(from.attempts),
      handovers_(static_cast<std::uint16_t>(from.handovers)), votes_(0), shared_(lock_->config->kind.shared)
{}

/// The smaller of two deadlines counts, so a reading between the two stores of an extension is too short, never too long.
// rule H1
core::duration lease_status::remaining() const
{
    if (published() != lease_state::held || on().its.forked())
        return core::duration::zero();
    core::instant const deadline = published_deadline();
    return std::max(core::remaining(deadline, on().its.read_clocks()), core::duration::zero());
}

/// A reader's token is above those of the writer before it, and of all owners that the writer's lock was handed to.
// rule S16
std::uint64_t lease_status::fencing_token() const
{
    return number() == 0 ? 0
                         : core::fencing_token(number(), is_shared() ? core::readers_hand_off : handovers_);
}

void lease_status::progress()
{
    progressed_.store(on().its.read_clocks().boot.count(), std::memory_order_relaxed);
}

lease_state lease_status::state() const
{
    auto const s = published();
    if ((s == lease_state::held || s == lease_state::suspect) && on().its.forked())
        return lease_state::lost;
    bool const overdue = s == lease_state::held && remaining() == core::duration::zero();
    if (!overdue)
        return s;
    return lock_->config->terms.tolerate_suspect ? lease_state::suspect : lease_state::lost;
}

loss_cause lease_status::cause() const
{
    auto const told = cause_.load(std::memory_order_acquire);
    return told == loss_cause::none && !released() && on().its.forked() ? loss_cause::forked : told;
}

void lease_status::publish(lease_state s, core::lease_machine const& machine)
{
    core::instant const deadline = machine.deadline();
    deadline_boot_.store(deadline.boot.count(), std::memory_order_release);
    deadline_raw_.store(deadline.raw.count(), std::memory_order_release);
    publish_votes(machine);
    state_.store(s, std::memory_order_release);
}

} // namespace redlock::detail

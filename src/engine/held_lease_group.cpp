// SPDX-License-Identifier: BSL-1.0
// rule S18
#include "engine/held_lease.hpp"
#include "engine/key_state.hpp"

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

// The readers of one client that share a key (docs/protocol.md, rule S18).
namespace redlock::detail {

void reader_group::add(held_lease& follower)
{
    follower.group_index = static_cast<std::uint32_t>(followers_.size() - 1);
    followers_.back() = &follower;
}

void reader_group::remove(held_lease& one)
{
    if (leader_ != &one)
        return erase(one);
    leader_ = &next_leader();
    erase(*leader_);
    leader_->take_lead(one);
}

void reader_group::pass_lead()
{
    if (followers_.empty() || leader_->may_lead() || !next_leader().may_lead())
        return;
    held_lease& before = *leader_;
    remove(before);
    make_room(); // in the memory of the one that leads now
    add(before);
    before.leave_lead_to(*leader_);
}

void reader_group::erase(held_lease& one)
{
    held_lease* const last = followers_.back();
    followers_[one.group_index] = last;
    last->group_index = one.group_index;
    followers_.pop_back();
}

/// Prefers one that may lead.
held_lease& reader_group::next_leader() const
{
    auto const able = std::ranges::find_if(followers_, &held_lease::may_lead);
    return able == followers_.end() ? *followers_.back() : **able;
}

bool held_lease::may_be_joined(lock_state const& by) const
{
    core::duration const won = group_ ? group_->won() : began_;
    core::lease_terms const& ours = lock().plan->terms;
    bool const alike = ours.renew && ours.tolerate_suspect == by.plan->terms.tolerate_suspect &&
                       lock().plan->kind.as_reader == &by.plan->kind;
    bool const lately = on().loop().now().boot - won < by.plan->batch_policy.period;
    return is_shared() && alike && may_go_on_as(by) && lately;
}

boost::intrusive_ptr<held_lease> held_lease::join(void* block, std::shared_ptr<lock_state> const& by,
                                                  core::duration waited, unsigned attempts)
{
    try {
        if (!group_)
            group_ = new reader_group(*this, began_);
        group_->make_room();
    } catch (std::bad_alloc const&) {
        on().lease_blocks.give(block);
        return nullptr;
    }
    boost::intrusive_ptr<held_lease> made(::new (block) held_lease(by, *this, attempts, waited));
    made->group_ = group_;
    group_->add(*made);
    made->kept().follow(kept());
    made->begin();
    pass_lead();
    return made;
}

/// \return do others go on with the key?
bool held_lease::leave_group()
{
    auto const left = std::exchange(group_, nullptr);
    if (!left || !left->has_others())
        return false;
    taken_back_ = true; // it is theirs
    left->remove(*this);
    return true;
}

bool held_lease::may_lead() const
{
    return kept().may_renew() && !hangs();
}

bool held_lease::leave_to_others(errc why)
{
    if (!leave_group())
        return false;
    give_up(why);
    return true;
}

/// Asks again: the answers to an open round come to the former leader.
void held_lease::take_lead(held_lease& before)
{
    bool const extending = before.kept().extending();
    reached_.insert(before.reached_);
    history_.share(lock().wanted->tables(), before.history_);
    downgraded_ = downgraded_ || before.downgraded_;
    kept().lead(before.kept());
    lock().wanted->led_by(before, *this);
    extending ? start_extension() : schedule();
}

void held_lease::leave_lead_to(held_lease const& other)
{
    kept().follow(other.kept());
}

void held_lease::pass_lead()
{
    if (group_ && !follows())
        group_->pass_lead();
}

void held_lease::follow()
{
    if (lose_if_over()) // its own time may be, and it does not come back (rule H7)
        return leave_key();
    if (over())
        return;
    kept().follow(leader().kept());
    show(lease_state::held);
    finish_extension({});
    schedule();
}

/// The key is lost to all of them, but not if only this one's time is over.
std::vector<held_lease*> held_lease::end_group()
{
    if (!group_ || follows() || kept().cause() == core::lease_machine::loss::hold_ended) {
        (void)leave_group();
        return {};
    }
    auto others = group_->take_followers();
    for (held_lease* const each : others) {
        intrusive_ptr_add_ref(each); // until it is told
        each->group_ = nullptr;
    }
    group_ = nullptr;
    return others;
}

void held_lease::lose_with(held_lease const& leader)
{
    taken_back_ = true; // by the one that has led
    if (!over()) {
        history_.share(lock().wanted->tables(), leader.history_);
        kept().lose_with(leader.kept());
        lose();
        leave_key();
    }
    intrusive_ptr_release(this);
}

} // namespace redlock::detail

// SPDX-License-Identifier: BSL-1.0
// rule S18
#include "engine/held_lease.hpp"

#include <algorithm>
#include <new>
#include <utility>

// Readers of one client who share one key on the nodes (docs/protocol.md, rule S18). The one that leads renews it; the others
// follow what it has confirmed; the last one gives it back.
namespace redlock::detail {

bool held_lease::may_be_joined(lock_state const& by) const
{
    core::duration const won = group_ ? group_->won : began_;
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
            group_ = new group{this, {}, began_};
        group_->followers.push_back(nullptr);
    } catch (std::bad_alloc const&) {
        on().lease_blocks.give(block);
        return nullptr;
    }
    boost::intrusive_ptr<held_lease> made(::new (block) held_lease(by, *this, attempts, waited));
    made->group_ = group_;
    made->among_ = static_cast<std::uint32_t>(group_->followers.size() - 1);
    group_->followers.back() = made.get();
    made->machine_.follow(machine_);
    made->begin();
    pass_lead();
    return made;
}

/// True: others go on with the key.
bool held_lease::leave_group()
{
    group* const left = std::exchange(group_, nullptr);
    if (!left)
        return false;
    if (left->followers.empty()) {
        delete left;
        return false;
    }
    taken_back_ = true; // it is theirs
    if (left->leader != this) {
        left->remove(*this);
        return true;
    }
    held_lease& leads = left->next_leader();
    left->remove(leads);
    left->leader = &leads;
    leads.take_lead(*this);
    return true;
}

void held_lease::group::remove(held_lease& one)
{
    held_lease* const last = followers.back();
    followers[one.among_] = last;
    last->among_ = one.among_;
    followers.pop_back();
}

/// One that may, if there is one.
held_lease& held_lease::group::next_leader() const
{
    auto const able = std::ranges::find_if(followers, &held_lease::may_lead);
    return able == followers.end() ? *followers.back() : **able;
}

/// It has time left to renew the key, and gets on (rule H8).
bool held_lease::may_lead() const
{
    return machine_.may_renew() && !hangs();
}

bool held_lease::leave_to_others(errc why)
{
    if (!leave_group())
        return false;
    give_up(why);
    return true;
}

/// Repeats an extension that is under way: its answers go to the former leader.
void held_lease::take_lead(held_lease& before)
{
    bool const extending = before.machine_.extending();
    failed_ = before.failed_;
    reached_.insert(before.reached_);
    history_.share(lock().wanted->tables(), before.history_);
    downgraded_ = downgraded_ || before.downgraded_;
    machine_.lead(before.machine_);
    lock().wanted->led_by(before, *this);
    extending ? start_extension() : schedule();
}

/// A leader that may not lead any more leaves the key to a follower that may, if there is one.
void held_lease::pass_lead()
{
    if (!group_ || group_->followers.empty() || may_lead() || !group_->next_leader().may_lead())
        return;
    group& ours = *group_;
    (void)leave_group();
    taken_back_ = false;
    among_ = static_cast<std::uint32_t>(ours.followers.size());
    ours.followers.push_back(this); // in the place of the one that leads now
    group_ = &ours;
    machine_.follow(ours.leader->machine_);
}

void held_lease::follow()
{
    if (lose_if_over()) // its own time may be, and it does not come back (rule H7)
        return leave_key();
    machine_.follow(leader().machine_);
    show(lease_state::held);
    finish_extension({});
    schedule();
}

/// The key is lost to all of them, but not if only this one's time is over.
std::vector<held_lease*> held_lease::end_group()
{
    bool const all = group_ && !follows() && machine_.cause() != core::lease_machine::loss::hold_ended;
    if (!all) {
        (void)leave_group();
        return {};
    }
    auto others = std::move(group_->followers);
    for (held_lease* const each : others) {
        intrusive_ptr_add_ref(each); // until it is told
        each->group_ = nullptr;
    }
    delete std::exchange(group_, nullptr);
    return others;
}

void held_lease::lose_with(held_lease const& leader)
{
    taken_back_ = true; // by the one that has led
    stalled_ = leader.stalled_;
    failed_ = leader.failed_;
    history_.share(lock().wanted->tables(), leader.history_);
    machine_.lose_with(leader.machine_);
    lose();
    leave_key();
    intrusive_ptr_release(this);
}

/// The context goes, and takes all of them.
void held_lease::forget_group()
{
    group* const ours = group_;
    if (!ours)
        return;
    ours->leader->group_ = nullptr;
    for (held_lease* const each : ours->followers)
        each->group_ = nullptr;
    delete ours;
}

} // namespace redlock::detail

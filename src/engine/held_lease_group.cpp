// SPDX-License-Identifier: BSL-1.0
// rule S18
#include "core/memory.hpp"
#include "engine/held_lease.hpp"
#include "engine/key_state.hpp"
#include "engine/waiter.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

// The readers of one client that share a key (docs/protocol.md, rule S18).
namespace redlock::detail {

void reader_group::put(std::size_t place, held_lease& member)
{
    members[place] = &member;
    member.group_index = static_cast<std::uint32_t>(place);
}

void reader_group::erase(held_lease& member)
{
    put(member.group_index, *members.back());
    members.pop_back();
}

void reader_group::make_renewer(held_lease& follower)
{
    put(follower.group_index, renewer());
    put(0, follower);
}

held_lease& reader_group::next_renewer() const
{
    auto const able =
        std::find_if(members.begin() + 1, members.end(), std::mem_fn(&held_lease::may_renew_for_group));
    return able == members.end() ? *members.back() : **able;
}

bool held_lease::may_be_joined(lock_descriptor const& by) const
{
    core::duration const won = group_ ? group_->won : began_;
    core::lease_terms const& ours = lock().config->terms;
    bool const alike = ours.renew && ours.tolerate_suspect == by.config->terms.tolerate_suspect &&
                       lock().config->kind.as_reader == &by.config->kind;
    bool const lately = on().loop().now().boot - won < by.config->batch_policy.period;
    return is_shared() && alike && may_go_on_as(by) && lately;
}

boost::intrusive_ptr<held_lease> held_lease::join(waiter const& by)
{
    void* const block = may_be_joined(*by.lock()) ? on().lease_blocks.try_take() : nullptr;
    if (!block)
        return nullptr;
    bool const has_room = core::if_memory_allows([this] {
        if (!group_)
            group_ = new reader_group(*this, began_);
        group_->members.push_back(nullptr);
    });
    if (!has_room) {
        on().lease_blocks.give(block);
        return nullptr;
    }
    boost::intrusive_ptr<held_lease> made(
        ::new (block) held_lease(by.lock(), *this, by.attempts(), by.waited(on().loop().now())));
    made->group_ = group_;
    group_->put(group_->members.size() - 1, *made);
    made->kept().follow(kept());
    made->begin();
    pass_renewal();
    return made;
}

/// \return do others go on with the key?
bool held_lease::leave_group()
{
    auto const left = std::exchange(group_, nullptr);
    if (!left || left->members.size() == 1)
        return false;
    deletion_settled_ = true; // the key belongs to the other members
    bool const was_renewer = &left->renewer() == this;
    if (was_renewer)
        left->make_renewer(left->next_renewer());
    left->erase(*this);
    if (was_renewer)
        left->renewer().become_renewer(*this);
    return true;
}

/// Becomes the member that renews the key. If a round is open, a new one starts in the next turn, because the answers to the
/// open round go to the former member. More members may leave in this turn.
void held_lease::become_renewer(held_lease& before)
{
    bool const extending = before.kept().extending();
    reached_.insert(before.reached_);
    kept().become_renewer(before.kept());
    lock().key->renewed_by(before, *this);
    if (before.group_) // it stays
        before.kept().follow(kept());
    extension_owed_ = extending || before.extension_owed_;
    schedule();
}

/// Passes the renewal to a follower that may renew, if there is one.
void held_lease::pass_renewal()
{
    if (!group_ || follows() || may_renew_for_group())
        return;
    if (held_lease& other = group_->next_renewer(); other.may_renew_for_group()) {
        group_->make_renewer(other);
        other.become_renewer(*this);
    }
}

void held_lease::tell_followers(boost::system::error_code result)
{
    auto const group = group_;
    if (!group || follows())
        return;
    for (auto i = group->members.size(); i > 1; i = std::min(i - 1, group->members.size())) {
        held_lease& each = *group->members[i - 1]; // in whose place comes the last if it leaves
        result ? each.follow_in_vain(result) : each.follow();
    }
}

void held_lease::follow_in_vain(boost::system::error_code why)
{
    kept().see_as(renewer().kept());
    show_votes();
    finish_extension(why);
}

void held_lease::follow()
{
    if (end_if_expired()) // its own time may be over, and it does not come back (rule H7)
        return;
    kept().follow(renewer().kept());
    show(lease_state::held);
    finish_extension({});
    schedule();
}

/// Ends the group if the key is lost to all members. If only this member's time is over, this member leaves the group.
/// \return the group that has ended; null: the key is lost to this member alone
boost::intrusive_ptr<reader_group> held_lease::end_group()
{
    if (!group_ || follows() || kept().cause() == core::lease_machine::loss::hold_ended) {
        (void)leave_group();
        return nullptr;
    }
    auto const ended = std::exchange(group_, nullptr);
    for (std::size_t i = 1; i != ended->members.size(); ++i) {
        intrusive_ptr_add_ref(ended->members[i]); // until it is told
        ended->members[i]->group_ = nullptr;
    }
    return ended;
}

void held_lease::lose_with(held_lease const& renewer)
{
    deletion_settled_ = true; // by the former renewer
    if (!over()) {
        history_.share(lock().key->tables(), renewer.history_);
        kept().lose_with(renewer.kept());
        lose();
        tell_key_of_end();
    }
    intrusive_ptr_release(this);
}

/// A writer becomes a reader. The old deadline stands until a majority has confirmed it as one.
// rules Q20 and S12
void held_lease::downgrade()
{
    begin_if_adopted();
    if (end_if_expired())
        return;
    downgraded_ = true;
    kept().changed = !kept().confirmed_once(); // then the adoption comes first
    stop_watching();
    tell(event::downgraded);
    start_extension();
    if (!over())
        lock().key->downgraded(*this);
}

} // namespace redlock::detail

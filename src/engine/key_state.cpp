// SPDX-License-Identifier: BSL-1.0
#include "engine/key_state.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace redlock::detail {

key_state::key_state(key_index& index, std::string name) : index_(index), name_(std::move(name)) {}

void intrusive_ptr_add_ref(key_state* known) noexcept
{
    std::scoped_lock const guard(known->index_.guard_);
    ++known->owners_;
}

void intrusive_ptr_release(key_state* known) noexcept
{
    {
        std::scoped_lock const guard(known->index_.guard_);
        if (--known->owners_ != 0)
            return;
        auto& all = known->index_.known_;
        // A group of keys is not in the index, but a key there may have the group's name.
        if (auto const found = all.find(known->name()); found != all.end() && *found == known) {
            all.erase(found);
            known->index_.told_.keep(known->name(), known->latest_leader_);
        }
    }
    delete known; // without the guard: a group releases its keys, which takes the guard
}

redis::lock_key key_state::key() const
{
    return {index_.key_prefix(), name_};
}

std::mutex& key_state::tables() const
{
    return index_.tables();
}

void key_state::expect_keys(std::chrono::milliseconds ttl)
{
    auto const longest = static_cast<std::uint32_t>(ttl.count()); // 48 hours at most
    auto known = longest_key_life_ms_.load(std::memory_order_relaxed);
    while (known < longest && !longest_key_life_ms_.compare_exchange_weak(known, longest))
        ;
}

core::duration key_state::longest_key_life() const
{
    core::duration const own =
        std::chrono::milliseconds{longest_key_life_ms_.load(std::memory_order_relaxed)};
    return successor_ ? std::max(own, successor_->longest_key_life()) : own;
}

/// Locks that were made before also count for the next nodes, whether they are used or not (rule N4).
void key_state::leave_to(boost::intrusive_ptr<key_state> successor) noexcept
{
    successor_ = std::move(successor);
    successor_->expect_keys(std::chrono::milliseconds{longest_key_life_ms_.load(std::memory_order_relaxed)});
    leave_numbers();
}

void key_state::leave_numbers() noexcept
{
    if (!successor_)
        return;
    successor_->note_number(highest_number_);
    successor_->note_leader(latest_leader_);
}

core::leader_version key_state::latest_leader() const
{
    return successor_ ? std::max(latest_leader_, successor_->latest_leader()) : latest_leader_;
}

void key_state::note_leader(core::leader_version proven)
{
    latest_leader_ = std::max(latest_leader_, proven);
    if (successor_)
        successor_->note_leader(proven);
}

std::vector<node_outcome> key_state::last_attempt(std::vector<std::string> const& nodes) const
{
    return table_.outcomes(tables(), nodes, key().several);
}

/// With the guard held.
boost::intrusive_ptr<key_state> key_index::share(key_state& known)
{
    ++known.owners_;
    return {&known, false};
}

boost::intrusive_ptr<key_state> key_index::at(std::string name)
{
    std::scoped_lock const guard(guard_);
    if (auto const found = known_.find(std::string_view(name)); found != known_.end())
        return share(**found);
    auto made = make(std::move(name));
    known_.insert(made.get());
    made->latest_leader_ = told_.take(made->name());
    return share(*made.release());
}

boost::intrusive_ptr<key_state> key_index::find(std::string_view key)
{
    if (!key.starts_with(key_prefix_))
        return nullptr;
    std::scoped_lock const guard(guard_);
    auto const found = known_.find(key.substr(key_prefix_.size()));
    return found == known_.end() ? nullptr : share(**found);
}

void key_index::leave_leaders_to(key_index& next) noexcept
{
    std::scoped_lock const guard(guard_, next.guard_);
    for (auto const& [name, told] : told_.all()) {
        auto const found = next.known_.find(std::string_view(name));
        if (found == next.known_.end())
            next.told_.keep(name, told);
        else
            (*found)->latest_leader_ = std::max((*found)->latest_leader_, told);
    }
}

std::vector<boost::intrusive_ptr<key_state>> key_index::all()
{
    std::vector<boost::intrusive_ptr<key_state>> found; // outlives the guard: dropping a reference takes it
    std::scoped_lock const guard(guard_);
    found.reserve(known_.size());
    for (key_state* const known : known_)
        found.push_back(share(*known));
    return found;
}

} // namespace redlock::detail

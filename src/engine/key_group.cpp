// SPDX-License-Identifier: BSL-1.0
#include "engine/key_group.hpp"

#include "core/memory.hpp"
#include "engine/held_lease.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace redlock::detail {

namespace {

/// Joins the names of one lock for `lease::resource()`, events and messages: "a, b".
std::string all_names(std::vector<std::string> const& names)
{
    std::string text;
    for (std::string const& name : names)
        text.append(text.empty() ? "" : ", ").append(name);
    return text;
}

} // namespace

key_group::key_group(key_queues& all, std::vector<std::string> names)
    : key_state(all, all_names(names)), names_(std::move(names))
{
    for (std::string const& name : names_)
        queues_.emplace_back(static_cast<key_queue*>(all.at(name).get()));
}

redis::lock_key key_group::key() const
{
    return {index().key_prefix(), name(), names_};
}

void key_group::expect_keys(std::chrono::milliseconds ttl)
{
    for (auto const& each : queues_)
        each->expect_keys(ttl);
}

core::duration key_group::longest_key_life() const
{
    core::duration longest{};
    for (auto const& each : queues_)
        longest = std::max(longest, each->longest_key_life());
    return longest;
}

std::uint64_t key_group::highest_number() const
{
    std::uint64_t highest = 0;
    for (auto const& each : queues_)
        highest = std::max(highest, each->highest_number());
    return highest;
}

void key_group::note_number(std::uint64_t seen)
{
    for (auto const& each : queues_)
        each->note_number(seen);
}

bool key_group::busy() const
{
    return std::ranges::any_of(queues_, [](auto const& each) { return each->busy(); });
}

bool key_group::held_here() const
{
    return std::ranges::any_of(queues_, [](auto const& each) { return each->held_here(); });
}

/// Other locks of this client may have met others meanwhile.
std::uint8_t key_group::in_the_way() const
{
    auto const has_rivals = [](auto const& each) { return each->contention.batch.has_rivals(); };
    if (has_rivals(queues_[in_the_way_]))
        return in_the_way_;
    auto const first = std::ranges::find_if(queues_, has_rivals);
    return first == queues_.end() ? in_the_way_ : static_cast<std::uint8_t>(first - queues_.begin());
}

void key_group::enqueue(waiter& one)
{
    bool const waits = busy();
    if (!core::if_memory_allows([&] { one.several = std::make_unique<multi_waiter>(*this, queues_, one); }))
        return one.fail(make_error_code(boost::system::errc::not_enough_memory));
    one.several->enter();
    if (waits)
        one.tell_waiting(position(one), false);
}

void key_group::leave(waiter& one)
{
    one.several->leave();
    one.several->done();
}

std::size_t key_group::position(waiter const& one) const
{
    return one.several ? one.several->position() : 0;
}

acquirer* key_group::acquirer_of(waiter const& one) const
{
    return one.several ? one.several->acquirer_in_charge() : nullptr;
}

bool key_group::is_asked_for(waiter const& one) const
{
    return one.several && one.several->asks_for_all();
}

void key_group::adopted(held_lease& held)
{
    for (auto const& each : queues_)
        each->adopted(held);
}

/// The next one in all queues, if it wants these keys and no others.
// rule M6
multi_waiter* key_group::next_in_all() const
{
    waiter* const first = queues_.front()->first();
    multi_waiter* const next = first ? first->part_of : nullptr;
    return next && next->wants(queues_) && next->is_first_everywhere() ? next : nullptr;
}

bool key_group::hand_over(held_lease& held)
{
    multi_waiter* const next = next_in_all();
    auto const may = [&](auto const& each) {
        return each->may_hand_over(held, *next->whole().lock()->config);
    };
    auto passed = next && std::ranges::all_of(queues_, may) ? held.pass_to(next->whole()) : nullptr;
    if (!passed)
        return false;
    waiter& next_owner = next->whole();
    for (auto const& each : queues_)
        each->pass_on(*passed);
    next->done();
    next_owner.receive(std::move(passed));
    return true;
}

void key_group::lease_ended(held_lease const& held)
{
    for (auto const& each : queues_)
        each->lease_ended(held);
}

void key_group::changed_by_us(core::node_set where)
{
    for (auto const& each : queues_)
        each->changed_by_us(where);
}

} // namespace redlock::detail

// SPDX-License-Identifier: BSL-1.0
#include "core/timer_wheel.hpp"

#include <algorithm>
#include <bit>

namespace redlock::core {

timer_wheel::timer_wheel()
{
    for (timer_hook& head : slots_)
        head.previous = head.next = &head;
}

timer_wheel::~timer_wheel()
{
    for (timer_hook& head : slots_)
        while (head.next != &head)
            (void)take_first(head);
}

void timer_wheel::schedule(timer& t, tick due)
{
    due = std::clamp(due, now_, horizon);
    size_ += t.scheduled() ? 0U : 1U;
    bool const stands_before = t.stands() && (t.due_ & ~timer::suspended) <= due;
    t.due_ = due;
    if (stands_before)
        return;
    t.unlink();
    insert(t);
}

timer* timer_wheel::pop_due(tick now)
{
    while (auto const slot = first_slot()) {
        tick const start = start_of(*slot);
        if (start > now)
            break;
        now_ = std::max(now_, start);
        if (*slot >= slots_per_level)
            cascade(*slot);
        else if (timer* const due = pop(*slot))
            return due;
    }
    now_ = std::max(now_, std::min(now, horizon));
    return nullptr;
}

/// Null: there is none left that is due now.
timer* timer_wheel::pop(unsigned slot)
{
    timer_hook& head = slots_[slot];
    while (head.next != &head) {
        timer& t = take_first(head);
        if ((t.due_ & timer::suspended) != 0)
            continue;
        if (t.due_ > now_) {
            insert(t);
            continue;
        }
        --size_;
        return &t;
    }
    clear(slot);
    return nullptr;
}

std::optional<timer_wheel::tick> timer_wheel::next_due() const
{
    if (size_ == 0)
        return std::nullopt;
    return start_of(*first_slot());
}

timer& timer_wheel::take_first(timer_hook& head)
{
    auto& t = static_cast<timer&>(*head.next);
    t.unlink();
    return t;
}

/// The level is that of the highest digit in which the tick differs from now, so every timer of a level is later than
/// all timers of the levels below it, and within a level the lowest occupied slot comes first.
void timer_wheel::insert(timer& t)
{
    auto const differing = static_cast<unsigned>(std::bit_width((t.due_ ^ now_) | 1)) - 1;
    unsigned const level = differing / bits;
    auto const digit = static_cast<unsigned>(t.due_ >> (level * bits)) % slots_per_level;
    timer_hook& head = slots_[level * slots_per_level + digit];
    t.previous = head.previous;
    t.next = &head;
    head.previous->next = &t;
    head.previous = &t;
    occupied_[level] |= std::uint64_t{1} << digit;
}

void timer_wheel::cascade(unsigned slot)
{
    timer_hook& head = slots_[slot];
    clear(slot);
    while (head.next != &head)
        if (timer& t = take_first(head); (t.due_ & timer::suspended) == 0)
            insert(t);
}

std::optional<unsigned> timer_wheel::first_slot() const
{
    for (unsigned level = 0; level != levels; ++level)
        if (occupied_[level] != 0)
            return level * slots_per_level + static_cast<unsigned>(std::countr_zero(occupied_[level]));
    return std::nullopt;
}

timer_wheel::tick timer_wheel::start_of(unsigned slot) const
{
    unsigned const level = slot / slots_per_level;
    unsigned const shift = level * bits;
    tick const above = (now_ >> shift) / slots_per_level * slots_per_level;
    return std::max(now_, (above + slot % slots_per_level) << shift);
}

} // namespace redlock::core

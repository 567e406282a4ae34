#include "core/timer_wheel.hpp"

#include <algorithm>
#include <bit>

namespace redlock::core {

namespace {

void unlink(timer_hook& hook)
{
    hook.previous->next = hook.next;
    hook.next->previous = hook.previous;
    hook.previous = hook.next = nullptr;
}

} // namespace

timer_wheel::timer_wheel()
{
    for (timer_hook& head : slots_)
        head.previous = head.next = &head;
}

void timer_wheel::schedule(timer& t, tick due)
{
    if (t.scheduled())
        cancel(t);
    t.due_ = std::clamp(due, now_, horizon);
    insert(t);
    ++size_;
}

void timer_wheel::cancel(timer& t)
{
    if (!t.scheduled())
        return;
    timer_hook* const neighbour = t.next;
    unlink(t);
    --size_;
    if (neighbour->next == neighbour) { // only a slot's head is ever alone
        auto const slot = static_cast<unsigned>(neighbour - slots_.data());
        occupied_[slot / slots_per_level] &= ~(std::uint64_t{1} << slot % slots_per_level);
    }
}

timer* timer_wheel::pop_due(tick now)
{
    while (size_ != 0) {
        unsigned const slot = first_slot();
        tick const start = start_of(slot);
        if (start > now)
            break;
        now_ = std::max(now_, start);
        if (slot >= slots_per_level) {
            cascade(slot);
            continue;
        }
        auto& due = static_cast<timer&>(*slots_[slot].next);
        cancel(due);
        return &due;
    }
    now_ = std::max(now_, std::min(now, horizon));
    return nullptr;
}

std::optional<timer_wheel::tick> timer_wheel::next_due() const
{
    if (size_ == 0)
        return std::nullopt;
    return start_of(first_slot());
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
    occupied_[slot / slots_per_level] &= ~(std::uint64_t{1} << slot % slots_per_level);
    while (head.next != &head) {
        auto& t = static_cast<timer&>(*head.next);
        unlink(t);
        insert(t);
    }
}

unsigned timer_wheel::first_slot() const
{
    unsigned level = 0;
    while (occupied_[level] == 0)
        ++level;
    return level * slots_per_level + static_cast<unsigned>(std::countr_zero(occupied_[level]));
}

timer_wheel::tick timer_wheel::start_of(unsigned slot) const
{
    unsigned const level = slot / slots_per_level;
    unsigned const shift = level * bits;
    tick const above = (now_ >> shift) / slots_per_level * slots_per_level;
    return std::max(now_, (above + slot % slots_per_level) << shift);
}

} // namespace redlock::core

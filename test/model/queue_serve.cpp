// SPDX-License-Identifier: BSL-1.0
#include "model/queue_scripts.hpp"
#include "model/rules.hpp"

#include <algorithm>

// How a node serves its queue.

namespace redlock::model {

unsigned queue_scripts::positions(queue_world const& w, unsigned node) const
{
    auto const stands = [&](auto const& a) { return a.place != 0 && a.queue == node; };
    return static_cast<unsigned>(std::ranges::count_if(w.attempts, stands));
}

std::optional<unsigned> queue_scripts::position(queue_world const& w, unsigned node, unsigned place) const
{
    for (unsigned a = 0; a != most_attempts; ++a)
        if (w.attempts[a].place == place && w.attempts[a].queue == node)
            return a;
    return std::nullopt;
}

void queue_scripts::leave_queue(queue_world& w, unsigned a) const
{
    auto& me = w.attempts[a];
    for (auto& b : w.attempts)
        if (b.queue == me.queue && b.place > me.place)
            --b.place;
    me.place = 0;
}

/// A waiter that is added once more was called, and its window is over. The message of that call, which may still be under
/// way, is void: otherwise a position would stand whose nonce claims or holds the lock.
void queue_scripts::enter(queue_world& w, unsigned a) const
{
    auto& me = w.attempts[a];
    if (me.place == 0 && !me.at[me.queue].has.exists()) {
        me.place = static_cast<std::uint8_t>(positions(w, me.queue) + 1);
        if (applies(rule::late_call_is_void))
            me.called_by = me.called_permits = 0;
    }
    serve(w, me.queue, {});
}

/// The lock is kept for the called waiter for its claim window. The message may arrive at any time, or never.
void queue_scripts::call(queue_world& w, unsigned a, std::uint8_t permits, previous_owner by) const
{
    auto& me = w.attempts[a];
    unsigned const node = me.queue;
    leave_queue(w, a);
    me.called_by = static_cast<std::uint8_t>(by.value_or(a) + 1);
    me.called_permits = permits;
    std::uint8_t const kind = asks_as_reader(scope_, a) ? queue_world::reader : queue_world::exclusive;
    take(w, a, node, permits != 0 ? permits : kind, scope_.window + scope_.slack);
    if (!applies(rule::call_is_no_vote))
        me.at[node].said = vote::granted;
}

void queue_scripts::call_readers(queue_world& w, unsigned node, previous_owner by) const
{
    for (unsigned a = 0; a != most_attempts; ++a)
        if (w.attempts[a].place != 0 && w.attempts[a].queue == node && asks_as_reader(scope_, a))
            call(w, a, 0, by);
}

/// Returns whether the next position is to be looked at.
bool queue_scripts::serve_first(queue_world& w, unsigned node, previous_owner by) const
{
    auto const first = position(w, node, 1);
    std::uint8_t const there = holders(w, node);
    if (!first || there == queue_world::exclusive)
        return false;
    if (names_of(scope_, *first) != 0) {
        auto const name = static_cast<std::uint8_t>(1U << (queue_world::first_permit + node));
        if ((there & name) == 0)
            call(w, *first, name, by);
        return (there & name) == 0;
    }
    if (asks_as_reader(scope_, *first)) {
        if (there == 0 || there == queue_world::reader)
            call_readers(w, node, by);
        return false;
    }
    if (!wants_permits(scope_, *first)) {
        if (there == 0)
            call(w, *first, 0, by);
        return false;
    }
    if (there == queue_world::reader)
        return false;
    std::uint8_t const found = choose(w, *first, node, 0);
    if (found != 0)
        call(w, *first, found, by);
    return found != 0; // nobody passes the first (rule Q7)
}

void queue_scripts::serve(queue_world& w, unsigned node, previous_owner by) const
{
    while (serve_first(w, node, by)) {
    }
}

} // namespace redlock::model

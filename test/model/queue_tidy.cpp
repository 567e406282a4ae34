// SPDX-License-Identifier: BSL-1.0
#include "core/tally.hpp"
#include "model/queue_steps.hpp"
#include "model/rules.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

// States are one if they differ only in parts that have no effect any more, or in the names of attempts or nodes that are alike.

namespace redlock::model {

namespace {

using world = queue_world;

/// May a message that is under way still give this attempt something on this node?
bool may_get(world::side const& there)
{
    return there.said == world::vote::under_way || there.twin != 0 ||
           there.exact == world::message::under_way;
}

bool may_get_anything(world::attempt const& a)
{
    return std::ranges::any_of(a.at, may_get);
}

bool is_gone(world::attempt const& a)
{
    bool const has = std::ranges::any_of(a.at, [](auto const& there) { return there.has.exists(); });
    return a.now == world::doing::over && !has && !may_get_anything(a);
}

int class_of(std::uint8_t reference, std::size_t own)
{
    return reference == 0 ? 0 : reference == own + 1 ? 1 : 2;
}

bool sorted(world const& w, std::size_t i, std::size_t j)
{
    auto const& a = w.attempts[i];
    auto const& b = w.attempts[j];
    int const order = std::memcmp(&a, &b, offsetof(world::attempt, called_by));
    if (order != 0)
        return order < 0;
    std::pair const first{class_of(a.called_by, i), class_of(a.previous_owner, i)};
    std::pair const second{class_of(b.called_by, j), class_of(b.previous_owner, j)};
    return first <= second;
}

void swap_names(std::uint8_t& reference, std::size_t i, std::size_t j)
{
    if (reference == i + 1)
        reference = static_cast<std::uint8_t>(j + 1);
    else if (reference == j + 1)
        reference = static_cast<std::uint8_t>(i + 1);
}

void swap_attempts(world& w, std::size_t i, std::size_t j)
{
    std::swap(w.attempts[i], w.attempts[j]);
    for (auto& each : w.attempts) {
        swap_names(each.called_by, i, j);
        swap_names(each.previous_owner, i, j);
        swap_names(each.second_owner, i, j);
    }
}

} // namespace

void queue_steps::tidy(world& w) const
{
    forget_expired(w);
    for (unsigned a = 0; scope_.attempts[a] != 0; ++a) {
        end_what_is_over(w, a);
        forget_what_has_no_effect(w, a);
    }
    for (unsigned a = 0; scope_.attempts[a] != 0; ++a)
        for (std::uint8_t* named :
             {&w.attempts[a].called_by, &w.attempts[a].previous_owner, &w.attempts[a].second_owner})
            if (*named != 0 && is_gone(w.attempts[*named - 1U]))
                *named = static_cast<std::uint8_t>(a + 1);
    rename(w);
}

/// An entry that lasts beyond the last tick never ends.
void queue_steps::forget_expired(world& w) const
{
    auto const last = static_cast<std::uint8_t>(scope_.horizon + 1);
    auto const last_end = static_cast<std::uint8_t>(last + scope_.steps - w.steps);
    for (attempt& each : w.attempts) {
        each.until = std::min(each.until, last);
        for (side& there : each.at) {
            there.has.end = std::min(there.has.end, last_end);
            if (there.has.end <= w.now)
                there.has = {};
        }
    }
    for (std::uint8_t& until : w.quarantined_until)
        until = until <= w.now ? std::uint8_t{0} : std::min(until, last);
}

/// Ends an attempt without time or without a majority, and a lease without time. Nothing is lost by that: the rollback
/// that is sent then need not be executed.
void queue_steps::end_what_is_over(world& w, unsigned a) const
{
    attempt const& me = w.attempts[a];
    if (me.now == doing::asks) {
        core::attempt const so_far = answers(w, a);
        bool const lost = so_far.decided() && so_far.granted() < core::majority(queue_nodes);
        if (w.now >= me.sent + scope_.lease || (lost && !may_send_again(w, a)))
            give_up(w, a);
    } else if (me.now == doing::holds && w.now >= me.until) {
        if (me.extension_sent == 0 || w.now >= me.extension_sent - 1 + scope_.lease)
            release(w, a);
    }
}

void queue_steps::forget_what_has_no_effect(world& w, unsigned a) const
{
    attempt& me = w.attempts[a];
    if (me.now == doing::nothing || me.now == doing::waits)
        return;
    me.called_by = me.called_permits = 0;
    for (unsigned node = 0; node != queue_nodes; ++node)
        forget_what_has_no_effect(me, a, node);
    if (me.now == doing::asks)
        return;
    me.sent = me.repeats = 0;
    if (!may_get_anything(me))
        me.previous_owner = me.second_owner = 0;
    if (me.now == doing::over)
        me = what_is_left(w, a);
}

void queue_steps::forget_what_has_no_effect(attempt& me, unsigned a, unsigned node) const
{
    side& there = me.at[node];
    if (me.now == doing::over) {
        there = what_is_left(there);
        bool const position = me.place != 0 && me.queue == node;
        if (!there.has.exists() && !may_get(there) && !position)
            there.release = undo::none;
    } else if (me.now == doing::holds) {
        there.gave = 0;
        if (there.said == vote::refused || there.said == vote::failed)
            there.said = vote::unsent;
    } else if (!wants_permits(scope_, a)) {
        there.gave = 0;
    }
    bool const keeps_queue = node == 0 || (node == 1 && has_two_queues());
    if (there.release == undo::with_name && !keeps_queue)
        there.release = undo::without_name;
}

/// The parts of an attempt that is over: its entries, and messages that may still be executed.
queue_steps::side queue_steps::what_is_left(side const& there) const
{
    side left{.has = there.has, .release = there.release};
    if (!scope_.late)
        return left;
    if (there.said == vote::under_way)
        left.said = there.said;
    if (there.exact == message::under_way)
        left.exact = there.exact;
    left.twin = there.twin;
    return left;
}

queue_steps::attempt queue_steps::what_is_left(world const& w, unsigned a) const
{
    attempt const& me = w.attempts[a];
    attempt left{.at = me.at, .now = me.now, .place = me.place};
    if (me.place != 0)
        left.queue = me.queue;
    if (may_get_anything(me)) {
        left.permits = me.permits;
        left.previous_owner = me.previous_owner;
        left.second_owner = me.second_owner;
    }
    if (relies(w, a)) {
        left.until = me.until;
        left.permits = me.permits;
        left.reads = me.reads;
    }
    return left;
}

void queue_steps::rename(world& w) const
{
    world swapped = w;
    sort_attempts(w);
    if (has_two_queues())
        return;
    for (attempt& each : swapped.attempts)
        std::swap(each.at[1], each.at[2]);
    std::swap(swapped.quarantined_until[1], swapped.quarantined_until[2]);
    sort_attempts(swapped);
    if (std::memcmp(&swapped, &w, sizeof w) < 0)
        w = swapped;
}

void queue_steps::sort_attempts(world& w) const
{
    for (std::size_t i = 1; scope_.attempts[i] != 0; ++i)
        for (std::size_t j = i;
             j != 0 && scope_.attempts[j] == scope_.attempts[j - 1] && !sorted(w, j - 1, j); --j)
            swap_attempts(w, j - 1, j);
}

bool queue_steps::may_hold(world const& w, unsigned a) const
{
    attempt const& me = w.attempts[a];
    return me.now == doing::over ? relies(w, a)
                                 : me.now != doing::holds || relies(w, a) || me.extension_sent != 0;
}

/// A flaw needs two attempts that exclude each other and may both hold, or a lease that comes back after another.
bool queue_steps::worth_looking_at(world const& w) const
{
    auto const agreed = [&](unsigned a) {
        return w.attempts[a].now == doing::holds && w.attempts[a].permits != 0;
    };
    for (unsigned a = 0; scope_.attempts[a] != 0; ++a) {
        if (w.attempts[a].met_another != 0 && w.attempts[a].extension_sent != 0)
            return true;
        for (unsigned b = 0; b != a; ++b) {
            if (!may_hold(w, a) || !may_hold(w, b))
                continue;
            bool const open =
                wants_permits(scope_, a) && wants_permits(scope_, b) && (!agreed(a) || !agreed(b));
            if (open || exclude_each_other(scope_, w, a, b))
                return true;
        }
    }
    return false;
}

} // namespace redlock::model

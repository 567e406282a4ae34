// SPDX-License-Identifier: BSL-1.0
#include "model/queue_steps.hpp"

#include "core/tally.hpp"
#include "model/rules.hpp"

// The effects of actions.

namespace redlock::model {

void queue_steps::take(world& w, action a) const
{
    act(w, a);
    tidy(w);
}

void queue_steps::act(world& w, action a) const
{
    attempt& me = w.attempts[a.attempt];
    side& there = me.at[a.node];
    switch (a.what) {
    case kind::tick: ++w.now; return;
    case kind::vote: return send_votes(w, a.attempt, 0);
    case kind::enter:
        me.now = doing::waits;
        me.queue = a.node;
        return scripts_.enter(w, a.attempt);
    case kind::read_call: me.permits = me.called_permits; return send_votes(w, a.attempt, me.called_by);
    case kind::claim_unnamed:
        if (wants_permits(scope_, a.attempt))
            me.permits = me.at[me.queue].has.what;
        return send_votes(w, a.attempt, a.attempt + 1U);
    case kind::gather: return gather(w, a.attempt);
    case kind::leave:
        me.now = doing::over;
        me.at[me.queue].release = undo::with_name;
        return;
    case kind::execute_vote: return execute_vote(w, a.attempt, a.node, a.first);
    case kind::execute_twin:
        there.twin = 0;
        scripts_.claim(w, a.attempt, a.node);
        return;
    case kind::choose_permits: me.permits = there.gave; return;
    case kind::send_exactly: there.exact = message::under_way; return;
    case kind::execute_exactly: return execute_exactly(w, a.attempt, a.node);
    case kind::win: return win(w, a.attempt);
    case kind::give_up: return give_up(w, a.attempt);
    case kind::send_again: return send_again(w, a.attempt);
    case kind::extend: return begin_extension(w, a.attempt, false);
    case kind::downgrade: return begin_extension(w, a.attempt, true);
    case kind::execute_extension: return execute_extension(w, a.attempt, a.node);
    case kind::confirm: return confirm(w, a.attempt);
    case kind::release: return release(w, a.attempt);
    case kind::release_shared:
        me.shared = 1;
        for (side& each : me.at)
            each.release = undo::with_name;
        return;
    case kind::take_back_late_vote: there.release = undo::with_name; return;
    case kind::execute_release: {
        bool const named = there.release == undo::with_name;
        there.release = undo::none;
        return scripts_.give_back(w, a.attempt, a.node, named);
    }
    case kind::lose_position: ++w.deaf; return scripts_.leave_queue(w, a.attempt);
    case kind::restart: return restart(w, a.node);
    case kind::step_clock: return step_clock(w, a.node);
    }
}

/// \param previous the owner that a claim may replace, plus one; 0: no claim
void queue_steps::send_votes(world& w, unsigned a, unsigned previous) const
{
    attempt& me = w.attempts[a];
    me.now = doing::asks;
    me.sent = w.now;
    me.previous_owner = static_cast<std::uint8_t>(previous);
    me.called_by = me.called_permits = me.second_owner = 0;
    for (side& there : me.at) {
        there.twin = there.said == vote::under_way;
        if (there.said != vote::granted || applies(rule::call_is_no_vote))
            there.said = vote::under_way;
    }
}

/// The leases of the first two attempts are given up as a whole. Their keys stay until the vote for both names replaces them.
void queue_steps::gather(world& w, unsigned a) const
{
    send_votes(w, a, 1);
    w.attempts[a].second_owner = 2;
    for (unsigned one = 0; one != 2; ++one)
        release(w, one);
}

void queue_steps::execute_vote(world& w, unsigned a, unsigned node, unsigned first) const
{
    attempt& me = w.attempts[a];
    vote const said =
        me.previous_owner == 0 ? scripts_.vote_for(w, a, node, first) : scripts_.claim(w, a, node);
    me.at[node].said = said;
}

void queue_steps::execute_exactly(world& w, unsigned a, unsigned node) const
{
    side& there = w.attempts[a].at[node];
    there.exact = message::done;
    there.said = scripts_.exactly(w, a, node);
}

void queue_steps::win(world& w, unsigned a) const
{
    attempt& me = w.attempts[a];
    me.now = doing::holds;
    me.until = static_cast<std::uint8_t>(me.sent + scope_.lease);
    for (unsigned node = 0; node != queue_nodes; ++node)
        me.at[node].relied_on = counts(me, a, node);
    for (unsigned b = 0; b != most_attempts; ++b)
        if (b != a && w.attempts[b].now == doing::holds && exclude_each_other(scope_, w, a, b))
            w.attempts[b].met_another = 1;
}

/// Takes the votes back wherever they may have been granted.
void queue_steps::give_up(world& w, unsigned a) const
{
    attempt& me = w.attempts[a];
    core::node_set const refused = answers(w, a).refused();
    bool const named = names_of(scope_, a) != 0 || !applies(rule::taken_back_without_a_name);
    for (unsigned node = 0; node != queue_nodes; ++node)
        if (!refused.contains(node))
            me.at[node].release = named ? undo::with_name : undo::without_name;
    bool const again = me.previous_owner != 0 && !applies(rule::nonce_belongs_to_one_position);
    me.now = again ? doing::waits : doing::over;
}

void queue_steps::send_again(world& w, unsigned a) const
{
    attempt& me = w.attempts[a];
    core::attempt so_far = answers(w, a);
    so_far.reopen();
    core::node_set const again = so_far.ask_again();
    ++me.repeats;
    for (unsigned node = 0; node != queue_nodes; ++node) {
        if (!again.contains(node))
            continue;
        me.at[node].twin = me.at[node].said == vote::under_way;
        me.at[node].said = vote::under_way;
    }
    if (!applies(rule::repeated_claim_keeps_its_sending))
        me.sent = w.now;
}

/// A lease is a reader's from the call of its downgrade on, and keeps its deadline until the round is confirmed.
void queue_steps::begin_extension(world& w, unsigned a, bool downgrade) const
{
    attempt& me = w.attempts[a];
    if (downgrade)
        me.reads =
            applies(rule::lease_reads_from_its_downgrade_on) ? world::reads_now : world::reads_once_confirmed;
    if (downgrade && !applies(rule::downgrade_counts_once_confirmed))
        me.until = static_cast<std::uint8_t>(w.now + scope_.lease);
    ++me.extensions;
    me.extension_sent = static_cast<std::uint8_t>(w.now + 1);
    for (side& there : me.at) {
        there.extension = message::under_way;
        there.confirmed = 0;
        there.known = there.said == vote::granted;
    }
}

void queue_steps::execute_extension(world& w, unsigned a, unsigned node) const
{
    side& there = w.attempts[a].at[node];
    there.extension = message::done;
    there.confirmed = queue_scripts::votes(w, node) && scripts_.extend(w, a, node, w.attempts[a].reads != 0);
}

void queue_steps::confirm(world& w, unsigned a) const
{
    attempt& me = w.attempts[a];
    if (me.met_another != 0)
        w.extended_beside_another = 1;
    me.until = static_cast<std::uint8_t>(me.extension_sent - 1 + scope_.lease);
    me.extension_sent = 0;
    if (me.reads != 0)
        me.reads = world::reads_now;
}

/// The lease ends before its release is sent.
void queue_steps::release(world& w, unsigned a) const
{
    attempt& me = w.attempts[a];
    me.now = doing::over;
    for (side& there : me.at)
        there.release = undo::with_name;
}

/// The node loses its data, and its queue with it.
void queue_steps::restart(world& w, unsigned node) const
{
    ++w.restarts;
    for (unsigned a = 0; a != most_attempts; ++a) {
        attempt& each = w.attempts[a];
        each.at[node].has = {};
        if (each.place != 0 && each.queue == node)
            scripts_.leave_queue(w, a);
    }
    if (applies(rule::quarantine_after_a_restart))
        w.quarantined_until[node] = static_cast<std::uint8_t>(w.now + scope_.quarantine);
}

void queue_steps::step_clock(world& w, unsigned node) const
{
    ++w.steps;
    for (attempt& each : w.attempts)
        if (each.at[node].has.exists())
            --each.at[node].has.end;
}

bool queue_steps::relies(world const& w, unsigned a) const
{
    attempt const& me = w.attempts[a];
    bool const releasing = me.now == doing::over && me.at[0].release == undo::with_name &&
                           !applies(rule::lease_ends_before_its_release);
    return (me.now == doing::holds || releasing) && w.now < me.until;
}

char const* queue_steps::flaw(world const& w) const
{
    if (w.extended_beside_another != 0)
        return "a lease was extended although another was granted since";
    for (unsigned a = 0; a != most_attempts; ++a)
        for (unsigned b = 0; b != a; ++b)
            if (relies(w, a) && relies(w, b) && exclude_each_other(scope_, w, a, b))
                return "two leases are valid that exclude each other";
    return nullptr;
}

} // namespace redlock::model

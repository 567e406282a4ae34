// SPDX-License-Identifier: BSL-1.0
#include "core/claim.hpp"
#include "core/tally.hpp"
#include "model/queue_steps.hpp"
#include "model/rules.hpp"

#include <chrono>
#include <cstring>

// The actions that are possible in a state.

namespace redlock::model {

namespace {

constexpr core::instant at(int ticks)
{
    core::duration const since = std::chrono::seconds{ticks};
    return {since, since};
}

} // namespace

void queue_steps::possible(world const& w, std::vector<action>& out) const
{
    if (!worth_looking_at(w))
        return;
    for (unsigned a = 0; scope_.attempts[a] != 0; ++a) {
        switch (w.attempts[a].now) {
        case doing::nothing: idle_actions(w, a, out); continue;
        case doing::asks: asking_actions(w, a, out); break;
        case doing::waits: waiting_actions(w, a, out); break;
        case doing::holds: holding_actions(w, a, out); break;
        case doing::over: break;
        }
        for (unsigned node = 0; node != queue_nodes; ++node)
            message_actions(w, a, node, out);
    }
    node_actions(w, out);
    if (w.now < scope_.horizon)
        out.push_back({kind::tick});
}

namespace {

queue_action of(queue_action::kind what, unsigned a, unsigned node = 0, unsigned first = 0)
{
    return {what, static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(node),
            static_cast<std::uint8_t>(first)};
}

} // namespace

/// Attempts that are alike begin in their order.
void queue_steps::idle_actions(world const& w, unsigned a, std::vector<action>& out) const
{
    bool const like_last = a != 0 && scope_.attempts[a] == scope_.attempts[a - 1];
    if (like_last && w.attempts[a - 1].now == doing::nothing)
        return;
    if (scope_.votes)
        out.push_back(of(kind::vote, a));
    if (names_of(scope_, a) != 0)
        return names_actions(w, a, out);
    if (scope_.queue)
        out.push_back(of(kind::enter, a, 0));
    if (scope_.queue && scope_.two_queues)
        out.push_back(of(kind::enter, a, 1));
}

/// An operation on both names waits for one of them, or takes one after the other and then votes for both.
void queue_steps::names_actions(world const& w, unsigned a, std::vector<action>& out) const
{
    for (unsigned node = 0; node != permit_count; ++node)
        if ((names_of(scope_, a) >> queue_world::first_permit & 1U << node) != 0)
            out.push_back(of(kind::enter, a, node));
    bool const gathers = scope_.attempts[a] == 'S' && scope_.attempts[0] == 'a' && scope_.attempts[1] == 'b';
    if (gathers && relies(w, 0) && relies(w, 1))
        out.push_back(of(kind::gather, a));
}

void queue_steps::asking_actions(world const& w, unsigned a, std::vector<action>& out) const
{
    attempt const& me = w.attempts[a];
    for (unsigned node = 0; node != queue_nodes; ++node) {
        side const& there = me.at[node];
        if (!wants_permits(scope_, a) || there.said != vote::granted)
            continue;
        if (me.permits == 0)
            out.push_back(of(kind::choose_permits, a, node));
        else if (there.gave != me.permits && there.exact == message::none)
            out.push_back(of(kind::send_exactly, a, node));
    }
    if (answers(w, a).granted() >= core::majority(queue_nodes))
        out.push_back(of(kind::win, a));
    if (may_send_again(w, a))
        out.push_back(of(kind::send_again, a));
    out.push_back(of(kind::give_up, a));
}

void queue_steps::waiting_actions(world const& w, unsigned a, std::vector<action>& out) const
{
    attempt const& me = w.attempts[a];
    if (me.called_by != 0)
        out.push_back(of(kind::read_call, a));
    if (me.at[me.queue].has.exists())
        out.push_back(of(kind::claim_unnamed, a));
    world asked = w;
    scripts_.enter(asked, a);
    if (std::memcmp(&asked, &w, sizeof w) != 0)
        out.push_back(of(kind::enter, a, me.queue));
    if (me.place != 0 && w.deaf < scope_.deaf)
        out.push_back(of(kind::lose_position, a));
    out.push_back(of(kind::leave, a));
}

void queue_steps::holding_actions(world const& w, unsigned a, std::vector<action>& out) const
{
    attempt const& me = w.attempts[a];
    if (me.extension_sent == 0 && me.extensions < scope_.extensions && w.now < me.until) {
        out.push_back(of(kind::extend, a));
        if (scope_.attempts[a] == 'D' && me.reads == 0)
            out.push_back(of(kind::downgrade, a));
    }
    bool const in_time = me.extension_sent != 0 && w.now < me.extension_sent - 1 + scope_.lease;
    if (in_time && confirmations(me) >= core::majority(queue_nodes))
        out.push_back(of(kind::confirm, a));
    out.push_back(of(kind::release, a));
    if (is_reader(scope_, w, a) && me.shared == 0 && !applies(rule::shared_nonce_ends_with_its_last_lease))
        out.push_back(of(kind::release_shared, a));
    side const& there = me.at[0];
    if (there.has.exists() && there.relied_on == 0 && !applies(rule::late_vote_is_taken_back_without_a_name))
        out.push_back(of(kind::take_back_late_vote, a));
}

void queue_steps::message_actions(world const& w, unsigned a, unsigned node, std::vector<action>& out) const
{
    side const& there = w.attempts[a].at[node];
    if (there.said == vote::under_way)
        vote_actions(w, a, node, out);
    if (there.twin != 0)
        out.push_back(of(kind::execute_twin, a, node));
    if (there.exact == message::under_way)
        out.push_back(of(kind::execute_exactly, a, node));
    if (there.extension == message::under_way)
        out.push_back(of(kind::execute_extension, a, node));
    if (there.release != undo::none)
        out.push_back(of(kind::execute_release, a, node));
}

/// An attempt for permits looks from the same permit on at all nodes. Here each node may look from another one.
void queue_steps::vote_actions(world const& w, unsigned a, unsigned node, std::vector<action>& out) const
{
    bool const chooses =
        wants_permits(scope_, a) && w.attempts[a].previous_owner == 0 && wanted_permits(scope_, a) == 1;
    for (unsigned first = 0; first != (chooses ? permit_count : 1); ++first)
        out.push_back(of(kind::execute_vote, a, node, first));
}

void queue_steps::node_actions(world const& w, std::vector<action>& out) const
{
    for (unsigned node = 0; node != queue_nodes; ++node) {
        if (w.restarts < scope_.restarts)
            out.push_back(of(kind::restart, 0, node));
        if (w.steps < scope_.steps)
            out.push_back(of(kind::step_clock, 0, node));
    }
}

/// An answer counts for the permits that it names.
bool queue_steps::counts(attempt const& me, unsigned a, unsigned node) const
{
    side const& there = me.at[node];
    if (there.said != vote::granted || !wants_permits(scope_, a))
        return there.said == vote::granted;
    if (me.permits == 0)
        return false;
    if (there.exact == message::under_way)
        return !applies(rule::first_answer_counts_no_more);
    return there.gave == me.permits || !applies(rule::grants_of_one_set_count);
}

/// The attempt, with its answers so far: first those that an engine would have counted before the refusals that decide it.
core::attempt queue_steps::answers(world const& w, unsigned a) const
{
    attempt const& me = w.attempts[a];
    core::attempt made(core::agreement::majority, queue_nodes, at(me.sent));
    for (unsigned node = 0; node != queue_nodes; ++node)
        if (counts(me, a, node))
            made.voted(node, core::vote::granted);
    for (unsigned node = 0; node != queue_nodes; ++node)
        if (me.at[node].said == vote::failed)
            made.voted(node, core::vote::failed);
    for (unsigned node = 0; node != queue_nodes; ++node)
        if (me.at[node].said == vote::refused)
            made.voted(node, core::vote::denied);
    return made;
}

/// A round trip takes no time here.
bool queue_steps::may_send_again(world const& w, unsigned a) const
{
    attempt const& me = w.attempts[a];
    if (me.previous_owner == 0 || me.repeats == scope_.repeats)
        return false;
    core::claim window(at(me.sent), std::chrono::seconds{scope_.window}, std::chrono::milliseconds{1});
    core::attempt so_far = answers(w, a);
    return so_far.decided() && so_far.reopen() && window.send_again(at(w.now));
}

unsigned queue_steps::confirmations(attempt const& me) const
{
    unsigned found = 0;
    for (side const& there : me.at)
        found += there.confirmed != 0 && (there.known != 0 || !applies(rule::known_before_the_round));
    return found;
}

} // namespace redlock::model

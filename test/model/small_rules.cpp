// SPDX-License-Identifier: BSL-1.0
#include "model/rules.hpp"
#include "model/small_world.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

namespace redlock::model {

namespace {

using doing = small_world::client::doing;
using flaw = small_world::flaw;
using what = small_world::message::kind;
using kind = action::kind;

auto order(small_world::message const& m)
{
    return std::tuple{m.what == what::none, m.what, m.attempt, m.round, m.copy, m.late,
                      m.answered,           m.said, m.number};
}

/// If a compiler cannot clear the padding, more states are counted, and none is missed.
template <class Part>
void clear_part([[maybe_unused]] Part& part)
{
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
    __builtin_clear_padding(&part);
#endif
#endif
}

} // namespace

/// A time-out takes at least a tick.
void small_steps::client_actions(small_world const& w, std::uint8_t c, std::vector<action>& out) const
{
    auto const& me = w.clients[c];
    core::instant const now = clock(w);
    bool const may_start = me.now == doing::nothing || me.now == doing::over;
    bool const alike = scope_.attempts[0] == scope_.attempts[1] && scope_.rounds[0] == scope_.rounds[1];
    bool const in_order = c == 0 || !alike || w.clients[0].attempt_number != 0;
    if (may_start && in_order && me.attempt_number < scope_.attempts[c])
        out.push_back({kind::start, c});
    if (me.now == doing::voting &&
        (scope_.timeless || core::reached(me.attempt.sent(), now - core::duration{one_tick} * 9 / 10)))
        out.push_back({kind::give_up_attempt, c});
    if (me.now != doing::holding)
        return;
    out.push_back({kind::release, c});
    if (!me.lease.extending() && me.rounds_done < scope_.rounds[c])
        out.push_back({kind::begin_round, c});
    if (me.lease.extending() &&
        (scope_.timeless || core::reached(me.round.sent, now - core::duration{one_tick} * 9 / 10)))
        out.push_back({kind::end_round, c});
    if (core::reached(me.lease.deadline(), now))
        out.push_back({kind::look_at_clock, c});
}

bool small_steps::changes_something(small_world const& w, unsigned c, unsigned n, message m) const
{
    small_world after = w;
    execute(after, c, n, m);
    return after.nodes[n].data != w.nodes[n].data;
}

void small_steps::message_actions(small_world const& w, std::uint8_t c, std::uint8_t n,
                                  std::vector<action>& out) const
{
    for (std::uint8_t i = 0; i != small_world::line_length; ++i) {
        auto const& m = w.lines[c][n][i];
        if (m.what == what::none)
            continue;
        if (m.answered) {
            out.push_back({kind::read, c, n, i});
            continue;
        }
        out.push_back({kind::execute, c, n, i});
        bool const answered_once = m.what != what::release && !m.copy;
        if (answered_once && w.duplicates < scope_.duplicates)
            out.push_back({kind::execute_twice, c, n, i});
        if (w.strays == scope_.strays)
            continue;
        out.push_back({kind::lose, c, n, i});
        if (!m.late)
            out.push_back({kind::delay, c, n, i});
        if (!answered_once)
            continue;
        out.push_back({kind::execute_late, c, n, i});
        if (changes_something(w, c, n, m)) // otherwise it need not arrive
            out.push_back({kind::execute_lost, c, n, i});
    }
}

bool small_steps::all_under_way_is_late(small_world const& w)
{
    for (auto const& lines : w.lines)
        for (auto const& line : lines)
            for (message const& m : line)
                if (m.what != what::none && !m.answered && !m.late)
                    return false;
    return true;
}

void small_steps::possible(small_world const& w, std::vector<action>& out) const
{
    for (std::uint8_t c = 0; c != small_clients; ++c) {
        client_actions(w, c, out);
        for (std::uint8_t n = 0; n != small_nodes && n <= w.distinct; ++n)
            message_actions(w, c, n, out);
    }
    bool const time_may_pass = all_under_way_is_late(w);
    if (!scope_.timeless && w.now < scope_.horizon && time_may_pass)
        out.push_back({kind::tick});
    for (std::uint8_t n = 0; n != small_nodes && n <= w.distinct; ++n) {
        if (w.restarts < scope_.restarts)
            out.push_back({kind::restart, 0, n});
        if (w.steps < scope_.steps)
            out.push_back({kind::step_clock, 0, n});
        if (scope_.timeless && time_may_pass && w.nodes[n].data.lock.exists())
            out.push_back({kind::expire, 0, n});
    }
}

/// True for a message that can have no effect any more: states that differ only in such messages are one.
bool small_steps::useless(small_world const& w, unsigned c, unsigned n, message const& m) const
{
    client const& me = w.clients[c];
    bool const old_attempt = m.attempt != me.attempt_number;
    if (m.what == what::release) {
        auto const sets_the_key = [&](message const& other) {
            return other.attempt == m.attempt && !other.answered &&
                   (other.what == what::vote || other.what == what::extend);
        };
        return w.nodes[n].data.lock.value != nonce_of(c, m.attempt) && applies(rule::release_compares) &&
               std::ranges::none_of(w.lines[c][n], sets_the_key);
    }
    if (!m.answered)
        return false;
    if (m.what == what::extend)
        return old_attempt || m.round != me.round_number;
    return old_attempt || me.now == doing::over;
}

void small_steps::tidy(small_world& w, unsigned c) const
{
    client& me = w.clients[c];
    bool listening = false;
    for (unsigned n = 0; n != small_nodes; ++n) {
        small_world::line& line = w.lines[c][n];
        for (message& m : line) {
            if (useless(w, c, n, m))
                m = {};
            listening = listening || (m.what == what::extend && m.attempt == me.attempt_number);
        }
        std::sort(line.begin(), line.end(),
                  [](message const& a, message const& b) { return order(a) < order(b); });
    }
    if (me.now != doing::over || listening)
        return;
    client rest(scope_);
    rest.now = doing::over;
    rest.attempt_number = me.attempt_number;
    rest.rounds_done = me.rounds_done;
    rest.highest_seen = me.highest_seen;
    rest.token = me.token;
    me = rest;
}

void small_steps::tidy(small_world& w) const
{
    for (auto& n : w.nodes) {
        n.data.drop_expired();
        if (n.quarantined_until <= w.now)
            n.quarantined_until = 0;
    }
    for (unsigned c = 0; c != small_clients; ++c)
        tidy(w, c);
}

/// Part by part: g++ 12 clears nothing in a whole world.
void small_steps::clear_padding(small_world& w)
{
    for (auto& n : w.nodes)
        clear_part(n);
    for (auto& c : w.clients)
        clear_part(c);
}

void small_steps::check(small_world& w) const
{
    for (unsigned c = 0; c != small_clients; ++c) {
        client& me = w.clients[c];
        bool const mine = valid(w, c);
        if (mine && me.end_seen)
            w.broken = flaw::came_back;
        bool const ended = me.now == doing::over || (me.now == doing::holding && !scope_.tolerate_suspect &&
                                                     core::reached(me.lease.deadline(), clock(w)));
        me.end_seen = me.end_seen || ended;
        bool const still =
            me.lease.phase() == core::lease_phase::held || me.lease.phase() == core::lease_phase::suspect;
        if (me.now == doing::holding && still && std::popcount(me.denied) > 1)
            w.broken = flaw::loss_not_told;
    }
    if (!scope_.timeless && valid(w, 0) && valid(w, 1))
        w.broken = flaw::two_valid_leases;
}

} // namespace redlock::model

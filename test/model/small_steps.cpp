// SPDX-License-Identifier: BSL-1.0
#include "core/validity.hpp"
#include "model/rules.hpp"
#include "model/small_world.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace redlock::model {

namespace {

constexpr millis tick_millis = 1000;

core::lease_terms const& terms_of(scope const& s)
{
    static core::lease_terms plain{.ttl = {}, .slack = {}, .renew = false};
    plain.ttl = s.ttl * one_tick;
    plain.slack = s.slack * one_tick;
    plain.guarded = s.fenced;
    plain.tolerate_suspect = s.tolerate_suspect;
    return plain;
}

core::agreement agreement_of(scope const& s)
{
    return s.fenced ? core::agreement::one_number : core::agreement::majority;
}

using doing = small_world::client::doing;
using flaw = small_world::flaw;
using what = small_world::message::kind;

} // namespace

small_world::client::client(scope const& s)
    : attempt(agreement_of(s), small_nodes, {}), lease(terms_of(s), small_nodes, {}, {})
{}

small_world::small_world(scope const& s) : nodes{}, clients{client(s), client(s)}, lines{}
{
    for (unsigned n = 0; n != small_nodes; ++n) {
        nodes[n].data.clock = s.clocks ? tick_millis : 0;
        if (s.counters[n] != 0)
            nodes[n].data.counter = {s.counters[n], fence_px};
    }
    if (s.counters != std::array<fence, 3>{} || !s.situation.empty())
        distinct = small_nodes;
}

/// The clients' clocks are as slow as condition C2 allows.
core::instant small_steps::clock(small_world const& w) const
{
    core::duration const since = core::duration{one_tick} * w.now * 99 / 100;
    return {since, since};
}

/// One millisecond less than whole ticks: a key is gone at the tick at which it expires, not one later.
millis small_steps::px() const
{
    return core::key_ttl(scope_.ttl * one_tick, scope_.slack * one_tick).count() - 1;
}

nonce small_steps::nonce_of(unsigned c, unsigned attempt) const
{
    return 1 + c * 16 + attempt;
}

core::fence small_steps::proposal(small_world const& w, unsigned c) const
{
    std::chrono::milliseconds const wall{scope_.clocks ? (w.now + 1) * tick_millis : 0};
    return core::proposal(w.clients[c].highest_seen, wall);
}

bool small_steps::valid(small_world const& w, unsigned c) const
{
    client const& me = w.clients[c];
    if (me.now != doing::holding || me.lease.phase() != core::lease_phase::held)
        return false;
    return !applies(rule::valid_reads_the_clock) || !core::reached(me.lease.deadline(), clock(w));
}

void small_steps::send(small_world& w, unsigned c, unsigned n, message m) const
{
    m.attempt = w.clients[c].attempt_number;
    for (message& free : w.lines[c][n])
        if (free.what == what::none) {
            free = m;
            return;
        }
}

void small_steps::start(small_world& w, unsigned c) const
{
    client& me = w.clients[c];
    me.now = doing::voting;
    ++me.attempt_number;
    me.token = 0;
    me.end_seen = me.other_granted = false;
    me.granted_before_attempt = w.largest_token;
    me.attempt = core::attempt(agreement_of(scope_), small_nodes, clock(w));
    me.lease = core::lease_machine(terms_of(scope_), small_nodes, {}, {});
    me.round = {};
    auto const p = static_cast<std::uint32_t>(proposal(w, c));
    auto step = core::attempt::step::pending;
    for (unsigned n = 0; n != small_nodes; ++n) {
        if (votes(w, n))
            send(w, c, n, {.what = what::vote, .number = p});
        else
            step = std::max(step, me.attempt.voted(n, core::vote::failed));
    }
    follow(w, c, step);
}

void small_steps::follow(small_world& w, unsigned c, core::attempt::step step) const
{
    switch (step) {
    case core::attempt::step::pending:
    case core::attempt::step::heeding: return; // nobody heeds a node here
    case core::attempt::step::write_back: return raise(w, c);
    case core::attempt::step::won: return win(w, c);
    case core::attempt::step::lost: return end(w, c);
    }
}

void small_steps::raise(small_world& w, unsigned c) const
{
    client& me = w.clients[c];
    auto const token = static_cast<std::uint32_t>(me.attempt.token());
    auto step = core::attempt::step::pending;
    for (unsigned n = 0; n != small_nodes; ++n) {
        if (!me.attempt.to_write_back().contains(n))
            continue;
        if (votes(w, n))
            send(w, c, n, {.what = what::raise, .number = token});
        else
            step = std::max(step, me.attempt.wrote_back(n, core::vote::failed));
    }
    follow(w, c, step);
}

void small_steps::win(small_world& w, unsigned c) const
{
    client& me = w.clients[c];
    core::instant const from = applies(rule::clock_before_the_first_byte) ? me.attempt.sent() : clock(w);
    if (core::reached(core::deadline(from, scope_.ttl * one_tick), clock(w))) {
        if (applies(rule::checked_when_handed_out))
            return end(w, c);
        w.broken = flaw::granted_without_time_left;
    }
    me.now = doing::holding;
    me.lease = core::lease_machine(terms_of(scope_), small_nodes, from, me.attempt.holders());
    me.round = {};
    me.round_number = 0;
    me.token = static_cast<std::uint32_t>(me.attempt.token());
    if (scope_.fenced) {
        auto const floor = scope_.timeless ? me.granted_before_attempt : w.largest_token;
        bool const twice = me.token == w.clients[1 - c].token && w.clients[1 - c].now != doing::voting;
        if (me.token <= floor || twice)
            w.broken = flaw::token_not_larger;
        w.largest_token = std::max(w.largest_token, me.token);
    }
    me.other_granted = false;
    w.clients[1 - c].other_granted = true;
}

/// Everything is taken back everywhere, also where no answer came (rules A6 and R1).
void small_steps::end(small_world& w, unsigned c) const
{
    w.clients[c].now = doing::over;
    for (unsigned n = 0; n != small_nodes; ++n)
        send(w, c, n, {.what = what::release});
}

void small_steps::begin_round(small_world& w, unsigned c) const
{
    client& me = w.clients[c];
    ++me.round_number;
    ++me.rounds_done;
    me.denied = 0;
    me.granted_before_round = w.largest_token;
    me.lease.extension_started(me.round, clock(w));
    auto last = core::lease_machine::outcome::pending;
    for (unsigned n = 0; n != small_nodes && me.lease.extending(); ++n) {
        if (votes(w, n) || !applies(rule::quarantine_binds_the_holder))
            send(w, c, n, {.what = what::extend, .round = me.round_number, .number = me.token});
        else
            last = me.lease.answer(me.round, n, core::extension_answer::failed, clock(w));
    }
    settle_round(w, c, last);
}

void small_steps::settle_round(small_world& w, unsigned c, core::lease_machine::outcome outcome) const
{
    client& me = w.clients[c];
    if (outcome == core::lease_machine::outcome::extended) {
        if (me.granted_before_round > me.token && scope_.fenced)
            w.broken = flaw::extended_under_a_larger_token;
        if (me.other_granted && !scope_.timeless)
            w.broken = flaw::extended_after_another_was_granted;
        if (core::reached(me.lease.deadline(), clock(w)))
            w.broken = flaw::extended_without_time_left;
    }
    if (outcome == core::lease_machine::outcome::lost && me.now == doing::holding)
        end(w, c);
}

void small_steps::look(small_world& w, unsigned c) const
{
    if (w.clients[c].lease.due(clock(w)) == core::lease_machine::duty::tell_lost)
        end(w, c);
}

void small_steps::tick(small_world& w) const
{
    ++w.now;
    for (auto& n : w.nodes)
        n.data.advance(tick_millis);
}

/// Its connections die with it: what it has not executed yet is lost, what it said may still be read.
void small_steps::restart(small_world& w, unsigned n) const
{
    ++w.restarts;
    w.nodes[n].data.forget();
    if (applies(rule::quarantine_after_a_restart)) {
        int const length = scope_.quarantine - (applies(rule::quarantine_covers_the_longest_key) ? 0 : 1);
        w.nodes[n].quarantined_until = static_cast<std::uint8_t>(w.now + length);
    }
    for (auto& lines : w.lines)
        for (message& m : lines[n])
            if (!m.answered)
                m = {};
}

void small_steps::take(small_world& w, action a) const
{
    using kind = action::kind;
    bool const of_a_node = a.what >= kind::execute && a.what != kind::tick;
    if (of_a_node && a.node == w.distinct)
        ++w.distinct;
    message& m = w.lines[a.client][a.node][a.slot];
    client& me = w.clients[a.client];
    switch (a.what) {
    case kind::start: start(w, a.client); break;
    case kind::give_up_attempt: follow(w, a.client, me.attempt.time_out()); break;
    case kind::begin_round: begin_round(w, a.client); break;
    case kind::end_round: settle_round(w, a.client, me.lease.time_out(me.round, clock(w))); break;
    case kind::release:
        look(w, a.client);
        if (me.lease.release())
            end(w, a.client);
        break;
    case kind::look_at_clock: look(w, a.client); break;
    case kind::execute:
        execute(w, a.client, a.node, m);
        read(w, a.client, a.node, std::exchange(m, {}));
        break;
    case kind::execute_late:
        ++w.strays;
        execute(w, a.client, a.node, m);
        break;
    case kind::execute_lost:
        ++w.strays;
        execute(w, a.client, a.node, m);
        m = {};
        break;
    case kind::delay:
        ++w.strays;
        m.late = true;
        break;
    case kind::lose:
        ++w.strays;
        m = {};
        break;
    case kind::execute_twice:
        repeat(w, a.client, a.node, m);
        execute(w, a.client, a.node, m);
        read(w, a.client, a.node, std::exchange(m, {}));
        break;
    case kind::read: read(w, a.client, a.node, std::exchange(m, {})); break;
    case kind::tick: tick(w); break;
    case kind::restart: restart(w, a.node); break;
    case kind::step_clock:
        ++w.steps;
        w.nodes[a.node].data.advance(tick_millis);
        break;
    case kind::expire: w.nodes[a.node].data.lock = {}; break;
    }
    tidy(w);
    check(w);
}

} // namespace redlock::model

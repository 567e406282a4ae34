#include "core/backoff.hpp"
#include "core/validity.hpp"
#include "model/rules.hpp"
#include "model/schedule.hpp"

// What src/lock does around the core: acquire, hold, renew, release, without Asio.

namespace redlock::model {

using step = core::attempt::step;

void schedule::wake(unsigned c, micros at)
{
    client& me = clients_[c];
    ++me.generation;
    push(std::max(at, now_), happening::timer, c, 0, me.generation);
}

void schedule::begin_attempt(unsigned c)
{
    client& me = clients_[c];
    me.now = client::doing::voting;
    ++me.attempts;
    if (applies(rule::fresh_nonce) || me.owner == 0)
        me.owner = ++nonces_;
    me.floor = largest_;
    ask_markers(c);
    auto const kind = me.wants.fenced ? core::attempt::kind::fenced : core::attempt::kind::plain;
    me.attempt = core::attempt(kind, terrain_.nodes, clock(c));
    std::chrono::milliseconds const wall_clock{
        terrain_.wall_clocks ? 1'000'000'000 + now_ / one_milli + me.time.wall_offset : 0};
    me.proposal = core::proposal(me.highest_seen, wall_clock);
    if (terrain_.waiting)
        return ask_first(c);
    auto verdict = step::pending;
    for (unsigned n = 0; n != terrain_.nodes; ++n) {
        if (usable(c, n))
            send(c, n, ask::vote, me.owner, me.proposal, true);
        else
            verdict = std::max(verdict, me.attempt.voted(n, core::vote::failed));
    }
    wake(c, true_time(c, clock(c) + terrain_.node_timeout));
    if (calm_ && me.now == client::doing::voting && dice_.one_in(10))
        return cancel(c);
    follow(c, verdict);
}

void schedule::follow(unsigned c, step s)
{
    switch (s) {
    case step::pending: return;
    case step::raise: return raise(c);
    case step::won: return won(c);
    case step::lost: return lose_attempt(c, clients_[c].attempt.contended());
    }
}

void schedule::raise(unsigned c)
{
    client& me = clients_[c];
    auto verdict = step::pending;
    for (unsigned n = 0; n != terrain_.nodes; ++n) {
        if (!me.attempt.to_raise().contains(n))
            continue;
        if (usable(c, n))
            send(c, n, ask::raise, me.owner, me.attempt.token(), true);
        else
            verdict = std::max(verdict, me.attempt.raised(n, core::vote::failed));
    }
    wake(c, true_time(c, clock(c) + terrain_.node_timeout));
    if (!calm_ && dice_.one_in(30)) {
        count(fault::cancelled_while_raising);
        cancel(c);
        if (me.now != client::doing::voting)
            return;
    }
    follow(c, verdict);
}

void schedule::won(unsigned c)
{
    client& me = clients_[c];
    core::instant const sent = applies(rule::clock_before_the_first_byte) ? me.attempt.sent() : clock(c);
    if (core::reached(core::deadline(sent, me.wants.lease.ttl), clock(c)) &&
        applies(rule::checked_when_handed_out))
        return lose_attempt(c, true);
    hold(c, sent);
}

void schedule::lose_attempt(unsigned c, bool contended)
{
    client& me = clients_[c];
    ++me.refusals;
    if (!terrain_.waiting) {
        take_back(c);
        return pause(c, contended);
    }
    take_back(c, me.wait.perhaps());
    if (contended && me.attempt.holders().size() < core::majority(terrain_.nodes))
        return wait_for_others(c);
    me.wait.took_back();
    pause(c, contended);
}

void schedule::take_back(unsigned c)
{
    core::node_set all;
    for (unsigned n = 0; n != terrain_.nodes; ++n)
        if (applies(rule::release_goes_everywhere) || clients_[c].attempt.holders().contains(n))
            all.insert(n);
    take_back(c, all);
}

void schedule::take_back(unsigned c, core::node_set nodes)
{
    client const& me = clients_[c];
    for (unsigned n = 0; n != terrain_.nodes; ++n) {
        if (!nodes.contains(n))
            continue;
        if (links_[c][n].up)
            send(c, n, ask::release, me.owner, 0, true);
        else
            owe(c, n, me.owner);
    }
}

void schedule::pause(unsigned c, bool contended)
{
    client& me = clients_[c];
    me.now = client::doing::pausing;
    me.hears = false;
    core::duration const first = std::max<core::duration>(std::chrono::milliseconds{2},
                                                          std::chrono::microseconds{4 * terrain_.latency});
    constexpr std::chrono::milliseconds most{200};
    auto const random = static_cast<core::random_fraction>(dice_.next());
    auto const delay = contended ? core::full_jitter(me.refusals, first, most, random)
                                 : core::half_jitter(me.refusals, first, most, random);
    nodes_awaited_until_ = now_ + most / std::chrono::microseconds{1};
    wake(c, true_time(c, clock(c) + delay));
}

void schedule::hold(unsigned c, core::instant sent)
{
    client& me = clients_[c];
    me.now = client::doing::holding;
    me.refusals = 0;
    me.late_timer = false;
    me.first_sent = sent;
    me.token = me.attempt.token();
    if (!applies(rule::token_is_what_was_granted))
        me.token = servers_[0].data.counter.value;
    me.lease = core::lease_machine(me.wants.lease, terrain_.nodes, sent, me.attempt.holders());
    me.body_ends = now_ + length_of_body();
    watch_grant(c);
    me.served = seen_enough();
    if (terrain_.waiting) {
        watch_gap();
        watch_wish();
        --me.queue;
        if (me.offered_turn)
            me.tenure.nobody_came();
        me.tenure.granted(clock(c));
        me.precedence.granted();
        watch_row(c);
        leases_.insert(me.owner);
        ++changes_;
        trouble_in_the_calm();
    }
    wake_for_lease(c);
}

void schedule::wake_for_lease(unsigned c)
{
    client const& me = clients_[c];
    micros at = me.body_ends;
    if (auto const due = me.lease.next_due())
        at = std::min(at, true_time(c, *due));
    if (me.lease.extending())
        at = std::min(at, true_time(c, me.lease.extension_sent() + terrain_.node_timeout));
    if (!calm_ && dice_.one_in(200)) {
        bool const renewal = !me.lease.extending();
        count(renewal ? fault::renewal_late : fault::timer_late);
        clients_[c].late_timer = true;
        at += static_cast<micros>(dice_.below(static_cast<std::uint64_t>(terrain_.ttl * 1500)));
    }
    wake(c, at);
}

void schedule::begin_round(unsigned c)
{
    client& me = clients_[c];
    ++me.rounds;
    me.denied = 0;
    me.round_floor = largest_;
    me.lease.extension_started(clock(c));
    auto last = core::lease_machine::outcome::pending;
    for (unsigned n = 0; n != terrain_.nodes && me.lease.extending(); ++n) {
        bool const counts = applies(rule::quarantine_binds_the_holder) ? usable(c, n) : links_[c][n].up;
        if (counts)
            send(c, n, ask::extend, me.owner, me.token, true);
        else
            last = me.lease.answer(n, core::extension_answer::failed, clock(c));
    }
    settle(c, last);
}

void schedule::settle(unsigned c, core::lease_machine::outcome outcome)
{
    client& me = clients_[c];
    watch_round(c, outcome);
    if (me.now != client::doing::holding)
        return;
    if (outcome == core::lease_machine::outcome::lost)
        return lose_lease(c);
    wake_for_lease(c);
}

void schedule::lose_lease(unsigned c)
{
    clients_[c].lease_ended = now_;
    clients_[c].tenure.ended(clock(c));
    watch_end(c);
    take_back(c);
    rest(c, dice_.between(0, 20) * one_milli);
}

void schedule::release(unsigned c)
{
    client& me = clients_[c];
    if (me.lease.due(clock(c)) == core::lease_machine::duty::tell_lost)
        return lose_lease(c);
    if (terrain_.waiting) {
        if (!me.served)
            me.queue += static_cast<unsigned>(dice_.below(3)); // more have come meanwhile
        me.lease_ended = now_;
        if (hand_over(c))
            return;
        me.tenure.ended(clock(c));
        if (dies(c))
            return;
    }
    me.lease.release();
    watch_end(c);
    take_back(c);
    if (!applies(rule::no_extension_after_the_end))
        begin_round(c);
    rest(c, dice_.between(0, 20) * one_milli);
}

void schedule::rest(unsigned c, micros how_long)
{
    client& me = clients_[c];
    me.now = client::doing::resting;
    ++me.generation;
    if (terrain_.waiting)
        watch_wish();
    if (me.queue != 0 && applies(rule::next_of_the_queue_asks))
        return come(c, core::tenure::next::waiting);
    if (!me.served)
        wake(c, now_ + how_long);
}

/// The caller wants the lock no more.
void schedule::cancel(unsigned c)
{
    client& me = clients_[c];
    if (me.queue > 1) { // the attempt goes on for the next one
        --me.queue;
        return;
    }
    me.queue = 0;
    if (me.now == client::doing::voting && applies(rule::cancelling_takes_back)) {
        if (terrain_.waiting)
            take_back(c, me.wait.perhaps());
        else
            take_back(c);
    }
    rest(c, dice_.between(0, 5) * one_milli);
}

} // namespace redlock::model

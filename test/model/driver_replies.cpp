#include "model/rules.hpp"
#include "model/schedule.hpp"

#include <algorithm>

// What src/lock does with answers.

namespace redlock::model {

using step = core::attempt::step;

void schedule::read_attempt(unsigned c, message const& m)
{
    client& me = clients_[c];
    if (m.attempt != me.attempts && applies(rule::answers_to_past_attempts))
        return;
    bool const voting = me.now == client::doing::voting;
    bool const error = m.said.what == reply::kind::error && applies(rule::only_ok_is_a_grant);
    if (error && m.said.number == 1 && voting && m.by_hash)
        return send(c, m.node, m.what, m.owner, m.number, false);
    auto verdict = step::pending;
    if (m.what == ask::raise) {
        verdict = me.attempt.raised(m.node, error                ? core::vote::failed
                                            : m.said.number == 1 ? core::vote::granted
                                                                 : core::vote::denied);
    } else {
        bool const denied = m.said.what == reply::kind::nil || m.said.what == reply::kind::held;
        if (!error)
            me.highest_seen = std::max<core::fence>(me.highest_seen, m.said.number);
        auto const said = error ? core::vote::failed : denied ? core::vote::denied : core::vote::granted;
        if (terrain_.waiting && denied)
            hear_refusal(c, m);
        if (voting)
            me.wait.answered(m.node, error ? waiter::said::no : waiter::said::yes);
        verdict = me.attempt.voted(m.node, said, m.said.number);
    }
    if (voting && terrain_.waiting && me.wait.in_turn())
        return follow_in_turn(c, m, verdict);
    if (voting)
        return follow(c, verdict);
    if (me.now == client::doing::holding && me.attempt.holders().contains(m.node))
        me.lease.late_grant(m.node, clock(c));
}

void schedule::read_extension(unsigned c, message const& m)
{
    client& me = clients_[c];
    if (m.owner != me.owner || me.now == client::doing::voting)
        return;
    if (m.round != me.rounds && applies(rule::answers_to_past_rounds))
        return;
    if (m.said.what == reply::kind::error && m.said.number == 1 && m.by_hash)
        return send(c, m.node, ask::extend, m.owner, m.number, false);
    using said = core::extension_answer;
    auto const answer = m.said.what == reply::kind::error ? said::failed
                        : m.said.number == 1              ? said::mine
                        : m.said.number == 2              ? said::repaired
                                                          : said::not_mine;
    if (answer == said::not_mine && me.lease.extending())
        me.denied = static_cast<std::uint8_t>(me.denied | 1U << m.node);
    if (core::reached(me.lease.deadline(), clock(c)) && !me.wants.lease.tolerate_suspect)
        me.end_seen = true;
    settle(c, me.lease.answer(m.node, answer, clock(c)));
}

void schedule::fail_vote(unsigned c, unsigned n)
{
    client& me = clients_[c];
    if (!me.wait.was_asked(n))
        return;
    me.wait.answered(n, waiter::said::no);
    auto const s = me.attempt.voted(n, core::vote::failed);
    me.wait.in_turn() && s == step::pending ? pass_over(c) : follow(c, s);
}

/// A connection broke: what waited on it has failed (rule A7).
void schedule::read_failure(unsigned c, unsigned n)
{
    client& me = clients_[c];
    if (me.now == client::doing::voting && me.attempt.awaits(n)) {
        if (!applies(rule::vote_is_never_resent) && !me.attempt.raising())
            return;
        if (terrain_.waiting && !me.attempt.raising())
            return fail_vote(c, n);
        return follow(c, me.attempt.raising() ? me.attempt.raised(n, core::vote::failed)
                                              : me.attempt.voted(n, core::vote::failed));
    }
    if (me.now == client::doing::holding && me.lease.extending())
        settle(c, me.lease.answer(n, core::extension_answer::failed, clock(c)));
}

} // namespace redlock::model

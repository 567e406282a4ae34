#include "core/validity.hpp"
#include "model/rules.hpp"
#include "model/schedule.hpp"

#include <utility>

// What src/lock does for those who wait: the queue, the meeting point, words of changes, leases from hand to hand.

namespace redlock::model {

using step = core::attempt::step;

/// Somebody wants the lock, and nobody of this client has it or asks for it.
void schedule::come(unsigned c, core::tenure::next who)
{
    client& me = clients_[c];
    core::instant const now = clock(c);
    me.refusals = 0;
    me.pause_ends = {};
    me.wait.open(terrain_.wait);
    me.tenure.look(now, terrain_.wait.turn());
    me.offered_turn = !me.tenure.may_go_on(terrain_.tenure, who, now) && applies(rule::the_turn_is_offered);
    watch_wish();
    if (!me.offered_turn)
        return begin_attempt(c);
    ++out_.turns;
    me.now = client::doing::pausing;
    me.hears = true;
    me.wait.offer_turn(terrain_.wait, ready(c), now, {.poll = 0, .dodge = 0});
    plan(c);
}

void schedule::ask_first(unsigned c)
{
    client& me = clients_[c];
    watch_asking(c);
    if (auto const first = me.wait.attempt_begins())
        ask_in_turn(c, *first);
    else
        ask_all(c);
}

void schedule::ask_in_turn(unsigned c, unsigned n)
{
    client& me = clients_[c];
    if (usable(c, n)) {
        me.wait.asked(n);
        send(c, n, ask::vote, me.owner, me.proposal, true);
        if (applies(rule::silent_is_passed_over))
            return wake(c, true_time(c, clock(c) + terrain_.wait.patience()));
        return wake(c, true_time(c, me.attempt.sent() + terrain_.node_timeout));
    }
    me.wait.answered(n, waiter::said::no);
    auto const s = me.attempt.voted(n, core::vote::failed);
    s == step::pending ? pass_over(c) : follow(c, s);
}

void schedule::pass_over(unsigned c)
{
    client& me = clients_[c];
    if (auto const next = me.wait.pass_over(me.attempt))
        ask_in_turn(c, *next);
    else
        ask_all(c);
}

void schedule::ask_all(unsigned c)
{
    client& me = clients_[c];
    me.wait.ask_all();
    auto verdict = step::pending;
    for (unsigned n = 0; n != terrain_.nodes; ++n) {
        if (me.wait.was_asked(n) || me.attempt.has_answered(n))
            continue;
        if (usable(c, n)) {
            me.wait.asked(n);
            send(c, n, ask::vote, me.owner, me.proposal, true);
            continue;
        }
        me.wait.answered(n, waiter::said::no);
        verdict = std::max(verdict, me.attempt.voted(n, core::vote::failed));
    }
    wake(c, true_time(c, me.attempt.sent() + terrain_.node_timeout));
    follow(c, verdict);
}

/// A fenced vote that is refused has read the key: where the connection tracks, word will come.
void schedule::hear_refusal(unsigned c, message const& m)
{
    client& me = clients_[c];
    bool const fenced = m.said.what == reply::kind::held;
    std::optional<core::duration> left;
    if (fenced)
        left = std::chrono::milliseconds{m.said.left};
    me.wait.refused(m.node, fenced && links_[c][m.node].tracks, left, clock(c), terrain_.wait);
}

void schedule::follow_in_turn(unsigned c, message const& m, step s)
{
    client& me = clients_[c];
    if (s != step::pending)
        return follow(c, s);
    if (m.said.what == reply::kind::error)
        return pass_over(c);
    bool const granted = m.said.what == reply::kind::ok || m.said.what == reply::kind::number;
    if (granted || !applies(rule::first_refusal_is_final))
        return ask_all(c);
    follow(c, me.attempt.give_way());
}

void schedule::wait_for_others(unsigned c)
{
    client& me = clients_[c];
    me.now = client::doing::pausing;
    me.hears = true;
    me.offered_turn = false;
    me.tenure.somebody_came();
    me.wait.wait(terrain_.wait, me.attempt, ready(c), clock(c),
                 {.poll = static_cast<core::random_fraction>(dice_.next()),
                  .dodge = static_cast<core::random_fraction>(dice_.next())});
    if (me.wait.must_look_at_first())
        look(c, *me.wait.meeting_point());
    plan(c);
}

void schedule::plan(unsigned c)
{
    client& me = clients_[c];
    auto const next = me.wait.plan(clock(c));
    if (next.vote)
        return begin_attempt(c);
    if (next.look_around)
        for (unsigned n = 0; n != terrain_.nodes; ++n)
            if (!me.wait.listens(n))
                look(c, n);
    ++me.generation;
    if (next.until)
        wake(c, true_time(c, *next.until));
}

void schedule::look(unsigned c, unsigned n)
{
    if (!usable(c, n))
        return;
    links_[c][n].tracks = true;
    clients_[c].wait.looks(n);
    send(c, n, ask::look, 0, 0, false);
}

void schedule::read_look(unsigned c, message const& m)
{
    client& me = clients_[c];
    if (m.attempt != me.attempts || me.now != client::doing::pausing || !me.hears)
        return;
    if (m.said.what == reply::kind::nil)
        me.wait.found(m.node, std::nullopt, clock(c), terrain_.wait);
    else if (m.said.what == reply::kind::held) {
        me.wait.found(m.node, std::chrono::milliseconds{m.said.left}, clock(c), terrain_.wait);
        if (m.node == me.wait.meeting_point() && std::exchange(me.last_met, m.owner) != m.owner)
            me.precedence.another_had_it();
    }
    plan(c);
}

void schedule::read_word(unsigned c, unsigned n)
{
    client& me = clients_[c];
    ++out_.words;
    bool const waits = me.now == client::doing::pausing && me.hears;
    auto const courtesy = waits && me.wait.ends_a_row(n) ? me.precedence.courtesy(terrain_.wait.turn() / 2)
                                                         : core::duration::zero();
    if (courtesy > core::duration::zero()) {
        ++out_.pauses;
        me.pause_ends = clock(c) + courtesy;
    }
    if ((waits || me.now == client::doing::voting) && me.wait.changed(n, clock(c), courtesy) && waits &&
        applies(rule::word_wakes))
        plan(c);
}

core::node_set schedule::ready(unsigned c) const
{
    core::node_set those;
    for (unsigned n = 0; n != terrain_.nodes; ++n)
        if (usable(c, n))
            those.insert(n);
    return those;
}

/// A node can be asked, or certainly cannot.
void schedule::nodes_changed(unsigned c)
{
    client& me = clients_[c];
    if (!terrain_.waiting)
        return;
    core::node_set const those = ready(c);
    me.wait.disconnected(those);
    if (me.now != client::doing::pausing || !applies(rule::come_back_wakes))
        return;
    if (me.hears) {
        me.wait.ready_changed(those);
        plan(c);
    } else if (those.size() >= core::majority(terrain_.nodes))
        begin_attempt(c);
}

/// To the next of the same client, without the network (rule W4).
bool schedule::hand_over(unsigned c)
{
    client& me = clients_[c];
    core::instant const now = clock(c);
    if (me.queue == 0 || !me.tenure.may_go_on(terrain_.tenure, core::tenure::next::waiting, now) ||
        me.lease.phase() != core::lease_phase::held ||
        core::remaining(me.lease.deadline(), now) < me.wants.lease.ttl / 2)
        return false;
    write_register(c);
    --me.queue;
    ++out_.hand_overs;
    ++out_.grants;
    ++me.rounds;
    me.denied = 0;
    me.tenure.granted(now);
    watch_row(c);
    me.lease = me.lease.handed_over(me.wants.lease, now);
    me.first_sent = now;
    me.read = register_;
    me.served = me.served || seen_enough();
    watch_exclusion();
    me.body_ends = now_ + length_of_body();
    wake_for_lease(c);
    return true;
}

// The servers: whom they tell.

/// Once; and not the one whose own change it is (NOLOOP).
void schedule::tell(unsigned n, unsigned but)
{
    server& s = servers_[n];
    for (unsigned c = 0; c != terrain_.clients; ++c) {
        link& line = links_[c][n];
        unsigned const told = s.tells[c];
        s.tells[c] = 0;
        if (c == but || told != line.connection + 1U || !line.up || !applies(rule::every_change_is_told))
            continue;
        message m{};
        m.what = ask::word;
        m.client = static_cast<std::uint8_t>(c);
        m.node = static_cast<std::uint8_t>(n);
        m.connection = line.connection;
        micros at = now_ + travel();
        if (trouble_with_word(m, at))
            continue;
        at = std::max({at, line.replies_blocked, line.last_answer + 1});
        line.last_answer = at;
        push(at, happening::answer, c, n, keep(m));
    }
}

/// It has read the key. Where the table is full, it may be forgotten at once, and is told so as if the key had
/// changed.
void schedule::remember(unsigned n, message const& m)
{
    server& s = servers_[n];
    link const& line = links_[m.client][n];
    if (!line.tracks || m.connection != line.connection)
        return;
    s.tells[m.client] = static_cast<std::uint16_t>(m.connection + 1);
    if (s.forgetful_until > now_ && dice_.one_in(2)) {
        ++changes_; // as far as anybody is told
        tell(n, most_clients);
    }
}

/// Servers look for keys that have expired from time to time.
void schedule::plan_expiry(unsigned n)
{
    server& s = servers_[n];
    if (!terrain_.waiting || s.expiry_planned || !s.data.lock.exists())
        return;
    s.expiry_planned = true;
    millis const left = std::max<millis>(s.data.lock.expires - wall(s), 0);
    push(now_ + left * one_milli + dice_.between(one_milli, terrain_.expiry_seen), happening::expire, 0, n);
}

void schedule::on_expiry(unsigned n)
{
    servers_[n].expiry_planned = false;
    touch(servers_[n]);
    plan_expiry(n);
}

} // namespace redlock::model

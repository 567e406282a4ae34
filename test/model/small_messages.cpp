// SPDX-License-Identifier: BSL-1.0
#include "model/small_world.hpp"

#include <algorithm>

// The effect of a message on the node that executes it, and of its answer on the client that reads it.

namespace redlock::model {

namespace {

using doing = small_world::client::doing;
using what = small_world::message::kind;

} // namespace

void small_steps::execute(small_world& w, unsigned c, unsigned n, message& m) const
{
    small_node& node = w.nodes[n].data;
    nonce const owner = nonce_of(c, m.attempt);
    fenced_call const call{.px = px(), .fence_px = fence_px, .owner = owner, .number = m.number};
    reply said;
    switch (m.what) {
    case what::none: return;
    case what::vote: said = scope_.fenced ? node.fenced_vote(call) : node.vote(owner, px()); break;
    case what::raise: said = node.fenced_raise(call); break;
    case what::extend: said = scope_.fenced ? node.fenced_extend(call) : node.extend(owner, px()); break;
    case what::release: said = node.release(owner); break;
    }
    m.answered = true;
    m.said = said.what;
    m.number = static_cast<std::uint32_t>(said.number);
    if (m.what == what::release || m.copy)
        m = {};
}

void small_steps::repeat(small_world& w, unsigned c, unsigned n, message m) const
{
    m.copy = m.late = true;
    ++w.duplicates;
    for (message& free : w.lines[c][n])
        if (free.what == what::none) {
            free = m;
            return;
        }
}

void small_steps::read(small_world& w, unsigned c, unsigned n, message m) const
{
    client& me = w.clients[c];
    if (m.what == what::none)
        return;
    if (m.what != what::extend)
        return read_attempt(w, c, n, m);
    if (m.attempt != me.attempt_number || me.now == doing::voting || me.now == doing::nothing)
        return;
    if (m.round != me.round_number)
        return;
    using said = core::extension_answer;
    auto const answer = m.number == 1 ? said::mine : m.number == 2 ? said::repaired : said::not_mine;
    if (answer == said::not_mine && me.lease.extending())
        me.denied = static_cast<std::uint8_t>(me.denied | 1U << n);
    settle_round(w, c, me.lease.answer(me.round, n, answer, clock(w)));
}

void small_steps::read_attempt(small_world& w, unsigned c, unsigned n, message m) const
{
    client& me = w.clients[c];
    if (m.attempt != me.attempt_number)
        return;
    auto step = core::attempt::step::pending;
    if (m.what == what::raise) {
        step = me.attempt.wrote_back(n, m.number == 1 ? core::vote::granted : core::vote::denied);
    } else {
        bool const granted = m.said == reply::kind::ok || m.said == reply::kind::number;
        me.highest_seen = std::max(me.highest_seen, m.number);
        step = me.attempt.voted(n, granted ? core::vote::granted : core::vote::denied, m.number);
    }
    if (me.now == doing::voting)
        follow(w, c, step);
    else if (me.now == doing::holding && me.attempt.holders().contains(n))
        me.lease.late_grant(n, clock(w));
}

} // namespace redlock::model

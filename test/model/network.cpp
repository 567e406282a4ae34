#include "model/rules.hpp"
#include "model/schedule.hpp"

// Connections, and the servers at their far ends.

namespace redlock::model {

micros schedule::travel()
{
    return terrain_.latency + static_cast<micros>(dice_.below(static_cast<std::uint64_t>(terrain_.latency)));
}

std::uint16_t schedule::keep(message const& m)
{
    if (free_messages_.empty()) {
        messages_.push_back(m);
        return static_cast<std::uint16_t>(messages_.size() - 1);
    }
    std::uint16_t const index = free_messages_.back();
    free_messages_.pop_back();
    messages_[index] = m;
    return index;
}

/// In order on each connection; a release without its rule overtakes what it should stay behind.
void schedule::send(unsigned c, unsigned n, ask what, nonce owner, std::uint64_t number, bool by_hash)
{
    client const& me = clients_[c];
    link& line = links_[c][n];
    message m{.what = what,
              .client = static_cast<std::uint8_t>(c),
              .node = static_cast<std::uint8_t>(n),
              .duplicate = false,
              .by_hash = by_hash,
              .lost_reply = false,
              .dead = false,
              .held_until = 0,
              .connection = line.connection,
              .attempt = me.attempts,
              .round = me.rounds,
              .owner = owner,
              .number = number,
              .expected = line.mark,
              .said = {}};
    micros at = now_ + travel();
    trouble_with_request(m, at);
    if (line.requests_blocked > now_)
        at = std::max(at, line.requests_blocked);
    if (what != ask::release || applies(rule::release_behind_the_vote)) {
        at = std::max(at, line.last_request + 1);
        line.last_request = at;
    }
    push(at, happening::arrive, c, n, keep(m));
}

void schedule::arrive(std::uint16_t index)
{
    message& m = messages_[index];
    server& s = servers_[m.node];
    micros const later = std::max(m.held_until, s.stalled_until);
    if (!m.dead && later > now_)
        return push(later, happening::arrive, m.client, m.node, index);
    link& line = links_[m.client][m.node];
    if (m.dead || missing(m.node, terrain::absence::silent)) {
        free_messages_.push_back(index);
        return;
    }
    touch(s);
    auto const before = s.data.lock;
    m.said = execute(s, m);
    if (s.data.lock != before &&
        (m.what == ask::extend || (m.what == ask::release && leases_.contains(before.value))))
        ++changes_;
    if (terrain_.waiting && s.data.lock != before)
        tell(m.node, m.duplicate || m.connection != line.connection ? most_clients : m.client);
    if (m.what == ask::look)
        m.owner = s.data.lock.value;
    if (terrain_.waiting && (m.what == ask::look || m.said.what == reply::kind::held))
        remember(m.node, m);
    plan_expiry(m.node);
    bool const done = m.said.what != reply::kind::error;
    if (m.what == ask::vote && !m.duplicate && done) {
        if (line.last_vote == m.owner && applies(rule::fresh_nonce))
            break_off(breach::voted_twice);
        line.last_vote = m.owner;
    }
    if (m.duplicate || m.connection != line.connection) {
        free_messages_.push_back(index);
        return;
    }
    micros at = now_ + travel();
    trouble_with_answer(m, at);
    if (line.replies_blocked > now_)
        at = std::max(at, line.replies_blocked);
    at = std::max(at, line.last_answer + 1);
    line.last_answer = at;
    push(at, happening::answer, m.client, m.node, index);
}

reply schedule::execute(server& s, message const& m)
{
    constexpr reply error{.what = reply::kind::error};
    constexpr reply no_script{.what = reply::kind::error, .number = 1};
    touch(s);
    lock_terms const& its = clients_[m.client].wants;
    bool const script = its.fenced || m.what == ask::extend || m.what == ask::release;
    if (script && m.by_hash && !s.knows_scripts)
        return no_script;
    s.knows_scripts = s.knows_scripts || script;
    if (s.read_only_until > now_ && m.what != ask::look)
        return error;
    if (s.full_until > now_ && m.what != ask::release && m.what != ask::look &&
        (its.fenced || m.what == ask::vote))
        return error;
    fenced_call const call{its.px, its.fence_px, m.owner, m.number, m.expected};
    switch (m.what) {
    case ask::vote: return its.fenced ? s.data.fenced_vote(call) : s.data.vote(m.owner, its.px);
    case ask::raise: return s.data.fenced_raise(call);
    case ask::extend: return its.fenced ? s.data.fenced_extend(call) : s.data.extend(m.owner, its.px);
    case ask::release: return s.data.release(m.owner);
    case ask::look: return s.data.look();
    case ask::word: break;
    }
    return error;
}

void schedule::answer(std::uint16_t index)
{
    message const m = messages_[index];
    free_messages_.push_back(index);
    link& line = links_[m.client][m.node];
    if (m.dead || m.connection != line.connection)
        return;
    line.heard = clock(m.client);
    if (m.said.what == reply::kind::stranger) { // its data are not what they were: introduce yourself again
        reset(m.client, m.node, false);
        return;
    }
    switch (m.what) {
    case ask::vote:
    case ask::raise: return read_attempt(m.client, m);
    case ask::extend: return read_extension(m.client, m);
    case ask::look: return read_look(m.client, m);
    case ask::word: return read_word(m.client, m.node);
    case ask::release:
        if (m.said.what == reply::kind::error && m.said.number == 1)
            send(m.client, m.node, ask::release, m.owner, 0, false);
    }
}

/// What was under way is lost with the connection, or arrives after all, behind the client's back. No answer comes back.
void schedule::reset(unsigned c, unsigned n, bool executes_later)
{
    link& line = links_[c][n];
    if (!line.up)
        return;
    line.up = line.tracks = false;
    ++changes_;
    for (event const& e : events_) {
        if (e.client != c || e.node != n || (e.what != happening::arrive && e.what != happening::answer))
            continue;
        message& m = messages_[e.index];
        if (m.connection != line.connection || m.duplicate)
            continue;
        if (m.what == ask::release)
            owe(c, n, m.owner);
        if (e.what == happening::answer || !executes_later)
            m.dead = true;
        else
            m.held_until =
                now_ + static_cast<micros>(dice_.below(static_cast<std::uint64_t>(terrain_.px * 1500)));
    }
    ++line.connection;
    push(now_ + dice_.between(1, 10) * one_milli, happening::connect, c, n);
    read_failure(c, n);
    nodes_changed(c);
}

void schedule::owe(unsigned c, unsigned n, nonce owner)
{
    for (debt& d : links_[c][n].debts)
        if (d.until <= now_) {
            d = {owner, now_ + terrain_.px * one_milli};
            return;
        }
}

void schedule::pay(unsigned c, unsigned n)
{
    for (debt& d : links_[c][n].debts)
        if (d.until > now_) {
            d.until = 0;
            send(c, n, ask::release, d.owner, 0, true);
        }
}

void schedule::connect(unsigned c, unsigned n)
{
    if (missing(n, terrain::absence::away))
        return;
    link& line = links_[c][n];
    micros const open = std::max({line.requests_blocked, line.replies_blocked, servers_[n].stalled_until});
    if (open > now_)
        return push(open + travel(), happening::connect, c, n);
    line.up = true;
    line.last_request = line.last_answer = now_;
    meet(c, n);
    pay(c, n);
    client const& me = clients_[c];
    if (!applies(rule::vote_is_never_resent) && me.now == client::doing::voting)
        send(c, n, ask::vote, me.owner, core::proposal(me.highest_seen, {}), true);
    nodes_changed(c);
}

} // namespace redlock::model

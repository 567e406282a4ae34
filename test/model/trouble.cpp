#include "model/schedule.hpp"

#include <array>

// Faults, as they strike.

namespace redlock::model {

namespace {

constexpr std::array client_faults{fault::connection_reset,       fault::old_connection_delivers_late,
                                   fault::client_paused,          fault::client_suspended,
                                   fault::requests_blocked,       fault::replies_blocked,
                                   fault::minority_unreachable,   fault::majority_unreachable,
                                   fault::cancelled_while_voting, fault::cancelled_while_pausing,
                                   fault::lease_destroyed};

constexpr std::array node_faults{fault::node_clock_forward,  fault::node_clock_back,
                                 fault::node_restarts_empty, fault::node_restarts_with_old_data,
                                 fault::promoted_replica,    fault::flush_all,
                                 fault::marker_lost,         fault::script_flush,
                                 fault::out_of_memory,       fault::read_only,
                                 fault::node_stalled,        fault::tracking_table_full};

/// Where there are newcomers, most faults are of those that a node forgets by, or tells more than it knows.
constexpr std::array forgetting{fault::node_restarts_empty, fault::node_restarts_with_old_data,
                                fault::promoted_replica,    fault::flush_all,
                                fault::flush_all,           fault::false_word,
                                fault::node_clock_forward};

} // namespace

void schedule::count(fault f)
{
    ++counts_[static_cast<std::size_t>(f)];
    if (log_)
        *log_ += std::string("    ") + name(f) + '\n';
}

void schedule::some_fault()
{
    unsigned const n = static_cast<unsigned>(dice_.below(terrain_.nodes));
    if (dice_.one_in(3))
        servers_[dice_.below(terrain_.nodes)].backup = servers_[n].data;
    one_fault(n);
    somebody_comes();
    micros const next = now_ + dice_.between(1, 2 * terrain_.between_faults);
    if (next < terrain_.faults_until)
        push(next, happening::fault, 0, 0);
}

void schedule::one_fault(unsigned n)
{
    if (terrain_.newcomers && !dice_.one_in(4))
        return node_fault(forgetting[dice_.below(forgetting.size())], n);
    std::size_t const those_of_waiting = terrain_.waiting ? 0 : 1; // the last one
    std::size_t const kind = dice_.below(client_faults.size() + node_faults.size() - those_of_waiting);
    if (kind < client_faults.size())
        client_fault(client_faults[kind], static_cast<unsigned>(dice_.below(terrain_.clients)));
    else
        node_fault(node_faults[kind - client_faults.size()], n);
}

void schedule::client_fault(fault f, unsigned c)
{
    client& me = clients_[c];
    unsigned const n = static_cast<unsigned>(dice_.below(terrain_.nodes));
    unsigned const minority = terrain_.nodes - core::majority(terrain_.nodes);
    using doing = client::doing;
    switch (f) {
    case fault::connection_reset:
    case fault::old_connection_delivers_late:
        count(f);
        return reset(c, n, f == fault::old_connection_delivers_late);
    case fault::client_paused:
    case fault::client_suspended: {
        micros const length = dice_.between(1, terrain_.px * 2000);
        me.frozen_until = std::max(me.frozen_until, now_ + length);
        me.late_timer = true;
        if (f == fault::client_suspended) {
            me.time.raw -= length * me.time.raw_rate / 1000;
            if (me.time.boot_rate < me.time.raw_rate) // no clock is right any more: against condition C2
                time_counts_ = false;
        }
        return count(f);
    }
    case fault::requests_blocked: count(f); return block(true, false, 1, c);
    case fault::replies_blocked: count(f); return block(false, true, 1, c);
    case fault::minority_unreachable:
        if (minority != 0)
            count(f);
        return block(true, true, minority, c);
    case fault::majority_unreachable: count(f); return block(true, true, minority + 1, c);
    case fault::cancelled_while_voting:
    case fault::cancelled_while_pausing:
        if (me.now != (f == fault::cancelled_while_voting ? doing::voting : doing::pausing))
            return;
        count(f);
        return cancel(c);
    case fault::lease_destroyed:
        if (me.now != doing::holding)
            return;
        count(f);
        return release(c);
    default: return;
    }
}

void schedule::block(bool requests, bool replies, unsigned nodes, unsigned c)
{
    unsigned const first = static_cast<unsigned>(dice_.below(terrain_.nodes));
    micros const until = now_ + dice_.between(1, terrain_.px * 1500);
    for (unsigned i = 0; i != nodes; ++i) {
        link& line = links_[c][(first + i) % terrain_.nodes];
        line.requests_blocked = requests ? until : line.requests_blocked;
        line.replies_blocked = replies ? until : line.replies_blocked;
    }
}

void schedule::node_fault(fault f, unsigned n)
{
    server& s = servers_[n];
    micros const until = now_ + dice_.between(1, terrain_.px * 1000);
    touch(s);
    switch (f) {
    case fault::node_clock_forward: {
        millis const step = dice_.one_in(2) ? s.room : dice_.between(0, s.room);
        if (step == 0)
            return;
        s.steps += step;
        s.room -= step;
        break;
    }
    case fault::node_clock_back:
        s.steps -= dice_.between(1, terrain_.px);
        clocks_apart_ = clocks_apart_ || s.steps < -terrain_.px / 8;
        break;
    case fault::node_restarts_empty:
    case fault::node_restarts_with_old_data:
        if (would_hide_a_promotion(s))
            return;
        restart(n, f == fault::node_restarts_with_old_data);
        break;
    case fault::promoted_replica:
        restart(n, true);
        s.data.restore(s.backup);
        s.lost_at = now_;
        counters_lost_ = true;
        s.history = ++names_;
        s.promoted = true;
        s.started = wall(s) - 3'600'000;
        break;
    case fault::flush_all:
        if (s.durable)
            return;
        flush(n);
        break;
    case fault::false_word: pass_by(n); break;
    case fault::marker_lost:
        s.data.mark = 0;
        belie_words(n);
        break;
    case fault::script_flush: s.knows_scripts = false; break;
    case fault::out_of_memory: s.full_until = until; break;
    case fault::read_only: s.read_only_until = until; break;
    case fault::node_stalled: s.stalled_until = until; break;
    case fault::tracking_table_full: s.forgetful_until = until; break;
    default: return;
    }
    count(f);
}

/// What a user has said of the absence of a marker is not true any more.
void schedule::belie_words(unsigned n)
{
    for (unsigned c = 0; c != terrain_.clients; ++c)
        if (relies_on_absence(c, n))
            time_counts_ = !(clocks_apart_ = true);
}

/// Fenced locks notice it (rule F6). To plain ones it is against condition C5.
void schedule::flush(unsigned n)
{
    server& s = servers_[n];
    s.data.forget();
    s.lost_at = now_;
    ++changes_;
    if (terrain_.waiting)
        tell(n, most_clients);
    for (client const& any : clients_)
        time_counts_ = time_counts_ && any.wants.fenced;
    counters_lost_ = true;
    belie_words(n);
}

/// From those who believe that nothing is ever lost there.
bool schedule::would_hide_a_promotion(server const& s) const
{
    return s.durable && s.promoted && now_ - s.lost_at < 2 * terrain_.px * one_milli;
}

void schedule::restart(unsigned n, bool with_data)
{
    server& s = servers_[n];
    for (event const& e : events_)
        if (e.what == happening::arrive && e.node == n && !messages_[e.index].duplicate)
            messages_[e.index].dead = true;
    if (!s.durable) {
        if (with_data)
            s.data.restore(s.backup);
        else
            s.data.forget();
        s.lost_at = now_;
        counters_lost_ = true;
    }
    s.run = ++names_;
    s.promoted = false;
    s.started = wall(s);
    s.knows_scripts = false;
    s.stalled_until = 0;
    for (unsigned c = 0; c != terrain_.clients; ++c)
        reset(c, n, false);
}

void schedule::trouble_with_request(message& m, micros& at)
{
    if (now_ >= terrain_.faults_until || !dice_.one_in(terrain_.one_in_messages))
        return;
    bool const is_release = m.what == ask::release;
    switch (dice_.below(3)) {
    case 0: // a lost segment without its connection's end does not exist
        m.dead = true;
        push(now_ + dice_.between(1, 50) * one_milli, happening::reset, m.client, m.node, m.connection);
        return count(is_release ? fault::release_lost : fault::drop_request);
    case 1:
        at += dice_.between(1, terrain_.px * 1500);
        return count(is_release ? fault::release_delayed : fault::delay_request);
    default:
        if (m.what != ask::vote)
            return;
        message again = m;
        again.duplicate = true;
        push(at + dice_.between(1, terrain_.px * 2000), happening::arrive, m.client, m.node, keep(again));
        return count(fault::duplicate_vote);
    }
}

/// True: it is lost, and nothing tells so.
bool schedule::trouble_with_word(message& m, micros& at)
{
    if (now_ >= terrain_.faults_until || !dice_.one_in(terrain_.one_in_messages))
        return false;
    switch (dice_.below(3)) {
    case 0: // whoever it was for goes by the timers until he has the lock
        count(fault::word_lost);
        terrain_.soon = terrain_.sometime;
        return true;
    case 1:
        at += dice_.between(1, terrain_.px * 1500);
        count(fault::word_delayed);
        return false;
    default:
        m.dead = true;
        push(now_ + dice_.between(1, 50) * one_milli, happening::reset, m.client, m.node, m.connection);
        count(fault::drop_reply);
        return false;
    }
}

void schedule::trouble_with_answer(message& m, micros& at)
{
    if (now_ >= terrain_.faults_until || !dice_.one_in(terrain_.one_in_messages))
        return;
    if (dice_.one_in(2)) {
        m.dead = true;
        push(now_ + dice_.between(1, 50) * one_milli, happening::reset, m.client, m.node, m.connection);
        return count(fault::drop_reply);
    }
    bool const beyond_its_lease = m.what == ask::extend && dice_.one_in(2);
    at += dice_.between(beyond_its_lease ? terrain_.ttl * 1000 : 1, terrain_.px * 1500);
    count(beyond_its_lease ? fault::extension_reply_too_late : fault::delay_reply);
}

} // namespace redlock::model

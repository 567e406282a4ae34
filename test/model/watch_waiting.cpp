#include "model/schedule.hpp"

// What the same bystander sees of those who wait: that they are served soon, and in the meantime do not ask in vain.

namespace redlock::model {

namespace {

constexpr unsigned attempts_at_once = 30; ///< of five who cross each other for a while
constexpr micros between_attempts = 20 * one_milli;

} // namespace

bool schedule::missing(unsigned n, terrain::absence how) const
{
    return calm_ && terrain_.missing == how && terrain_.missing_node == n;
}

/// A minority may lack for ever: that must not keep anybody waiting.
void schedule::lose_a_node()
{
    unsigned const n = terrain_.missing_node;
    constexpr micros for_ever = micros{1} << 50;
    if (missing(n, terrain::absence::full))
        servers_[n].full_until = for_ever;
    if (missing(n, terrain::absence::read_only))
        servers_[n].read_only_until = for_ever;
}

/// What may happen at any time, and must not keep anybody waiting either: connections break.
void schedule::trouble_in_the_calm()
{
    if (!calm_ || !dice_.one_in(8))
        return;
    auto const whose = static_cast<unsigned>(dice_.below(terrain_.clients));
    auto const n = static_cast<unsigned>(dice_.below(terrain_.nodes));
    push(now_ + dice_.between(0, 30) * one_milli, happening::reset, whose, n, links_[whose][n].connection);
}

/// A holder that is no more releases nothing; its keys expire.
bool schedule::dies(unsigned c)
{
    client& me = clients_[c];
    if (!calm_ || me.served || !dice_.one_in(30))
        return false;
    keys_left_ = now_ + terrain_.px * one_milli;
    guessed_until_ = keys_left_ + terrain_.wait.max_delay / std::chrono::microseconds{1};
    me.lease.release();
    watch_end(c);
    rest(c, dice_.between(0, 20) * one_milli);
    return true;
}

void schedule::begin_calm_waiting()
{
    if (!terrain_.waiting)
        return;
    for (unsigned c = 0; c != terrain_.clients; ++c) // all meet again, so that no quarantine begins later
        for (unsigned n = 0; n != terrain_.nodes; ++n)
            reset(c, n, false);
    lose_a_node();
    strict_from_ = now_ + (2 * terrain_.px + 500) * one_milli;
    if (gap_began_ >= 0)
        gap_began_ = now_;
    for (client& me : clients_) {
        me.quiet_since = now_;
        me.vain = 0;
    }
}

/// While nothing changes, nobody asks without pause; and nobody asks in the pause in which others go first (rule W5).
void schedule::watch_asking(unsigned c)
{
    client& me = clients_[c];
    if (me.seen_changes != changes_) {
        me.seen_changes = changes_;
        me.quiet_since = now_;
        me.vain = 0;
    }
    ++me.vain;
    if (me.vain > attempts_at_once + (now_ - me.quiet_since) / between_attempts)
        break_off(breach::asked_without_pause);
    if (!core::reached(me.pause_ends, clock(c)))
        break_off(breach::asked_in_its_pause);
}

/// Nobody has it, and somebody wants it: that must not last.
void schedule::watch_wish()
{
    bool held = false;
    bool wanted = false;
    for (client const& any : clients_) {
        held = held || any.now == client::doing::holding;
        wanted = wanted || any.queue != 0;
    }
    if (held)
        keys_left_ = 0;
    if (held || !wanted)
        gap_began_ = -1;
    else if (gap_began_ < 0)
        gap_began_ = std::max(now_, keys_left_);
}

void schedule::watch_gap()
{
    if (!calm_ || gap_began_ < 0)
        return;
    bool const strict = gap_began_ >= strict_from_ && terrain_.soon < terrain_.sometime;
    // Who asked a moment too early for the keys of one who died does not know how long they live; and who believes
    // in a key at the first node, which is silent, hears nothing of it; and who misses nodes pauses (rule A8).
    bool const guessed = gap_began_ < std::max(guessed_until_, nodes_awaited_until_) ||
                         missing(terrain_.wait.first, terrain::absence::silent);
    micros const allowed =
        !strict ? terrain_.sometime
                : terrain_.soon + (guessed ? terrain_.wait.max_delay / std::chrono::microseconds{1} : 0);
    micros const gap = now_ - gap_began_;
    micros& longest =
        strict ? (guessed ? out_.longest_guessed_gap : out_.longest_late_gap) : out_.longest_gap;
    longest = std::max(longest, gap);
    if (gap > allowed)
        break_off(breach::lock_left_lying);
}

/// A client that never leaves the lock alone for a turn may keep it for one period, and for as long as one of its own
/// needs.
void schedule::watch_row(unsigned c)
{
    client& me = clients_[c];
    micros const turn = terrain_.wait.turn() / std::chrono::microseconds{1};
    if (last_holder_ != c || now_ - me.lease_ended >= turn * 9 / 10)
        me.row_began = now_;
    last_holder_ = c;
    micros const period = terrain_.tenure.period / std::chrono::microseconds{1};
    if (calm_ && me.row_began >= strict_from_ &&
        now_ - me.row_began > period + period / 50 + terrain_.node_timeout / std::chrono::microseconds{1})
        break_off(breach::kept_from_others);
}

} // namespace redlock::model

#include "core/validity.hpp"
#include "model/rules.hpp"
#include "model/schedule.hpp"

#include <bit>

// What a bystander sees who knows the true time: whether the promises are kept.

namespace redlock::model {

core::instant schedule::clock(unsigned c) const
{
    clocks const& k = clients_[c].time;
    std::int64_t const passed = now_ - k.since;
    return {core::duration{k.boot + passed * k.boot_rate / 1000},
            core::duration{k.raw + passed * k.raw_rate / 1000}};
}

/// When a timer set for this moment fires, or a little earlier.
micros schedule::true_time(unsigned c, core::instant local) const
{
    clocks const& k = clients_[c].time;
    std::int64_t const left = core::remaining(local, clock(c)).count();
    return left <= 0 ? now_ : now_ + left * 1000 / std::max(k.boot_rate, k.raw_rate) + 1;
}

millis schedule::wall(server const& s) const
{
    constexpr millis epoch = 1'000'000'000;
    return epoch + s.steps + (now_ / one_milli) +
           ((now_ - s.clock_since) * (s.clock_rate - 1'000'000) / 1'000'000'000);
}

void schedule::touch(server& s)
{
    s.data.clock = wall(s);
    bool const counted = s.data.counter.exists();
    bool const locked = s.data.lock.exists();
    s.data.drop_expired();
    if (terrain_.waiting && locked && !s.data.lock.exists()) {
        ++changes_;
        tell(static_cast<unsigned>(&s - servers_.data()), most_clients);
    }
    if (counted && !s.data.counter.exists()) {
        count(fault::fence_expired);
        counters_lost_ = true;
    }
}

bool schedule::valid(unsigned c) const
{
    client const& me = clients_[c];
    if (me.now != client::doing::holding || me.lease.phase() != core::lease_phase::held)
        return false;
    return !applies(rule::valid_reads_the_clock) || !core::reached(me.lease.deadline(), clock(c));
}

/// T1. A lease becomes valid only when it is granted or extended, so that is when to look at all the others.
void schedule::watch_exclusion()
{
    unsigned holders = 0;
    for (unsigned c = 0; c != terrain_.clients; ++c)
        holders += valid(c) ? 1 : 0;
    if (holders > 1 && time_counts_)
        break_off(breach::two_valid_leases);
}

void schedule::watch_grant(unsigned c)
{
    client& me = clients_[c];
    ++out_.grants;
    me.end_seen = false;
    if (core::reached(me.lease.deadline(), clock(c)))
        break_off(breach::granted_without_time_left);
    watch_exclusion();
    if (me.wants.fenced) {
        core::fence const floor = time_counts_ ? largest_ : me.floor;
        bool const twice = std::find(recent_.begin(), recent_.end(), me.token) != recent_.end();
        if (order_counts() && (me.token <= floor || twice))
            break_off(breach::token_not_larger);
        largest_ = std::max(largest_, me.token);
        recent_[recent_at_++ % recent_.size()] = me.token;
        if (applies(rule::fencing)) // fence first: before the first reading
            register_token_ = std::max(register_token_, me.token);
        me.read = register_;
    }
    if (calm_)
        out_.longest_wait = std::max(out_.longest_wait, now_ - me.waits_since);
}

void schedule::watch_round(unsigned c, core::lease_machine::outcome outcome)
{
    client& me = clients_[c];
    if (std::popcount(me.denied) > static_cast<int>(terrain_.nodes - core::majority(terrain_.nodes)) &&
        me.lease.phase() != core::lease_phase::lost && me.lease.phase() != core::lease_phase::released)
        break_off(breach::definite_loss_not_told);
    if (outcome != core::lease_machine::outcome::extended)
        return;
    ++out_.extensions;
    if (me.end_seen)
        break_off(breach::came_back);
    if (core::reached(me.lease.deadline(), clock(c)))
        break_off(breach::extended_without_time_left);
    if (me.wants.fenced && order_counts() && me.round_floor > me.token)
        break_off(breach::extended_under_a_larger_token);
    if (me.wants.lease.max_hold != core::duration::max() &&
        core::elapsed(me.first_sent, me.lease.deadline()) > me.wants.lease.max_hold &&
        (time_counts_ || !terrain_.waiting)) // with no clock that is right, two spans do not make up one
        break_off(breach::held_too_long);
    watch_exclusion();
}

/// The end was told, or is certain without being told.
void schedule::watch_end(unsigned c)
{
    client& me = clients_[c];
    bool const told = me.lease.phase() == core::lease_phase::lost;
    if (told && !me.late_timer && !me.wants.lease.tolerate_suspect &&
        core::reached(me.lease.deadline(), clock(c)))
        break_off(breach::loss_told_late);
    me.end_seen = true;
    out_.losses += told ? 1 : 0;
    write_register(c);
}

/// A careless holder: it writes what it has reckoned from an earlier reading, without asking whether the lease is valid.
void schedule::write_register(unsigned c)
{
    client const& me = clients_[c];
    if (!me.wants.fenced || (applies(rule::fencing) && me.token < register_token_))
        return;
    if (register_ != me.read && order_counts())
        break_off(breach::update_lost);
    ++register_;
}

char const* name(breach b)
{
    constexpr std::array names{"none",
                               "two leases were valid at once",
                               "a token was not larger than one granted before",
                               "a round counted that began under a larger token",
                               "a lease came back after its end",
                               "granted without time left",
                               "extended without time left",
                               "extended after the end",
                               "a loss was told late",
                               "a definite loss was not told",
                               "held longer than max_hold",
                               "one vote was executed twice",
                               "a key was left behind",
                               "a waiter starved",
                               "an update was lost",
                               "a free lock was left lying",
                               "asked without pause",
                               "kept from others",
                               "asked while it was to let others go first"};
    return names[static_cast<std::size_t>(b)];
}

} // namespace redlock::model

#include "model/schedule.hpp"

// What src/lock does when time passes.

namespace redlock::model {

void schedule::time_out(unsigned c)
{
    client& me = clients_[c];
    for (unsigned n = 0; n != terrain_.nodes; ++n)
        if (me.attempt.awaits(n))
            me.wait.answered(n, waiter::said::no);
    follow(c, me.attempt.time_out());
}

void schedule::on_timer(unsigned c)
{
    client& me = clients_[c];
    switch (me.now) {
    case client::doing::resting:
        if (!terrain_.waiting)
            return begin_attempt(c);
        me.queue += 1 + static_cast<unsigned>(dice_.below(3));
        return come(c, core::tenure::next::coming);
    case client::doing::pausing:
        if (terrain_.waiting && me.hears)
            return plan(c);
        me.wait.ask_all();
        return begin_attempt(c);
    case client::doing::voting:
        if (terrain_.waiting && me.wait.in_turn() &&
            !core::reached(me.attempt.sent() + terrain_.node_timeout, clock(c)))
            return pass_over(c);
        return time_out(c);
    case client::doing::holding: return lease_timer(c);
    }
}

void schedule::lease_timer(unsigned c)
{
    client& me = clients_[c];
    if (now_ >= me.body_ends)
        return release(c);
    core::instant const now = clock(c);
    if (me.lease.extending() && core::reached(me.lease.extension_sent() + terrain_.node_timeout, now))
        return settle(c, me.lease.time_out(now));
    switch (me.lease.due(now)) {
    case core::lease_machine::duty::renew: return begin_round(c);
    case core::lease_machine::duty::tell_lost: return lose_lease(c);
    default: return wake_for_lease(c);
    }
}

} // namespace redlock::model

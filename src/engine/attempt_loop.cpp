// SPDX-License-Identifier: BSL-1.0
#include "engine/attempt_loop.hpp"

#include "core/passage.hpp"
#include "core/reconnection.hpp"
#include "core/tally.hpp"
#include "core/validity.hpp"
#include <redlock/observer.hpp>

#include <algorithm>
#include <utility>

// For whom it asks, how that begins and ends.
namespace redlock::detail {

attempt_loop::attempt_loop(runtime& on, pool<attempt_loop>& home)
    : runtime_(on), home_(home), attempt_(on, *this), place_(on, *this)
{}

void attempt_loop::start(key_state& wanted, candidate& whom, core::start_mode how)
{
    key_ = &wanted;
    whom_ = &whom;
    note_terms();
    refusals_ = 0;
    outage_.end();
    barred_ = false;
    awaited_ = wanted.in_the_way();
    begin(how);
}

/// Others are let go first. Where nobody wants to, the line says so at once, but for a turn that is offered to
/// those who do not stand there, by whoever has the time.
// rules W5 and Q15
void attempt_loop::begin(core::start_mode how)
{
    core::instant const now = runtime_.loop().now();
    if (!key_->given_up(*this).empty()) // it takes what carries these nonces
        return connect_or_vote();
    core::passage const& passing = of_name().passing();
    bool const left_free =
        passing.is_left_free(now) && !whom_->out_of_time(passing.free_until() + 2 * runtime_.round_trip());
    bool const others_first = how != core::start_mode::at_once || left_free;
    in_turn_ = offered_turn_ = others_first || of_name().has_rivals();
    if (offered_turn_ && stand_in_line(left_free ? passing.free_until() : now))
        return;
    in_turn_ = offered_turn_ = others_first;
    others_first ? offer_turn() : connect_or_vote();
}

/// An attempt, and a wait, go on for whoever comes next, if that one's keys live as long, or it wants to stand in line.
/// Otherwise the next attempt begins a little later: whole queues leave at once.
void attempt_loop::serve(candidate& successor)
{
    bool const same = same_terms(lock(), *successor.lock());
    bool const open = phase_ == phase::voting || phase_ == phase::won;
    whom_ = &successor;
    auto const stood_as = type().waiter();
    note_terms();
    bool const says_more = type().waiter() == kind::waiter_kind::permits; // how many are wanted
    bool const another_place = stood_as != type().waiter() || (!same && says_more);
    bool const leaves_line = phase_ == phase::in_line && (another_place || !wants_line());
    if (phase_ == phase::in_line && !leaves_line && told_) {
        whom_->told_of_holder();
        whom_->tell_waiting(place_.before(), true);
    }
    if (!leaves_line && (!open || same))
        return;
    leaves_line ? leave_line() : take_back();
    in_turn_ = open && attempt_.asks_in_turn();
    enter(phase::waiting);
    cause_ = errc::no_quorum;
    runtime_.loop().schedule_after(*this, core::duration::zero());
}

void attempt_loop::note_terms()
{
    type_ = &lock().plan->kind;
    key_ttl_ = lock().plan->key_ttl;
}

void attempt_loop::stop()
{
    if (phase_ == phase::voting || phase_ == phase::won)
        take_back();
    finish();
}

void attempt_loop::hurry()
{
    if (phase_ == phase::voting)
        attempt_.time_out();
}

bool attempt_loop::lacks_nodes() const
{
    if (phase_ == phase::voting)
        return attempt_.hears_too_few();
    bool const pauses = phase_ == phase::connecting || phase_ == phase::waiting || phase_ == phase::in_line;
    return pauses && !nodes().has_majority(lock());
}

/// The last attempt has told it, if it failed for that.
bool attempt_loop::tell_of_nodes()
{
    bool const pauses = phase_ != phase::voting;
    bool const told = phase_ == phase::waiting && cause_ == errc::no_quorum;
    if (pauses && !told)
        attempt_.tell_of_nodes(lock());
    return pauses;
}

void attempt_loop::discard()
{
    whom_ = nullptr;
    attempt_.discard();
    place_.discard();
}

void attempt_loop::expire()
{
    switch (phase_) {
    case phase::connecting: return vote();
    case phase::in_line: return stand_on();
    case phase::waiting: return connect_or_vote();
    default: return;
    }
}

/// The clock of an attempt starts when enough nodes can be asked: connecting is not paid from the lease. A fenced vote
/// is not sent ahead of the node's marker, which tells whose data it will meet.
// rule V1
void attempt_loop::connect_or_vote()
{
    auto const before = std::pair(phase_, round_number());
    bool const marked = type().marked;
    hasten_nodes();
    if (marked || nodes().ready() != nodes().size())
        nodes().connect();
    if (marked)
        nodes().require_markers();
    // A connection was closed, of which we heard, and went on from there.
    if (std::pair(phase_, round_number()) != before)
        return;
    if (nodes().unsettled() == 0)
        return vote();
    bool const enough = nodes().has_majority(lock());
    // One refusal would decide against a client that has just begun, and whose other nodes are a moment late.
    bool const early = marked && !place_.called() && nodes().has_newcomers();
    if (enough && !early)
        return vote();
    core::instant const now = runtime_.loop().now();
    if (phase_ != phase::connecting)
        connecting_since_ = now;
    enter(phase::connecting);
    // Once, however often connections fail meanwhile, and are made anew.
    core::duration const left =
        core::remaining(connecting_since_ + runtime_.its.settings().connect_timeout, now);
    runtime_.loop().schedule_after(*this, enough ? std::min(lock().plan->node_timeout, left) : left);
}

/// Without a majority the wait ends with a connection.
// rule H10
void attempt_loop::hasten_nodes()
{
    if (nodes().ready() < core::majority(nodes().size()))
        nodes().hasten(core::pace_of_waiter(lock().plan->options.ttl));
}

void attempt_loop::vote()
{
    enter(phase::held_up);
    runtime_.loop().cancel(*this);
    if (!runtime_.limit.enter(*this))
        return;
    phase_ = phase::voting;
    if (auto const missing = attempt_.provide(lock()))
        return fail_candidate(missing);
    whom_->attempt_began();
    open_round(); // what was asked before is not believed any more
    bool const in_turn = std::exchange(in_turn_, false);
    place_.called() ? claim() : attempt_.start(whom_->lock(), in_turn, key_->given_up(*this));
}

/// The next one is asked for, if there is one.
candidate& attempt_loop::drop_candidate()
{
    candidate& done = *whom_;
    whom_ = key_->after(done);
    key_->drop(done);
    return done;
}

/// The one for whom it asks has not what an attempt needs. The next one is asked for a little later.
void attempt_loop::fail_candidate(boost::system::error_code why)
{
    drop_candidate().fail(why);
    if (!whom_) {
        key_->loop_ended(*this);
        return finish();
    }
    note_terms();
    wait_for_nodes(errc::no_quorum);
}

void attempt_loop::on_won()
{
    enter(phase::won);
    runtime_.loop().enqueue(static_cast<net::task&>(*this));
}

// rule V5
void attempt_loop::run()
{
    if (phase_ != phase::won)
        return;
    core::instant const now = runtime_.loop().read_clock();
    if (attempt_.too_late(now)) // it was in time when counted
        return on_lost(errc::too_slow);
    if (attempt_.is_one_round())
        runtime_.measured(core::elapsed(attempt_.votes().sent(), now));
    tell({});
    candidate& lucky = *whom_;
    auto held = attempt_.make_lease(lucky.lock(), lucky.attempts(), lucky.waited(now));
    key_->won(*this, *held);
    finish();
    lucky.deliver(std::move(held));
}

void attempt_loop::on_lost(errc cause)
{
    tell(cause);
    ++refusals_;
    core::instant const now = runtime_.loop().now();
    auto const census = attempt_.census();
    if (cause == errc::no_quorum)
        outage_.go_on(census, now);
    else
        outage_.end();
    drop_those_who_end(cause, census);
    if (cause == errc::contended && attempt_.is_one_round())
        runtime_.measured(core::elapsed(attempt_.votes().sent(), now));
    bool const goes_on = whom_ && &whom_->lock()->plan->kind == type_;
    if (goes_on && cause == errc::contended)
        await_most_refused();
    if (whom_ && cause == errc::no_quorum &&
        census.quarantine_is_in_the_way()) // the rows are given away below
        nodes().warnings().waits_for_quarantine(lock().name(), attempt_.rows(), now);
    take_back();
    if (!whom_) {
        key_->loop_ended(*this);
        return finish();
    }
    note_terms();
    if (cause == errc::contended)
        return refused();
    if (!yield_candidate(cause))
        wait_for_nodes(cause);
}

/// Of several names one is in the way, and each operation may have a set of its own.
void attempt_loop::note_rivals()
{
    key_->local().refused();
    of_name().refused();
}

// rule Q9
void attempt_loop::refused()
{
    core::instant const now = runtime_.loop().now();
    offered_turn_ = false; // or somebody took it
    note_rivals();
    runtime_.lines.have_memory(attempt_.refused());
    if (type().several && yield_candidate(errc::contended))
        return;
    bool const elsewhere =
        type().several && attempt_.claimed_name() != awaited_; // in the queue of another name
    bool const in_front = attempt_.claims() && !elsewhere && whom_->come_back_in_front();
    barred_ = barred_ || (attempt_.claims() && !in_front && !elsewhere);
    if (!std::exchange(barred_, false) && stand_in_line(now, in_front))
        return;
    if (type().several || !yield_candidate(errc::contended))
        wait_for_others();
}

bool attempt_loop::yield_candidate(errc cause)
{
    bool const yielded = key_->reclaim(*this, cause);
    if (yielded)
        finish();
    return yielded;
}

/// Whom this attempt was the last for, is told; what is left is the first who may go on.
void attempt_loop::drop_those_who_end(errc cause, core::node_census const& census)
{
    while (whom_) {
        errc const end = end_after(cause, census);
        if (end == errc{})
            return;
        candidate& done = drop_candidate();
        done.attempt_failed(cause);
        done.fail(end);
    }
}

// rule A8
errc attempt_loop::end_after(errc cause, core::node_census const& census) const
{
    core::instant const now = runtime_.loop().now();
    if (errc const end = whom_->after_attempt(cause, now); end != errc{})
        return end;
    if (cause != errc::no_quorum)
        return {};
    auto const patience =
        whom_->limited() ? core::duration::max() : core::duration(lock().plan->options.retry.outage_patience);
    return outage_.gives_up(census, whom_->started(), patience, now) ? cause : errc{};
}

void attempt_loop::take_back()
{
    auto const where = attempt_.take_back();
    if (!where.empty())
        key_->taken_back(*this, where);
}

void attempt_loop::enter(phase then)
{
    if (phase_ == phase::voting)
        runtime_.limit.leave();
    else if (phase_ == phase::held_up)
        runtime_.limit.forget(*this);
    phase_ = then;
}

void attempt_loop::finish()
{
    runtime_.loop().cancel(*this);
    if (std::exchange(listening_, false))
        nodes().stop_listening();
    leave_line();
    enter(phase::draining);
    whom_ = nullptr;
    attempt_.finish();
    retire_if_drained();
}

void attempt_loop::retire_if_drained()
{
    if (phase_ != phase::draining || !drained() || !attempt_.drained() || !place_.drained())
        return;
    phase_ = phase::retired;
    attempt_.discard();
    place_.discard();
    home_.recycle(*this);
}

void attempt_loop::tell(errc result)
{
    if (result != errc{})
        whom_->attempt_failed(result);
    observer* const watcher = runtime_.its.watcher();
    if (!watcher)
        return;
    bool const granted = result == errc{};
    auto const ec = granted ? boost::system::error_code{} : make_error_code(result);
    auto const took = core::elapsed(attempt_.votes().sent(), runtime_.loop().now());
    watcher->on_attempt({lock().name(), ec, attempt_.votes().granted(), nodes().size(), whom_->attempts(),
                         took,
                         granted ? core::validity(lock().plan->options.ttl) - took : core::duration::zero(),
                         !granted && key_->held_here()});
}

} // namespace redlock::detail

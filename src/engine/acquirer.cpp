// SPDX-License-Identifier: BSL-1.0
#include "engine/acquirer.hpp"

#include "core/backoff.hpp"
#include "core/passage.hpp"
#include "core/reconnection.hpp"
#include "core/validity.hpp"
#include "engine/node_report.hpp"
#include "kind/multi.hpp"
#include "net/machine.hpp"
#include <redlock/lock_options.hpp>
#include <redlock/node_outcome.hpp>
#include <redlock/observer.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <utility>

namespace redlock::detail {

acquirer::acquirer(runtime& on, pool<acquirer>& home)
    : runtime_(on), home_(home), attempt_(on, *this), queue_(on, wanted_, *this), poll_(on, wanted_, *this)
{}

void acquirer::start(key_state& key, candidate& waiter, core::start_mode how)
{
    wanted_ = {&key, &waiter, key.in_the_way()};
    refusals_ = 0;
    outage_.end();
    begin(how);
}

/// Lets others go first if this client has had the lock, or if it is left to them (rules W5 and Q19). A client that knows of
/// rivals enters the queue at once (rule Q15).
// rules W5 and Q15
void acquirer::begin(core::start_mode how)
{
    core::instant const now = runtime_.loop().now();
    in_sequence_ = nobody_came_ = false;
    if (!wanted_.key->given_up(*this).empty()) // it takes what carries these nonces
        return connect_or_vote();
    core::local_queue& local = wanted_.name().local();
    core::instant const free_until = local.passing().free_until();
    bool const left_free = local.passing().is_left_free(now) &&
                           !wanted_.waiter->out_of_time(free_until + 2 * runtime_.round_trip());
    bool const others_first = how != core::start_mode::at_once || left_free;
    if (!others_first && !local.has_rivals())
        return connect_or_vote();
    nobody_came_ = true;
    pause_from(0, {.why = others_first ? pause_reason::cause::others_first : pause_reason::cause::rivals,
                   .not_before = left_free ? free_until : now});
}

/// An attempt goes on for the next waiter if that one's keys live as long, and a pause if that one can wait there. Otherwise
/// the next attempt begins a little later: whole queues leave at once.
void acquirer::serve(candidate& successor)
{
    bool const same = same_terms(lock(), *successor.lock());
    bool const asks = phase_ == phase::voting || phase_ == phase::won;
    bool const pauses = phase_ == phase::pausing || queue_.called();
    wanted_.waiter = &successor;
    if (asks ? same : !pauses || now().serve())
        return;
    in_sequence_ = asks && attempt_.asks_in_turn();
    asks ? take_back() : now().end();
    vote_soon();
}

void acquirer::stop()
{
    if (phase_ == phase::voting || phase_ == phase::won)
        take_back();
    finish();
}

void acquirer::hurry()
{
    if (phase_ == phase::voting)
        attempt_.time_out();
}

bool acquirer::lacks_nodes() const
{
    if (phase_ == phase::voting)
        return attempt_.hears_too_few();
    bool const waits =
        phase_ == phase::connecting || phase_ == phase::backing_off || phase_ == phase::pausing;
    return waits && !nodes().has_majority(lock());
}

/// The last attempt has told it, if it failed for that.
bool acquirer::tell_of_nodes()
{
    if (phase_ == phase::voting)
        return false;
    if (phase_ != phase::backing_off)
        attempt_.tell_of_nodes(lock());
    return true;
}

void acquirer::discard()
{
    wanted_.waiter = nullptr;
    attempt_.discard();
    for (pause* const each : ways_)
        each->discard();
}

void acquirer::expire()
{
    switch (phase_) {
    case phase::connecting: return vote();
    case phase::backing_off: return connect_or_vote();
    case phase::pausing: {
        auto const vain = vain_at();
        bool const is_vain = vain && core::reached(*vain, runtime_.loop().now());
        return is_vain ? end_pause_and_vote() : now().on_time();
    }
    default: return;
    }
}

/// The clock of an attempt starts when enough nodes can be asked: connecting is not paid from the lease.
// rule V1
void acquirer::connect_or_vote()
{
    auto const before = std::pair(phase_, attempt_.number());
    hasten_nodes();
    nodes().connect_for(lock());
    // A connection was closed, of which we heard, and went on from there.
    if (std::pair(phase_, attempt_.number()) != before)
        return;
    bool const enough = nodes().has_majority(lock());
    if (!nodes().awaits_voters(lock()) || (enough && queue_.called()))
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
void acquirer::hasten_nodes()
{
    if (nodes().ready() < core::majority(nodes().size()))
        nodes().hasten(core::pace_of_waiter(lock().plan->options.ttl));
}

void acquirer::vote()
{
    enter(phase::held_up);
    runtime_.loop().cancel(*this);
    if (!runtime_.limit.enter(*this))
        return;
    phase_ = phase::voting;
    poll_.end(); // probes from before do not count any more
    if (auto const missing = attempt_.provide(lock()))
        return fail_waiter(missing);
    wanted_.waiter->attempt_began();
    bool const in_sequence = std::exchange(in_sequence_, false);
    if (queue_.called())
        return claim();
    attempt_.start(wanted_.waiter->lock(), in_sequence, wanted_.key->given_up(*this));
}

void acquirer::claim()
{
    inheritance const& handed = queue_.inherit();
    if (handed.passed && !lock().plan->kind.slotted)
        wanted_.name().local().passing().inherited(*handed.passed + runtime_.round_trip(),
                                                   runtime_.loop().now());
    attempt_.claim(wanted_.waiter->lock(), handed);
}

/// The next one is asked for, if there is one.
candidate& acquirer::drop_waiter()
{
    candidate& done = *wanted_.waiter;
    wanted_.waiter = wanted_.key->after(done);
    wanted_.key->drop(done);
    return done;
}

/// The waiter has not what an attempt needs. The next one is asked for a little later.
void acquirer::fail_waiter(boost::system::error_code why)
{
    drop_waiter().fail(why);
    if (!wanted_.waiter) {
        wanted_.key->loop_ended(*this);
        return finish();
    }
    back_off(errc::no_quorum);
}

void acquirer::on_won()
{
    enter(phase::won);
    runtime_.loop().enqueue(static_cast<net::task&>(*this));
}

// rule V5
void acquirer::run()
{
    if (phase_ != phase::won)
        return;
    core::instant const now = runtime_.loop().read_clock();
    if (attempt_.too_late(now)) // it was in time when counted
        return on_lost(errc::too_slow);
    if (attempt_.is_one_round())
        runtime_.measured(core::elapsed(attempt_.votes().sent(), now));
    tell({});
    candidate& winner = *wanted_.waiter;
    auto held = attempt_.make_lease(winner.lock(), winner.attempts(), winner.waited(now));
    wanted_.key->won(*this, *held);
    finish();
    winner.deliver(std::move(held));
}

void acquirer::on_lost(errc cause)
{
    tell(cause);
    ++refusals_;
    core::instant const now = runtime_.loop().now();
    auto const census = attempt_.census();
    if (cause == errc::no_quorum)
        outage_.go_on(census, now);
    else
        outage_.end();
    if (cause == errc::contended && attempt_.is_one_round())
        runtime_.measured(core::elapsed(attempt_.votes().sent(), now));
    drop_those_who_end(cause, census);
    if (!wanted_.waiter) {
        take_back();
        wanted_.key->loop_ended(*this);
        return finish();
    }
    if (cause == errc::contended)
        return refused();
    if (cause == errc::no_quorum && census.quarantine_is_in_the_way()) // the rows are given away below
        nodes().warnings().waits_for_quarantine(lock().name(), attempt_.rows(), now);
    take_back();
    if (!yield_waiter(cause))
        back_off(cause);
}

/// Others have the lock.
// rule Q9
void acquirer::refused()
{
    await_most_refused();
    take_back();
    on_others();
    runtime_.lines.have_memory(attempt_.refused());
    if (yield_waiter(errc::contended))
        return;
    bool const claimed = attempt_.claims() && attempt_.claimed_name() == wanted_.awaited;
    bool const in_front = claimed && wanted_.waiter->come_back_in_front();
    core::node_set granted = attempt_.votes().answered();
    granted.erase(attempt_.refused());
    constexpr std::size_t queue = 0;
    constexpr std::size_t poll = 1;
    pause_from(claimed && !in_front ? poll : queue, {.why = pause_reason::cause::refused,
                                                     .not_before = runtime_.loop().now(),
                                                     .in_front = in_front,
                                                     .refusals = refusals_,
                                                     .granted = granted});
}

/// Waits for the name that is in the way on most nodes. A node that names none of them is not believed.
// rules Q21 and M7
void acquirer::await_most_refused()
{
    std::array<unsigned, kind::most_names> refusals{};
    for (node_report const& row : attempt_.rows())
        if (row.result == node_result::held_by_other)
            ++refusals[row.which];
    auto const names = std::span(refusals).first(std::max<std::size_t>(wanted_.key->key().several.size(), 1));
    auto const most = std::ranges::max_element(names) - names.begin();
    wanted_.awaited = static_cast<std::uint8_t>(most);
    wanted_.key->note_in_the_way(wanted_.awaited);
}

bool acquirer::yield_waiter(errc cause)
{
    bool const yielded = wanted_.key->reclaim(*this, cause);
    if (yielded)
        finish();
    return yielded;
}

/// Waiters for whom this attempt was the last are told; what is left is the first that may go on.
void acquirer::drop_those_who_end(errc cause, core::node_census const& census)
{
    while (wanted_.waiter) {
        errc const end = end_after(cause, census);
        if (end == errc{})
            return;
        candidate& done = drop_waiter();
        done.attempt_failed(cause);
        done.fail(end);
    }
}

// rule A8
errc acquirer::end_after(errc cause, core::node_census const& census) const
{
    core::instant const now = runtime_.loop().now();
    candidate const& waiter = *wanted_.waiter;
    if (errc const end = waiter.after_attempt(cause, now); end != errc{})
        return end;
    if (cause != errc::no_quorum)
        return {};
    auto const patience =
        waiter.limited() ? core::duration::max() : core::duration(lock().plan->options.retry.outage_patience);
    return outage_.gives_up(census, waiter.started(), patience, now) ? cause : errc{};
}

void acquirer::take_back()
{
    auto const where = attempt_.take_back();
    if (!where.empty())
        wanted_.key->taken_back(*this, where);
}

/// Waits for nodes.
void acquirer::back_off(errc cause)
{
    enter(phase::backing_off);
    in_sequence_ = false;
    retry_policy const& policy = lock().plan->options.retry;
    auto const first = std::max<core::duration>(policy.min_delay, 2 * runtime_.round_trip());
    auto const jitter = cause == errc::no_quorum ? core::half_jitter : core::full_jitter;
    auto const delay = jitter(refusals_, first, policy.max_delay, runtime_.loop().machine().random_bits());
    auto const at = cause == errc::no_quorum ? nodes().majority_at(lock()) : std::nullopt;
    at ? runtime_.loop().schedule(*this, *at) : runtime_.loop().schedule_after(*this, delay);
}

void acquirer::vote_soon()
{
    enter(phase::backing_off);
    runtime_.loop().schedule_after(*this, core::duration::zero());
}

/// Takes the first way to pause that is open, from this one on; if none is, votes.
// rule Q15
void acquirer::pause_from(std::size_t way, pause_reason const& reason)
{
    while (way != ways_.size() && !ways_[way]->begin(reason))
        ++way;
    if (way == ways_.size()) {
        nobody_came_ = false;
        return connect_or_vote();
    }
    way_ = static_cast<std::uint8_t>(way);
    why_ = reason.why;
    enter(phase::pausing);
    if (!std::exchange(listening_, true))
        nodes().listen();
    watch_majority();
}

void acquirer::follow(pause_step then)
{
    if (phase_ != phase::pausing)
        return;
    switch (then) {
    case pause_step::wait: return schedule_pause();
    case pause_step::claim: return connect_or_vote(); // the position goes with the claim
    case pause_step::vote_in_sequence: in_sequence_ = true; [[fallthrough]];
    case pause_step::vote: return end_pause_and_vote();
    case pause_step::closed: return pause_from(way_ + 1U, {.why = why_, .refusals = refusals_});
    }
}

void acquirer::end_pause_and_vote()
{
    now().end();
    connect_or_vote();
}

void acquirer::on_sighting(unsigned node, kind::sighting const& seen)
{
    if (seen.left) { // somebody has it
        on_others();
        wanted_.waiter->told_of_holder();
    }
    auto of_this_name = seen;
    of_this_name.which = wanted_.awaited;
    wanted_.key->note_holder(node, nodes().size(), of_this_name);
}

void acquirer::on_others()
{
    nobody_came_ = false;
    wanted_.met_others();
}

void acquirer::on_position(std::size_t before)
{
    wanted_.waiter->told_of_holder();
    wanted_.waiter->tell_waiting(before, true);
}

/// Without a majority a claim cannot succeed (rule Q15). A quarantine ends by itself.
// rule Q15
void acquirer::watch_majority()
{
    if (nodes().has_majority(lock()) || nodes().majority_at(lock()))
        outage_.end();
    else
        outage_.begin(runtime_.loop().now());
    schedule_pause();
}

void acquirer::schedule_pause()
{
    core::instant due = now().due();
    if (auto const vain = vain_at(); vain && core::sooner(*vain, due, runtime_.loop().now()))
        due = *vain;
    runtime_.loop().schedule_finely(*this, due);
}

std::optional<core::instant> acquirer::vain_at() const
{
    auto const since = outage_.since(wanted_.waiter->started());
    if (!since || wanted_.waiter->limited())
        return {};
    return *since + lock().plan->options.retry.outage_patience;
}

void acquirer::nodes_changed()
{
    if (wanted_.waiter)
        hasten_nodes();
    switch (phase_) {
    case phase::connecting: return connect_or_vote();
    case phase::backing_off: return nodes().has_majority(lock()) ? vote() : void();
    case phase::pausing: watch_majority(); return now().on_nodes_changed();
    default: return;
    }
}

void acquirer::invalidated(unsigned node, key_state const& which)
{
    if (phase_ == phase::pausing && &which == &wanted_.name())
        now().on_key_changed(node);
}

void acquirer::changed_here(core::node_set where)
{
    if (phase_ == phase::pausing)
        now().on_changed_here(where);
}

void acquirer::enter(phase then)
{
    if (phase_ == phase::voting)
        runtime_.limit.leave();
    else if (phase_ == phase::held_up)
        runtime_.limit.forget(*this);
    phase_ = then;
}

void acquirer::finish()
{
    runtime_.loop().cancel(*this);
    if (std::exchange(listening_, false))
        nodes().stop_listening();
    for (pause* const each : ways_)
        each->end();
    enter(phase::draining);
    wanted_.waiter = nullptr;
    attempt_.finish();
    retire_if_drained();
}

void acquirer::retire_if_drained()
{
    if (phase_ != phase::draining || !attempt_.drained() || !queue_.drained() || !poll_.drained())
        return;
    phase_ = phase::retired;
    discard();
    home_.recycle(*this);
}

void acquirer::tell(errc result)
{
    candidate& waiter = *wanted_.waiter;
    if (result != errc{})
        waiter.attempt_failed(result);
    observer* const watcher = runtime_.its.watcher();
    if (!watcher)
        return;
    bool const granted = result == errc{};
    auto const ec = granted ? boost::system::error_code{} : make_error_code(result);
    auto const took = core::elapsed(attempt_.votes().sent(), runtime_.loop().now());
    watcher->on_attempt({lock().name(), ec, attempt_.votes().granted(), nodes().size(), waiter.attempts(),
                         took,
                         granted ? core::validity(lock().plan->options.ttl) - took : core::duration::zero(),
                         !granted && wanted_.key->held_here()});
}

} // namespace redlock::detail

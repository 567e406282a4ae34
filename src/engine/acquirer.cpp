// SPDX-License-Identifier: BSL-1.0
#include "engine/acquirer.hpp"

#include "core/backoff.hpp"
#include "core/passage.hpp"
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
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace redlock::detail {

namespace {

/// Returns the name that is in the way on most nodes. A node that names none of them is not believed.
// rules Q21 and M7
std::uint8_t most_refused(std::vector<node_report> const& rows, std::size_t names)
{
    std::array<unsigned, kind::most_names> refusals{};
    for (node_report const& row : rows)
        if (row.result == node_result::held_by_other)
            ++refusals[row.which];
    auto const of_these = std::span(refusals).first(names);
    return static_cast<std::uint8_t>(std::ranges::max_element(of_these) - of_these.begin());
}

} // namespace

acquirer::acquirer(runtime& on, pool<acquirer>& home)
    : runtime_(on), home_(home), attempt_(on, *this), queue_(on, wanted_, *this),
      poll_(on, wanted_, attempt_, *this)
{}

/// The lock may be left to other clients (rules W5 and Q19). The acquirer then pauses before it votes. A client that knows of
/// rivals enters the queue at once (rule Q15).
// rules W5 and Q15
void acquirer::start(acquirer_owner& owner, key_state& key, waiter& first, core::start_mode how)
{
    wanted_ = {.owner = &owner, .key = &key, .current_waiter = &first, .awaited = key.in_the_way()};
    outage_.end();
    meeting_node_first_ = false;
    if (!owner.given_up().empty()) // it takes what carries these nonces
        return connect_then_vote();
    core::instant const now = runtime_.loop().now();
    core::contention const& known = wanted_.awaited_key().contention;
    core::instant const free_until = known.passing.free_until();
    bool const left_free =
        known.passing.is_left_free(now) && !first.out_of_time(free_until + 2 * runtime_.round_trip());
    bool const others_first = how != core::start_mode::at_once || left_free;
    if (!others_first && !known.batch.has_rivals())
        return connect_then_vote();
    wanted_.nobody_came = true;
    pause_for({.why = others_first ? pause_reason::cause::others_first : pause_reason::cause::rivals,
               .not_before = left_free ? free_until : now});
}

/// A running attempt serves the next waiter if both waiters have the same terms. A pause serves the next waiter if that waiter
/// can keep the position, or polls. Otherwise a new attempt begins in the next turn, because whole queues may leave at once.
void acquirer::serve(waiter& next_waiter)
{
    bool const same = same_terms(lock(), *next_waiter.lock());
    bool const asks = phase_ == phase::voting || phase_ == phase::won;
    bool const pauses = phase_ == phase::pausing || queue_.called();
    bool const goes_on = asks ? same : !pauses || pause_->serve(next_waiter);
    wanted_.current_waiter = &next_waiter;
    if (goes_on)
        return;
    meeting_node_first_ = asks && attempt_.asks_meeting_node_first();
    asks ? roll_back() : pause_->end();
    set_phase(phase::backing_off);
    runtime_.loop().schedule_after(*this, core::duration::zero());
}

void acquirer::stop()
{
    if (phase_ == phase::voting || phase_ == phase::won)
        roll_back();
    finish();
}

bool acquirer::decide_now(waiter& one)
{
    bool const alone = wanted_.current_waiter == &one && !wanted_.owner->after(one);
    if (alone && phase_ == phase::voting)
        attempt_.time_out(); // which may end the waiter
    return phase_ == phase::won && wanted_.current_waiter == &one;
}

bool acquirer::lacks_nodes() const
{
    if (phase_ == phase::voting)
        return attempt_.hears_too_few();
    bool const waits =
        phase_ == phase::connecting || phase_ == phase::backing_off || phase_ == phase::pausing;
    return waits && !nodes().has_majority(lock());
}

bool acquirer::tell_of_nodes(lock_descriptor const& of)
{
    if (phase_ == phase::voting)
        return false;
    // After a failed attempt (backing_off) the key's table already has the reason.
    bool const is_told = phase_ == phase::backing_off && of.key == lock().key;
    if (!is_told)
        attempt_.tell_of_nodes(of);
    return true;
}

void acquirer::expire()
{
    switch (phase_) {
    case phase::connecting: return vote();
    case phase::backing_off: return connect_then_vote();
    case phase::pausing:
        return core::reached(pause_->due(), runtime_.loop().now()) ? pause_->on_time()
                                                                   : on_step(pause_step::vote);
    default: return;
    }
}

/// The clock of an attempt starts when enough nodes can be asked: connecting is not paid from the lease.
// rule V1
void acquirer::connect_then_vote()
{
    auto const before = std::pair(phase_, attempt_.round_number());
    nodes().hasten_for(lock());
    nodes().connect_for(lock());
    // Connecting may close a connection, and its event may already have advanced this acquirer.
    if (std::pair(phase_, attempt_.round_number()) != before)
        return;
    if (!nodes().awaits_voters(lock()))
        return vote();
    bool const enough = nodes().has_majority(lock());
    if (enough && queue_.called())
        return vote();
    core::instant const now = runtime_.loop().now();
    if (phase_ != phase::connecting)
        connecting_since_ = now;
    set_phase(phase::connecting);
    // The connect timeout runs once, even if connections fail and are made again meanwhile.
    core::duration const left =
        core::remaining(connecting_since_ + runtime_.its.settings().connect_timeout, now);
    runtime_.loop().schedule_after(*this, enough ? std::min(lock().config->node_timeout, left) : left);
}

void acquirer::vote()
{
    set_phase(phase::held_up);
    runtime_.loop().cancel(*this);
    if (!runtime_.limit.enter(*this))
        return;
    phase_ = phase::voting;
    if (auto const missing = attempt_.provide(lock()))
        return fail_waiter(missing);
    wanted_.current_waiter->attempt_began();
    bool const meeting_node_first = std::exchange(meeting_node_first_, false);
    if (queue_.called())
        return attempt_.claim(wanted_.current_waiter->lock(), queue_.take_handoff());
    attempt_.start(wanted_.current_waiter->lock(), meeting_node_first, wanted_.owner->given_up());
}

/// The waiter has not what an attempt needs. The next one is asked for a little later.
void acquirer::fail_waiter(boost::system::error_code why)
{
    queue_.end(); // the next client gets the lock that was handed to this one
    waiter& vain = *wanted_.current_waiter;
    wanted_.current_waiter = wanted_.owner->drop(vain);
    vain.fail(why);
    wanted_.current_waiter ? back_off(errc::no_quorum) : finish();
}

void acquirer::on_won()
{
    set_phase(phase::won);
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
    attempt_.measure(now);
    tell({});
    waiter& winner = *wanted_.current_waiter;
    auto held = attempt_.make_lease(winner.lock(), winner.attempts(), winner.waited(now));
    wanted_.owner->won(*this, *held);
    finish();
    winner.deliver(std::move(held));
}

void acquirer::on_lost(errc cause)
{
    tell(cause);
    wanted_.current_waiter->attempt_failed(cause);
    ++wanted_.refusals;
    core::instant const now = runtime_.loop().now();
    auto const census = attempt_.census();
    cause == errc::no_quorum ? outage_.go_on(census, now) : outage_.end();
    if (cause == errc::contended)
        attempt_.measure(now);
    drop_ended_waiters(cause, census);
    if (!wanted_.current_waiter) {
        roll_back();
        return finish();
    }
    if (cause == errc::contended)
        return on_contended();
    if (cause == errc::no_quorum && census.quarantine_is_in_the_way()) // the rows are given away below
        nodes().warnings().waits_for_quarantine(lock().name(), attempt_.rows(), now);
    roll_back();
    wanted_.owner->reclaim(cause) ? finish() : back_off(cause);
}

/// Others have the lock.
// rule Q9
void acquirer::on_contended()
{
    auto const names = std::max<std::size_t>(wanted_.key->key().several.size(), 1);
    wanted_.awaited = most_refused(attempt_.rows(), names);
    wanted_.key->note_in_the_way(wanted_.awaited);
    roll_back();
    wanted_.met_others();
    runtime_.registry.have_memory(attempt_.held_by_others());
    if (wanted_.owner->reclaim(errc::contended)) // the waiter goes on without this
        return finish();
    bool const claimed = attempt_.claims() && attempt_.claimed_name() == wanted_.awaited;
    bool const in_front = claimed && wanted_.current_waiter->come_back_in_front();
    pause_for({.why = pause_reason::cause::refused,
               .not_before = runtime_.loop().now(),
               .unqueued = claimed && !in_front,
               .in_front = in_front});
}

/// Fails the waiters for which this attempt was the last, up to the first that may go on.
// rule A8
void acquirer::drop_ended_waiters(errc cause, core::node_census const& census)
{
    core::instant const now = runtime_.loop().now();
    while (wanted_.current_waiter) {
        waiter& one = *wanted_.current_waiter;
        errc end = one.after_attempt(cause, now);
        if (end == errc{} && cause == errc::no_quorum &&
            outage_.gives_up(census, one.started(), one.outage_patience(), now))
            end = cause;
        if (end == errc{})
            return;
        wanted_.current_waiter = wanted_.owner->drop(one);
        one.attempt_failed(cause);
        one.fail(end);
    }
}

void acquirer::roll_back()
{
    if (auto const where = attempt_.roll_back(); !where.empty())
        wanted_.key->changed_here(where);
}

/// Waits for nodes.
void acquirer::back_off(errc cause)
{
    set_phase(phase::backing_off);
    meeting_node_first_ = false;
    retry_policy const& policy = lock().config->options.retry;
    auto const first = std::max<core::duration>(policy.min_delay, 2 * runtime_.round_trip());
    auto const jitter = cause == errc::no_quorum ? core::half_jitter : core::full_jitter;
    auto const delay =
        jitter(wanted_.refusals, first, policy.max_delay, runtime_.loop().machine().random_bits());
    auto const at = cause == errc::no_quorum ? nodes().majority_at(lock()) : std::nullopt;
    at ? runtime_.loop().schedule(*this, *at) : runtime_.loop().schedule_after(*this, delay);
}

/// Takes the first way to pause that is open; if none is, votes.
// rule Q15
void acquirer::pause_for(pause_reason const& reason)
{
    std::array<pause*, 2> const ways{&queue_, &poll_};
    auto const open = std::ranges::find_if(ways, [&](pause* each) { return each->begin(reason); });
    if (open == ways.end()) {
        wanted_.nobody_came = false;
        return connect_then_vote();
    }
    pause_ = *open;
    why_ = reason.why;
    set_phase(phase::pausing);
    if (!std::exchange(expects_pushes_, true))
        nodes().expect_pushes();
    watch_majority();
}

void acquirer::on_step(pause_step then)
{
    if (phase_ != phase::pausing)
        return;
    switch (then) {
    case pause_step::wait: return schedule_pause();
    case pause_step::claim: break; // the position goes with the claim
    case pause_step::vote_meeting_node_first: meeting_node_first_ = true; [[fallthrough]];
    case pause_step::vote: pause_->end(); break;
    case pause_step::closed: return pause_for({.why = why_, .unqueued = true});
    }
    set_phase(phase::backing_off); // the pause has ended
    connect_then_vote();
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
    core::instant due = pause_->due();
    if (auto const vain = vain_at(); vain && core::sooner(*vain, due, runtime_.loop().now()))
        due = *vain;
    runtime_.loop().schedule_finely(*this, due);
}

std::optional<core::instant> acquirer::vain_at() const
{
    auto const since = outage_.since(wanted_.current_waiter->started());
    if (!since || wanted_.current_waiter->has_limit())
        return {};
    return *since + wanted_.current_waiter->outage_patience();
}

void acquirer::nodes_changed()
{
    if (wanted_.current_waiter)
        nodes().hasten_for(lock());
    switch (phase_) {
    case phase::connecting: return connect_then_vote();
    case phase::backing_off: return nodes().has_majority(lock()) ? vote() : void();
    case phase::pausing: watch_majority(); return pause_->on_nodes_changed();
    default: return;
    }
}

void acquirer::invalidated(unsigned node, key_state const& which)
{
    if (phase_ == phase::pausing && &which == &wanted_.awaited_key())
        pause_->on_key_changed(node);
}

void acquirer::changed_here(core::node_set where)
{
    if (phase_ == phase::pausing)
        pause_->on_changed_here(where);
}

void acquirer::set_phase(phase then)
{
    if (phase_ == phase::voting)
        runtime_.limit.leave();
    else if (phase_ == phase::held_up)
        runtime_.limit.forget(*this);
    phase_ = then;
}

void acquirer::finish()
{
    if (!wanted_.current_waiter)
        wanted_.owner->acquirer_ended();
    set_phase(phase::draining);
    queue_.end();
    poll_.end();
    if (std::exchange(expects_pushes_, false))
        nodes().stop_expecting_pushes();
    wanted_.current_waiter = nullptr;
    attempt_.finish();
    runtime_.loop().cancel(*this);
    on_drained();
}

void acquirer::on_drained()
{
    if (phase_ != phase::draining || !attempt_.drained() || !queue_.drained() || !poll_.drained())
        return;
    phase_ = phase::idle;
    discard();
    home_.recycle(*this);
}

void acquirer::tell(errc result) const
{
    observer* const watcher = runtime_.its.watcher();
    if (!watcher)
        return;
    bool const granted = result == errc{};
    auto const ec = granted ? boost::system::error_code{} : make_error_code(result);
    auto const took = core::elapsed(attempt_.votes().sent(), runtime_.loop().now());
    watcher->on_attempt({lock().name(), ec, attempt_.votes().granted(), nodes().size(),
                         wanted_.current_waiter->attempts(), took,
                         granted ? core::validity(lock().config->options.ttl) - took : core::duration::zero(),
                         !granted && wanted_.key->held_here()});
}

} // namespace redlock::detail

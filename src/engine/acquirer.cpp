// SPDX-License-Identifier: BSL-1.0
#include "engine/acquirer.hpp"

#include "core/backoff.hpp"
#include "core/passage.hpp"
#include "core/validity.hpp"
#include "engine/node_report.hpp"
#include "kind/kind.hpp"
#include "kind/multi.hpp"
#include "net/machine.hpp"
#include <redlock/lock_options.hpp>
#include <redlock/node_outcome.hpp>
#include <redlock/observer.hpp>

#include <boost/system/error_code.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
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

/// After a batch (rule W5), or while a window is open for unqueued clients (rule Q19), the acquirer pauses before it votes.
/// Otherwise, if it knows of rivals, it enters the queue at once, or votes if the waiter takes no position (rule Q15).
// rules W5, Q15 and Q19
void acquirer::start(acquirer_owner& owner, key_state& key, waiter& first, core::start_mode how)
{
    wanted_ = {.owner = &owner, .key = &key, .current_waiter = &first, .awaited = key.in_the_way()};
    outage_.end();
    meeting_node_first_ = false;
    core::instant const now = runtime_.loop().now();
    core::contention const& known = wanted_.awaited_key().contention;
    core::instant const free_until = now + known.passing.free_for(now);
    bool const left_free = free_until != now && !first.out_of_time(free_until + 2 * runtime_.round_trip());
    bool const others_first = how != core::start_mode::at_once || left_free;
    bool const replaces_keys = !owner.given_up().empty(); // its own keys, still on the nodes (rule M8)
    if (replaces_keys || (!others_first && !known.batch.has_rivals()))
        return connect_then_vote();
    wanted_.nobody_came = true; // assumed, until the pause shows another client
    pause_for({.why = others_first ? pause_reason::cause::others_first : pause_reason::cause::rivals,
               .not_before = left_free ? free_until : now});
}

/// A running attempt serves the next waiter if both waiters have the same terms. A pause serves the next waiter if that waiter
/// can keep the position, or polls. Otherwise a new attempt begins in the next turn, because whole queues may leave at once.
void acquirer::serve(waiter& next_waiter)
{
    bool const same = same_terms(lock(), *next_waiter.lock());
    bool const pauses = state_.at == phase::pausing || queue_.called();
    bool const fits = state_.has_votes() ? same : !pauses || pause_->serve(next_waiter);
    wanted_.current_waiter = &next_waiter;
    auto const then = state_.next_waiter(fits);
    if (!fits)
        meeting_node_first_ = then.takes_back && attempt_.asks_meeting_node_first();
    go(then);
}

bool acquirer::decide_now(waiter& one)
{
    bool const alone = wanted_.current_waiter == &one && !wanted_.owner->after(one);
    if (alone && state_.at == phase::voting && !(one.knows_why_it_waits() && attempt_.has_only_begun()))
        attempt_.time_out(); // which may end the waiter
    return state_.at == phase::won && wanted_.current_waiter == &one;
}

bool acquirer::lacks_nodes() const
{
    if (state_.at == phase::voting)
        return attempt_.hears_too_few();
    bool const waits =
        state_.at == phase::connecting || state_.at == phase::backing_off || state_.at == phase::pausing;
    return waits && !runtime_.nodes.has_majority(lock());
}

bool acquirer::tell_of_nodes(lock_descriptor const& of)
{
    if (state_.at == phase::voting)
        return false;
    // After a failed attempt (backing_off) the key's table already has the reason.
    bool const is_told = state_.at == phase::backing_off && of.key == lock().key;
    if (!is_told)
        attempt_.tell_of_nodes(of);
    return true;
}

void acquirer::expire()
{
    core::instant const now = runtime_.loop().now();
    bool const pauses = state_.at == phase::pausing;
    auto const vain = pauses ? patience_ends() : std::nullopt;
    go(state_.time_is_up(pauses && core::reached(pause_->due(), now), vain && core::reached(*vain, now)));
}

void acquirer::go(core::acquiring::answer what)
{
    switch (settle(what)) {
    case step::connect: return connect_then_vote();
    case step::enter: return enter_then_vote();
    case step::pause: return pause_for({.why = why_, .unqueued = true});
    case step::watch: watch_majority(); return pause_->on_nodes_changed();
    case step::reschedule: return schedule_pause();
    case step::back_off: return back_off(errc::no_quorum);
    case step::retry: return retry_in_next_turn();
    case step::end_of_pause: return pause_->on_time();
    case step::finish: return finish();
    default: return;
    }
}

/// Ends what belongs to the old phase. An attempt that is over makes room for another one of this client.
acquirer::step acquirer::settle(core::acquiring::answer what)
{
    auto const before = state_.at;
    if (what.takes_back)
        roll_back();
    if (what.ends_pause)
        pause_->end();
    if (state_.at != before) // a node was found gone, and its event has advanced this acquirer
        return step::nothing;
    state_.at = what.next;
    if (before == phase::voting && what.next != before)
        runtime_.limit.leave();
    if (before == phase::held_up && what.next != before)
        runtime_.limit.forget(*this);
    return what.then;
}

/// The clock of an attempt starts when enough nodes can be asked: connecting is not paid from the lease.
// rule V1
void acquirer::connect_then_vote()
{
    auto const before = std::pair(state_.at, attempt_.round_number());
    awaits_quarantine_ = false;
    runtime_.nodes.hasten_for(lock());
    runtime_.nodes.connect_for(lock());
    // Connecting may close a connection, and its event may already have advanced this acquirer.
    if (std::pair(state_.at, attempt_.round_number()) != before)
        return;
    bool const awaits = runtime_.nodes.awaits_voters(lock());
    bool const enough = awaits && runtime_.nodes.has_majority(lock());
    if (settle(state_.connected(!awaits || (enough && queue_.called()))) == step::enter)
        return enter_then_vote();
    core::instant const now = runtime_.loop().now();
    if (before.first != phase::connecting)
        connecting_since_ = now;
    // The connect timeout runs once, even if connections fail and are made again meanwhile.
    core::duration const left =
        core::remaining(connecting_since_ + runtime_.its.settings().connect_timeout, now);
    runtime_.loop().schedule_after(*this, enough ? std::min(lock().config->node_timeout, left) : left);
}

void acquirer::enter_then_vote()
{
    runtime_.loop().cancel(*this);
    if (!runtime_.limit.enter(*this))
        return;
    (void)settle(state_.admitted());
    if (auto const missing = attempt_.provide(lock())) {
        queue_.end(); // the next client gets the lock that was handed to this one
        waiter& vain = *wanted_.current_waiter;
        wanted_.current_waiter = wanted_.owner->drop(vain);
        vain.fail(missing);
        bool const wanted = wanted_.current_waiter != nullptr;
        return settle(state_.lost(wanted, false)) == step::back_off ? back_off(errc::no_quorum) : finish();
    }
    wanted_.current_waiter->attempt_began();
    bool const meeting_node_first = std::exchange(meeting_node_first_, false);
    if (queue_.called())
        return attempt_.claim(wanted_.current_waiter->lock(), queue_.take_handoff());
    attempt_.start(wanted_.current_waiter->lock(), meeting_node_first, wanted_.owner->given_up());
}

void acquirer::on_won()
{
    (void)settle(state_.won());
    runtime_.loop().enqueue(static_cast<net::task&>(*this));
}

// rule V5
void acquirer::run()
{
    if (state_.at != phase::won)
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
    if (wanted_.current_waiter && cause == errc::contended)
        return on_contended();
    roll_back();
    bool const wanted = wanted_.current_waiter && !wanted_.owner->on_attempt_lost(cause);
    settle(state_.lost(wanted, false)) == step::back_off ? back_off(cause) : finish();
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
    if (!lock().config->kind.script(kind::request::vote)) // it would refuse before it takes memory
        runtime_.registry.have_memory(attempt_.held_by_others());
    bool const wanted = !wanted_.owner->on_attempt_lost(errc::contended);
    if (settle(state_.lost(wanted, true)) == step::finish)
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
        if (end == errc{} && cause == errc::no_quorum) {
            if (census.quarantine_is_in_the_way())
                runtime_.nodes.warnings().waits_for_quarantine(lock().name(), attempt_.rows(), now);
            else if (outage_.gives_up(census, one.started(), one.outage_patience(), now))
                end = cause;
        }
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
        wanted_.key->changed_by_us(where);
}

void acquirer::retry_in_next_turn()
{
    awaits_quarantine_ = false;
    runtime_.loop().schedule_after(*this, core::duration::zero());
}

/// Waits for nodes.
void acquirer::back_off(errc cause)
{
    meeting_node_first_ = false;
    retry_policy const& policy = lock().config->options.retry;
    auto const first = std::max<core::duration>(policy.min_delay, 2 * runtime_.round_trip());
    auto const jitter = cause == errc::no_quorum ? core::half_jitter : core::full_jitter;
    auto const delay =
        jitter(wanted_.refusals, first, policy.max_delay, runtime_.loop().machine().random_bits());
    auto const at = cause == errc::no_quorum ? runtime_.nodes.majority_at(lock()) : std::nullopt;
    awaits_quarantine_ = at.has_value();
    at ? runtime_.loop().schedule(*this, *at) : runtime_.loop().schedule_after(*this, delay);
}

/// Takes the first way to pause that is open; if none is, votes.
// rule Q15
void acquirer::pause_for(pause_reason const& reason)
{
    std::array<pause*, 2> const ways{&queue_, &poll_};
    auto const open = std::ranges::find_if(ways, [&](pause* each) { return each->begin(reason); });
    if (settle(state_.paused(open != ways.end())) == step::connect) {
        wanted_.nobody_came = false;
        return connect_then_vote();
    }
    pause_ = *open;
    why_ = reason.why;
    if (!std::exchange(expects_pushes_, true))
        runtime_.nodes.expect_pushes();
    watch_majority();
}

void acquirer::on_step(pause_step then)
{
    meeting_node_first_ |= state_.at == phase::pausing && then == pause_step::vote_meeting_node_first;
    go(state_.pause_says(then));
}

/// Without a majority a claim cannot succeed (rule Q15). A quarantine ends by itself.
// rule Q15
void acquirer::watch_majority()
{
    if (runtime_.nodes.has_majority(lock()) || runtime_.nodes.majority_at(lock()))
        outage_.end();
    else
        outage_.begin(runtime_.loop().now());
    schedule_pause();
}

/// The timer ends the pause, or the patience of a waiter without a limit of its own.
void acquirer::schedule_pause()
{
    auto const vain = patience_ends();
    bool const vain_first = vain && core::sooner(*vain, pause_->due(), runtime_.loop().now());
    runtime_.loop().schedule_finely(*this, vain_first ? *vain : pause_->due());
}

std::optional<core::instant> acquirer::patience_ends() const
{
    waiter const& one = *wanted_.current_waiter;
    auto const since = outage_.since(one.started());
    return since && !one.has_limit() ? std::optional(*since + one.outage_patience()) : std::nullopt;
}

void acquirer::nodes_changed()
{
    bool const wanted = wanted_.current_waiter != nullptr;
    if (wanted)
        runtime_.nodes.hasten_for(lock());
    bool const majority = wanted && runtime_.nodes.has_majority(lock());
    go(state_.nodes_changed(majority, wanted && awaits_quarantine_));
}

void acquirer::invalidated(unsigned node, key_state const& which)
{
    if (state_.at == phase::pausing && &which == &wanted_.awaited_key())
        pause_->on_key_changed(node);
}

void acquirer::changed_by_us(core::node_set where)
{
    if (state_.at == phase::pausing)
        pause_->on_changed_by_us(where);
}

void acquirer::finish()
{
    if (!wanted_.current_waiter)
        wanted_.owner->acquirer_ended();
    (void)settle({step::nothing, phase::draining});
    queue_.end();
    poll_.end();
    if (std::exchange(expects_pushes_, false))
        runtime_.nodes.stop_expecting_pushes();
    wanted_.current_waiter = nullptr;
    attempt_.finish();
    runtime_.loop().cancel(*this);
    on_drained();
}

void acquirer::on_drained()
{
    bool const drained = attempt_.drained() && queue_.drained() && poll_.drained();
    if (state_.at != phase::draining || !drained)
        return;
    state_.at = phase::idle;
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
    watcher->on_attempt({lock().name(), ec, attempt_.votes().granted(), runtime_.nodes.size(),
                         wanted_.current_waiter->attempts(), took,
                         granted ? core::validity(lock().config->options.ttl) - took : core::duration::zero(),
                         !granted && wanted_.key->held_here()});
}

} // namespace redlock::detail

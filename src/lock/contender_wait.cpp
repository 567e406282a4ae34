#include "core/backoff.hpp"
#include "lock/acquisition.hpp"
#include "lock/contender.hpp"
#include "lock/engine.hpp"
#include "lock/replies.hpp"
#include "lock/resource.hpp"
#include "redis/error_class.hpp"

#include <algorithm>
#include <utility>

// Between two attempts: whether there is another one, and when.
namespace redlock::lock {

namespace {

/// A rival who was first has asked the others by then, and keys that were set together are gone together.
constexpr core::duration settling_time = std::chrono::milliseconds{2};
/// Of the pause after attempts that crossed, in round trips.
constexpr int longest_dodge = 32;

} // namespace

core::duration contender::jitter(unsigned failures, core::duration first, core::duration cap) const
{
    return core::full_jitter(failures, first, cap, engine_.loop().machine().random_bits());
}

errc contender::after_attempt(errc cause) const
{
    core::instant const now = engine_.loop().now();
    if (errc const end = whom_->after_attempt(cause, now); end != errc{})
        return end;
    if (cause != errc::no_quorum || waits_for_quarantine())
        return {};
    auto const began = core::elapsed(outage_began_, whom_->started()) > core::duration::zero()
                           ? whom_->started()
                           : outage_began_;
    bool const patient =
        whom_->limited() || core::elapsed(began, now) < whom_->lock()->plan->options.retry.outage_patience;
    return patient && !hopeless() ? errc{} : cause;
}

/// With the quarantined nodes there would be a majority: their time ends by itself, and is no outage.
bool contender::waits_for_quarantine() const
{
    unsigned quarantined = 0;
    unsigned voting = 0;
    for (node_report const& row : rows_) {
        quarantined += row.result == node_result::quarantined ? 1U : 0U;
        voting += votes(row) ? 1U : 0U;
    }
    return quarantined != 0 && voting + quarantined >= core::majority(engine_.size());
}

/// A majority can never be had while so many nodes need an operator.
bool contender::hopeless() const
{
    unsigned needing = 0;
    for (node_report const& row : rows_)
        needing += row.result == node_result::refused && redis::permanent(row.error) ? 1U : 0U;
    return needing > engine_.size() - core::majority(engine_.size());
}

void contender::wait_for_nodes(errc cause)
{
    enter(phase::waiting);
    cause_ = errc::no_quorum;
    in_turn_ = false;
    retry_policy const& policy = lock_->plan->options.retry;
    auto const first = std::max<core::duration>(policy.min_delay, 2 * engine_.round_trip());
    auto const delay = cause == errc::no_quorum ? core::half_jitter(refusals_, first, policy.max_delay,
                                                                    engine_.loop().machine().random_bits())
                                                : jitter(refusals_, first, policy.max_delay);
    auto const at = cause == errc::no_quorum ? engine_.majority_at(*lock_) : std::nullopt;
    at ? engine_.loop().schedule(*this, *at) : engine_.loop().schedule_after(*this, delay);
}

void contender::wait_for_others()
{
    enter(phase::waiting);
    cause_ = errc::contended;
    if (!std::exchange(hearing_, true))
        engine_.hear();
    listening_.erase(std::exchange(outdated_, {}));
    learn();
    core::instant const now = engine_.loop().now();
    retry_policy const& policy = lock_->plan->options.retry;
    core::duration const round_trip = std::max<core::duration>(engine_.round_trip(), core::duration{1});
    poll_at_ =
        now + jitter(refusals_, std::max<core::duration>(policy.min_delay, 2 * round_trip), policy.max_delay);
    try_anyway_at_ = now + policy.max_delay;
    if (refused_.size() != 0) { // not of the first turn that is only offered
        bool const crossed = attempt_.granted() != 0;
        collisions_ = crossed ? collisions_ + 1 : 0;
        not_before_ = crossed ? now + jitter(collisions_, 2 * round_trip, longest_dodge * round_trip) : now;
        look_around_at_ = now + settling_time;
        looks_around_ = true;
    }
    if (auto const first = contention_.meeting_point();
        first && contention_.taken(*first) && !listening_.contains(*first))
        look(*first, true);
    plan();
}

void contender::meet()
{
    contention_.start(engine_.size(), wanted_->meeting_point(engine_.settings().names));
    for (unsigned i = 0; i != engine_.size(); ++i)
        if (refused_.contains(i))
            contention_.refused(i);
}

/// What the last attempt, and the connections, tell of the nodes.
void contender::learn()
{
    if (!std::exchange(knows_, true))
        meet();
    for (unsigned i = 0; i != engine_.size(); ++i) {
        bool const ready = engine_.at(i).state() == node_state::ready;
        if (!ready)
            listening_.erase(i);
        contention_.usable(i, ready && !engine_.is_quarantined(i, *lock_));
    }
}

/// One that neither granted nor refused looks free, and asking it at once again would change nothing.
void contender::note_failures()
{
    learn();
    for (unsigned i = 0; i != engine_.size(); ++i) {
        auto const said = rows_[i].result;
        if (said != node_result::pending)
            contention_.votes(i, said == node_result::granted || said == node_result::held_by_other);
    }
    contention_.lost(attempt_.sent() - settling_time);
}

/// Are we told when the lock is released?
bool contender::hears() const
{
    auto const first = contention_.meeting_point();
    return first && listening_.contains(*first) && engine_.at(*first).tracks();
}

core::instant contender::next_try()
{
    core::instant const now = engine_.loop().now();
    core::instant at = hears() ? try_anyway_at_ : poll_at_;
    if (contention_.may_be_free())
        at = not_before_;
    else if (auto const free = contention_.free_at();
             free && (hears() || core::sooner(*free + settling_time, at, now)))
        at = *free + settling_time; // a little later more than a majority is free
    if (contention_.lacks_votes() && core::sooner(try_anyway_at_, at, now))
        at = try_anyway_at_;
    return core::sooner(at, not_before_, now) ? not_before_ : at;
}

void contender::plan()
{
    core::instant const now = engine_.loop().now();
    core::instant at = next_try();
    if (core::reached(at, now)) {
        auto const first = contention_.meeting_point();
        in_turn_ = first && !(hears() && contention_.taken(*first));
        return connect_or_vote();
    }
    if (looks_around_ && core::reached(look_around_at_, now))
        look_around();
    if (looks_around_ && core::sooner(look_around_at_, at, now))
        at = look_around_at_;
    if (yielding_) // who takes that turn is heard of: its end need not be exact
        engine_.loop().schedule(*this, at);
    else
        engine_.loop().schedule_finely(*this, at);
}

/// On the others, too, so that what happens there is heard, and shown. Where a key has outlived what was expected of it
/// nothing has happened to be heard of: that is asked again, or nobody would know when to try next.
void contender::look_around()
{
    looks_around_ = false;
    for (unsigned i = 0; i != engine_.size(); ++i) {
        bool const taken = contention_.taken(i);
        if (!listening_.contains(i) || (taken && !contention_.of(i).until && !looking_.contains(i)))
            look(i, taken);
    }
}

/// Asks for the key and so, where the server tracks it, for word when it changes: both in one, so that no change goes
/// unheard between them (rule W2).
void contender::look(unsigned node, bool at_owner)
{
    net::node& n = engine_.at(node);
    if (!n.usable_now())
        return;
    n.track();
    if (n.tracks())
        listening_.insert(node);
    looking_.insert(node);
    redis::append_time_left(n.output(), lock_->key());
    ++outstanding_;
    n.expect(*this, tag(purpose::time_left, redis::script_form::text));
    if (!at_owner)
        return;
    redis::append_owner(n.output(), lock_->key());
    ++outstanding_;
    n.expect(*this, tag(purpose::owner, redis::script_form::text));
}

void contender::on_look(unsigned node, purpose asked, redis::resp_node const& reply)
{
    looking_.erase(node);
    auto const found = asked == purpose::owner ? read_owner(reply) : read_time_left(reply);
    believe(node, found);
    wanted_->note_holder(node, engine_.size(), found);
    if (yielding_ && contention_.taken(node))
        turn_taken();
    else
        plan();
}

void contender::believe(unsigned node, sighting const& seen)
{
    if (seen.gone)
        contention_.found_free(node);
    if (seen.owner != 0) {
        contention_.found_held(node);
        if (node == contention_.meeting_point())
            wanted_->met(seen.owner);
    }
    if (seen.left)
        contention_.found_held_until(node, engine_.loop().now() + std::min(*seen.left, lock_->plan->key_ttl));
}

void contender::key_changed(unsigned node)
{
    listening_.erase(node);
    if (!knows_)
        return;
    bool const ends_a_row = node == contention_.meeting_point() && contention_.taken(node);
    contention_.changed(node);
    if (!waits_for_others())
        return;
    if (yielding_) { // it was free: somebody has come
        contention_.found_held(node);
        look(node, true);
        return turn_taken();
    }
    if (ends_a_row)
        let_others_first();
    plan();
}

/// Our own connection is not told (NOLOOP), and the server has forgotten that we listen. What was asked before is answered
/// without knowing of the change; so it is asked again behind it, unless the next vote does that.
void contender::changed_here(core::node_set where)
{
    listening_.erase(where);
    outdated_.insert(where);
    if (!knows_)
        return;
    for (unsigned i = 0; i != engine_.size(); ++i)
        if (where.contains(i))
            contention_.changed(i);
    if (waits_for_others())
        plan();
    for (unsigned i = 0; i != engine_.size() && waits_for_others(); ++i)
        if (where.contains(i))
            look(i, false);
}

} // namespace redlock::lock

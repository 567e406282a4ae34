#include "core/backoff.hpp"
#include "engine/acquire_op.hpp"
#include "engine/attempt_loop.hpp"
#include "engine/engine.hpp"
#include "engine/key_queue.hpp"
#include "redis/error_class.hpp"

#include <algorithm>
#include <utility>

// Between two attempts: whether there is another one, and when.
namespace redlock::detail {

errc attempt_loop::after_attempt(errc cause) const
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
bool attempt_loop::waits_for_quarantine() const
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
bool attempt_loop::hopeless() const
{
    unsigned needing = 0;
    for (node_report const& row : rows_)
        needing += row.result == node_result::refused && redis::permanent(row.error) ? 1U : 0U;
    return needing > engine_.size() - core::majority(engine_.size());
}

void attempt_loop::wait_for_nodes(errc cause)
{
    enter(phase::waiting);
    cause_ = errc::no_quorum;
    in_turn_ = false;
    retry_policy const& policy = lock_->plan->options.retry;
    auto const first = std::max<core::duration>(policy.min_delay, 2 * engine_.round_trip());
    auto const jitter = cause == errc::no_quorum ? core::half_jitter : core::full_jitter;
    auto const delay = jitter(refusals_, first, policy.max_delay, engine_.loop().machine().random_bits());
    auto const at = cause == errc::no_quorum ? engine_.majority_at(*lock_) : std::nullopt;
    at ? engine_.loop().schedule(*this, *at) : engine_.loop().schedule_after(*this, delay);
}

core::waiting::pace attempt_loop::pace() const
{
    retry_policy const& policy = lock_->plan->options.retry;
    return {policy.min_delay, policy.max_delay,
            std::max<core::duration>(engine_.round_trip(), core::duration{1})};
}

core::waiting::chances attempt_loop::chances() const
{
    net::machine& machine = engine_.loop().machine();
    return {machine.random_bits(), machine.random_bits()};
}

void attempt_loop::wait_for_others()
{
    enter(phase::waiting);
    cause_ = errc::contended;
    if (!std::exchange(hearing_, true))
        engine_.hear();
    learn();
    core::instant const now = engine_.loop().now();
    auto const how = pace();
    auto const chance = chances();
    if (refused_.size() != 0) // not of the first turn that is only offered
        waiting_.dodge(now, how, attempt_.granted() != 0, chance);
    waiting_.wait(now, how, refusals_, chance);
    plan();
}

/// What the last attempt, and the connections, tell of the nodes.
void attempt_loop::learn()
{
    if (!waiting_.knows_nodes())
        waiting_.meet(engine_.size(), wanted_->rendezvous_node(engine_.settings().names), refused_);
    for (unsigned i = 0; i != engine_.size(); ++i) {
        bool const ready = engine_.at(i).state() == node_state::ready;
        if (!ready)
            waiting_.deaf(core::node_set(i));
        waiting_.usable(i, ready && !engine_.is_quarantined(i, *lock_));
    }
}

/// One that neither granted nor refused looks free, and asking it at once again would change nothing.
void attempt_loop::note_failures()
{
    learn();
    for (unsigned i = 0; i != engine_.size(); ++i) {
        auto const said = rows_[i].result;
        if (said != node_result::pending)
            waiting_.votes(i, said == node_result::granted || said == node_result::held_by_other);
    }
    waiting_.attempt_lost(attempt_.sent());
}

/// The timer first: what is asked may find that a connection is gone, and be heard of at once.
void attempt_loop::plan()
{
    core::node_set tracking;
    for (unsigned i = 0; i != engine_.size(); ++i)
        if (engine_.at(i).may_track())
            tracking.insert(i);
    auto const then = waiting_.decide(engine_.loop().now(), tracking);
    if (then.vote) {
        in_turn_ = then.in_turn;
        return connect_or_vote();
    }
    then.roughly ? engine_.loop().schedule(*this, then.at) : engine_.loop().schedule_finely(*this, then.at);
    for (unsigned i = 0; i != engine_.size() && waits_for_others(); ++i)
        if (then.peek.contains(i))
            peek(i, then.peek_owner.contains(i));
}

void attempt_loop::peek(unsigned node, bool at_owner)
{
    net::node& n = engine_.at(node);
    if (!n.usable_now())
        return;
    n.track();
    waiting_.peeked(node, n.tracks());
    question(n, kind::request::time_left, purpose::time_left);
    if (at_owner)
        question(n, kind::request::owner, purpose::owner);
}

void attempt_loop::question(net::node& asked, kind::request what, purpose why)
{
    lock_->plan->kind.append(asked.output(), what, {lock_->key(), {}}, redis::script_form::text);
    ++outstanding_;
    asked.expect(*this, tag(why, redis::script_form::text));
}

void attempt_loop::on_peek(unsigned node, purpose asked, redis::resp_node const& reply)
{
    waiting_.answered(node);
    auto const what = asked == purpose::owner ? kind::request::owner : kind::request::time_left;
    auto const found = lock_->plan->kind.read_sighting(what, reply);
    believe(node, found);
    wanted_->note_holder(node, engine_.size(), found);
    if (waiting_.yields() && waiting_.known().taken(node))
        turn_taken();
    else
        plan();
}

void attempt_loop::believe(unsigned node, kind::sighting const& seen)
{
    if (seen.gone)
        waiting_.found_free(node);
    if (seen.owner != 0) {
        waiting_.found_held(node);
        if (node == waiting_.known().rendezvous_node())
            wanted_->met(seen.owner);
    }
    if (seen.left)
        waiting_.found_held_until(node, engine_.loop().now() + std::min(*seen.left, lock_->plan->key_ttl));
}

/// Who has waited less than others leaves them a moment (rule W5).
void attempt_loop::key_changed(unsigned node)
{
    bool const ends_a_row = waiting_.changed(node);
    if (!waits_for_others())
        return;
    if (waiting_.yields()) { // it was free
        waiting_.somebody_came(node);
        return turn_taken();
    }
    core::instant const now = engine_.loop().now();
    if (ends_a_row)
        waiting_.leave_alone_until(now + wanted_->yield_delay(engine_.turn() / 2), now);
    plan();
}

void attempt_loop::changed_here(core::node_set where)
{
    waiting_.changed_here(where, waits_for_others());
    if (waits_for_others())
        plan();
}

} // namespace redlock::detail

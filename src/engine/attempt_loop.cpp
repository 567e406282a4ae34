#include "engine/attempt_loop.hpp"

#include "core/validity.hpp"
#include "engine/acquire_op.hpp"
#include "engine/engine.hpp"
#include "engine/held_lease.hpp"
#include "engine/key_queue.hpp"
#include <redlock/observer.hpp>

#include <utility>

// For whom it asks, how that begins and ends.
namespace redlock::detail {

attempt_loop::attempt_loop(engine& owner) : engine_(owner), rows_(owner.size()), waiting_(owner.size()) {}

attempt_loop::~attempt_loop()
{
    if (block_)
        engine_.lease_blocks().give(block_);
}

void attempt_loop::start(key_queue& wanted, acquire_op& whom, start_mode how)
{
    wanted_ = &wanted;
    refused_ = {};
    whom_ = &whom;
    lock_ = whom.lock();
    refusals_ = 0;
    outage_ = false;
    waiting_.start();
    in_turn_ = offered_turn_ = how != start_mode::at_once;
    offered_turn_ ? offer_turn(how) : connect_or_vote();
}

/// An attempt goes on for whoever comes next, if that one's keys live as long. Otherwise the next one begins a little
/// later: whole queues leave at once.
void attempt_loop::serve(acquire_op& successor)
{
    whom_ = &successor;
    bool const same = same_terms(*lock_, *successor.lock());
    bool const open = phase_ == phase::voting || phase_ == phase::won;
    if (open && !same)
        take_back();
    lock_ = successor.lock();
    if (!open || same)
        return;
    enter(phase::waiting);
    cause_ = errc::no_quorum;
    engine_.loop().schedule_after(*this, core::duration::zero());
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
        attempt_timed_out();
}

bool attempt_loop::lacks_nodes() const
{
    if (phase_ == phase::voting)
        return hears_too_few();
    return (phase_ == phase::connecting || waits_for_nodes()) &&
           engine_.voters(*lock_) < core::majority(engine_.size());
}

/// Counted as it stands, after more time than nodes take that are well.
bool attempt_loop::hears_too_few() const
{
    core::attempt so_far = attempt_;
    (void)so_far.time_out();
    auto const since = core::elapsed(attempt_.sent(), engine_.loop().now());
    return since >= lock_->plan->node_timeout / 8 && !so_far.contended();
}

void attempt_loop::nodes_changed()
{
    for (unsigned i = 0; i != engine_.size(); ++i) // what a connection's server was to tell ends with it
        if (engine_.at(i).state() != node_state::ready)
            waiting_.deaf(core::node_set(i));
    if (phase_ == phase::connecting)
        return connect_or_vote();
    if (phase_ != phase::waiting)
        return;
    if (cause_ == errc::no_quorum && engine_.voters(*lock_) >= core::majority(engine_.size()))
        return vote();
    if (cause_ == errc::no_quorum)
        return;
    learn();
    waiting_.nodes_changed();
    plan();
}

void attempt_loop::forsake()
{
    whom_ = nullptr;
    auto const lock = std::move(lock_);
    lease_.reset();
}

void attempt_loop::expire()
{
    switch (phase_) {
    case phase::connecting: return vote();
    case phase::voting:
        if (in_turn_ && !core::reached(attempt_.sent() + lock_->plan->node_timeout, engine_.loop().now()))
            return ask_next_in_turn();
        if (stands_in_line())
            engine_.limit().too_many(attempt_.sent());
        return attempt_timed_out();
    case phase::waiting: return cause_ == errc::contended ? plan() : connect_or_vote();
    default: return;
    }
}

void attempt_loop::won()
{
    engine_.loop().cancel(*this);
    if (core::reached(core::deadline(attempt_.sent(), lock_->plan->terms.ttl), engine_.loop().now()))
        return lose(errc::too_slow);
    engine_.limit().won();
    enter(phase::won);
    engine_.loop().enqueue(static_cast<net::task&>(*this));
}

void attempt_loop::run()
{
    if (phase_ != phase::won)
        return;
    core::instant const now = engine_.loop().read_clock();
    // It was in time when counted.
    if (core::reached(core::deadline(attempt_.sent(), lock_->plan->terms.ttl), now))
        return lose(errc::too_slow);
    engine_.measured(core::elapsed(attempt_.sent(), now));
    tell({});
    wanted_->publish_success(rows_);
    acquire_op& lucky = *whom_;
    auto held = new_held_lease(std::exchange(block_, nullptr), lock_, nonce_, attempt_, lucky.attempts(),
                               lucky.waited(now));
    wanted_->taken(*this, *held);
    lease_ = held;
    finish();
    lucky.deliver(std::move(held));
}

void attempt_loop::lose(errc cause)
{
    tell(cause);
    ++refusals_;
    core::instant const now = engine_.loop().now();
    if (cause != errc::no_quorum)
        outage_ = false;
    else if (!std::exchange(outage_, true) || waits_for_quarantine())
        outage_began_ = now;
    bool const goes_on = anybody_left(cause);
    if (goes_on && cause == errc::contended)
        note_failures();
    if (goes_on && cause == errc::no_quorum && waits_for_quarantine()) // the rows are given away below
        engine_.warnings().waits_for_quarantine(whom_->lock()->name(), rows_, now);
    take_back();
    if (!goes_on) {
        wanted_->abandoned(*this);
        return finish();
    }
    lock_ = whom_->lock();
    if (cause != errc::contended)
        return wait_for_nodes(cause);
    offered_turn_ = false; // or somebody took it
    wanted_->refused();
    wait_for_others();
}

/// Whom this attempt was the last for, is told; what is left is the first who may go on.
bool attempt_loop::anybody_left(errc cause)
{
    while (whom_) {
        errc const end = after_attempt(cause);
        if (end == errc{})
            return true;
        acquire_op& done = *whom_;
        whom_ = wanted_->after(done);
        wanted_->drop(done);
        done.attempt_failed(cause);
        done.fail(end);
    }
    return false;
}

/// Everywhere but where the vote was certainly not executed: a reply may have been lost, not the vote (rule A6).
void attempt_loop::take_back()
{
    wanted_->publish(rows_);
    core::node_set perhaps = asked_;
    perhaps.erase(refused_);
    waiting_.deaf(perhaps); // our own change ends it, and is not told (NOLOOP)
    if (perhaps.size() == 0)
        return;
    // A vote may wait for a connection before it is executed.
    core::instant const expires = attempt_.sent() + engine_.settings().connect_timeout + lock_->plan->key_ttl;
    engine_.compensate(*std::exchange(undo_, nullptr),
                       {{lock_->wanted, &lock_->plan->kind, nonce_, proposal_}, expires}, perhaps);
    wanted_->taken_back(*this, perhaps);
}

void attempt_loop::enter(phase then)
{
    if (phase_ == phase::voting)
        engine_.limit().leave();
    else if (phase_ == phase::held_up)
        engine_.limit().forget(*this);
    phase_ = then;
}

void attempt_loop::finish()
{
    engine_.loop().cancel(*this);
    if (std::exchange(hearing_, false))
        engine_.stop_hearing();
    enter(phase::draining);
    whom_ = nullptr;
    if (block_)
        engine_.lease_blocks().give(std::exchange(block_, nullptr));
    retire_if_drained();
}

void attempt_loop::retire_if_drained()
{
    if (phase_ != phase::draining || outstanding_ != 0)
        return;
    phase_ = phase::retired;
    lease_.reset();
    lock_.reset();
    engine_.retire(*this);
}

void attempt_loop::tell(errc result)
{
    if (result != errc{})
        whom_->attempt_failed(result);
    observer* const watcher = engine_.watcher();
    if (!watcher)
        return;
    bool const granted = result == errc{};
    auto const ec = granted ? boost::system::error_code{} : make_error_code(result);
    auto const took = core::elapsed(attempt_.sent(), engine_.loop().now());
    watcher->on_attempt({lock_->name(), ec, attempt_.granted(), engine_.size(), whom_->attempts(), took,
                         granted ? core::validity(lock_->plan->options.ttl) - took : core::duration::zero()});
}

void attempt_loop::tell_vote(unsigned node, node_report const& row)
{
    observer* const watcher = engine_.watcher();
    if (!watcher || row.result == node_result::pending)
        return;
    std::chrono::microseconds const round_trip{row.round_trip_us};
    watcher->on_vote({lock_->name(), engine_.settings().names[node], false, row.result, round_trip, row.error,
                      row.words()});
}

} // namespace redlock::detail

// SPDX-License-Identifier: BSL-1.0
#include "engine/queue_pause.hpp"

#include "engine/lock_config.hpp"
#include "engine/nonce_source.hpp"
#include "engine/waiter.hpp"
#include "kind/semaphore.hpp"
#include "net/node.hpp"
#include "redis/resp.hpp"
#include <redlock/node_outcome.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace redlock::detail {

namespace {

/// No key of ours lives for longer. Centuries in nanoseconds are too many.
constexpr std::chrono::hours longest_time_left{48};

/// A waiter that leaves may have been handed the lock without hearing of it, and says so: the open window comes once too
/// often rather than never (rule Q19).
constexpr std::chrono::hours unknown_passage{24};

} // namespace

template class round<queue_pause>;

bool queue_pause::begin(pause_reason const& reason)
{
    if (reason.unqueued || !wanted_.current_waiter->wants_position())
        return false;
    in_front_ = reason.in_front;
    window_ends_ = reason.not_before;
    handoff_.which = wanted_.awaited; // among several names (rule M7)
    type_ = &config().kind.in_queue();
    refused_ = silent_ = {};
    return enter_somewhere();
}

bool queue_pause::serve(waiter& next)
{
    lock_config const& its = *next.lock()->config;
    bool const same_position = its.kind.position_kind() == type_->position_kind() &&
                               (!type_->has_permits || its.kind_terms == config().kind_terms);
    if (!same_position || !next.wants_position())
        return false;
    if (told_)
        next.tell_position(*told_);
    return true;
}

bool queue_pause::enter_somewhere()
{
    auto const node = runtime_.registry.node_of(wanted_.lock(), wanted_.awaited_key(), passed_over());
    if (!node || !prepare(*node))
        return false;
    node_ = *node;
    connection_ = nodes().at(node_).connection();
    called_ = false;
    told_.reset();
    without_key_ = {};
    core::instant const now = runtime_.loop().now();
    timing_ = polls_ ? core::position_timing(handoff_.window, runtime_.poll_pause(), now)
                     : core::position_timing(handoff_.window);
    forget_call();
    runtime_.registry.enter(*this);
    open_round();
    if (core::reached(window_ends_, now))
        ask();
    else
        timing_.left_free(window_ends_); // on_time() asks at the end
    return true;
}

/// Takes what leaving needs, too: a position that nobody can leave would cost its time to the client that calls it.
// rules Q16 and K6
bool queue_pause::prepare(unsigned node)
{
    try {
        if (!rollback_)
            rollback_ = &runtime_.rollbacks.prepare();
        handoff_.next_owner = runtime_.its.fresh_nonce();
        handoff_.window = runtime_.claim_window(node, config().node_timeout);
        polls_ = !config().options.fair || !runtime_.registry.may_call(node);
        position_text_ = kind::position(handoff_.next_owner.text(), type_->position_kind(), handoff_.window,
                                        config().kind_terms,
                                        polls_ ? std::string_view() : runtime_.registry.channel(node));
        handoff_.permits.reserve(kind::longest_list(kind::permits_of(config().kind_terms)));
        return true;
    } catch (std::exception const&) { // no memory, or no randomness
        return false;
    }
}

/// Asks for a position, or whether it still stands. This moves `due()`: the caller schedules anew.
// rule Q2
void queue_pause::ask()
{
    timing_.asked(runtime_.loop().now());
    was_tracked_ = nodes().at(node_).tracks();
    send(node_, kind::request::enter);
}

// rule Q12
void queue_pause::end()
{
    if (!stands())
        return;
    hook.unlink();
    open_round();
    runtime_.rollbacks.start(*std::exchange(rollback_, nullptr),
                             {{&wanted_.awaited_key(), type_, handoff_.next_owner},
                              runtime_.loop().now() + handoff_.window,
                              std::move(position_text_),
                              called_ ? handoff_.passed.value_or(core::duration::zero()) : unknown_passage},
                             core::node_set(node_));
}

remote_handoff const& queue_pause::take_handoff()
{
    core::instant const now = runtime_.loop().now();
    if (handoff_.passed && !type_->has_permits)
        wanted_.awaited_key().contention.passing.continued(*handoff_.passed + runtime_.round_trip(), now);
    hook.unlink();
    open_round();
    return handoff_;
}

void queue_pause::on_time()
{
    core::instant const now = runtime_.loop().now();
    if (core::reached(silent_until_, now))
        silent_ = {};
    if (timing_.awaits_answer()) // for too long
        return pass_over_and_reenter();
    if (move_if_needed())
        return;
    bool const doubts = timing_.doubtful(now);
    if (doubts)
        timing_.doubted(config().key_ttl, now);
    ask();
    reschedule();
    if (doubts)
        look_elsewhere();
}

void queue_pause::on_nodes_changed()
{
    if (stands())
        (void)move_if_needed();
}

/// If the node cannot be asked, or if the node where the other waiters have their positions can be used again. Returns whether
/// it has moved.
// rule Q17
bool queue_pause::move_if_needed()
{
    auto const before = round_number();
    auto const node = runtime_.registry.node_of(wanted_.lock(), wanted_.awaited_key(), passed_over());
    bool const gone = !nodes().at(node_).ensure_can_send_now() || position_lost();
    if (before != round_number()) // a node was found gone, and has moved the position already
        return true;
    if (gone)
        pass_over_and_reenter();
    else if (node && *node != node_)
        reenter_queue();
    return before != round_number();
}

void queue_pause::reenter_queue()
{
    end();
    in_front_ = false;
    enter_somewhere() ? reschedule() : listener_.on_step(pause_step::closed);
}

/// The node is silent, or the connection is gone: contenders meet at the next one (rule Q17).
// rule Q17
void queue_pause::pass_over_and_reenter()
{
    if (!position_lost()) {
        silent_.insert(node_);
        silent_until_ = runtime_.loop().now() + core::position_timing::refresh;
    } else if (nodes().at(node_).connection() == connection_ && runtime_.registry.may_call(node_)) {
        refused_.insert(node_); // or it polls there from now on (rule Q18)
    }
    reenter_queue();
}

void queue_pause::on_key_changed(unsigned node)
{
    if (node != node_ || !had_one_owner_)
        return;
    timing_.key_changed(runtime_.loop().now());
    reschedule();
}

void queue_pause::on_changed_by_us(core::node_set where)
{
    if (where.contains(node_))
        on_key_changed(node_);
}

// rule Q3
void queue_pause::on_call(kind::call const& call)
{
    using word = kind::call::word;
    core::instant const now = runtime_.loop().now();
    if (call.what == word::first)
        timing_.became_first(now, call.time);
    if (call.what == word::free)
        timing_.left_free(now + std::min<core::duration>(call.time, runtime_.open_window_length()));
    if (call.what != word::take)
        return reschedule();
    if (!call.previous_owner.empty()) {
        handoff_.previous_owner = nonce(call.previous_owner);
        handoff_.passed = call.time;
    }
    if (!timing_.awaits_answer())
        answer_call(call.permits);
}

/// A position reply after a call withdraws the call. The node has put the position back, and will call the position again. A
/// nonce that claims or holds the lock has no position.
/// Without a call the lock was free: nobody had it before the next owner.
void queue_pause::forget_call()
{
    handoff_.previous_owner = handoff_.next_owner;
    handoff_.passed.reset();
}

void queue_pause::answer_call(std::string_view permits)
{
    if (type_->has_permits && !kind::are_permits(kind::permits_of(config().kind_terms), permits))
        return pass_over_and_reenter(); // no node says that
    called_ = true;
    if (type_->has_permits)
        handoff_.permits = permits;
    listener_.on_step(pause_step::claim);
}

void queue_pause::on_answer(node_answer const& got)
{
    if (got.late || !stands())
        return;
    if (got.what == kind::request::time_left)
        return on_time_left(got);
    if (got.answer.what == kind::answer::meaning::granted)
        return answer_call(kind::read_grant(got.what, got.reply).value_or(kind::grant{}).permits);
    on_position(got);
}

void queue_pause::on_position(node_answer const& got)
{
    auto const seen = type_->read_observation(got.what, got.reply);
    // A key without a remaining time never expires, and no queue helps.
    if (got.answer.what != kind::answer::meaning::denied || !seen.left)
        return on_entry_refused(got);
    forget_call();
    wanted_.saw(got.node, nodes().size(), seen);
    had_one_owner_ = seen.who == holder_kind::owner || seen.who == holder_kind::no_lock;
    if (!(was_tracked_ && nodes().at(node_).tracks()) && had_one_owner_ && !polls_)
        return hear_of_changes();
    auto const left = std::min<std::chrono::milliseconds>(*seen.left, longest_time_left);
    in_front_ = false;
    timing_.positioned(got.answer.number, left, config().key_ttl, runtime_.loop().now());
    if (!told_)
        tell_position();
    reschedule();
}

/// A server pays for each key that is read while the server tracks. So tracking starts here, and then the key is read again.
void queue_pause::hear_of_changes()
{
    nodes().at(node_).track();
    if (!nodes().at(node_).tracks())
        return pass_over_and_reenter();
    ask();
    reschedule();
}

// rule Q23
void queue_pause::on_entry_refused(node_answer const& got)
{
    if (redis::is_error(got.reply.type)) {
        runtime_.registry.refused(got.node, wanted_.awaited_key(), got.reply);
        refused_.insert(node_); // the problem there may last
        return reenter_queue();
    }
    end();
    listener_.on_step(pause_step::closed);
}

void queue_pause::on_silence(unsigned, kind::request what, bool late, net::failure const&)
{
    if (what == kind::request::enter && !late && stands())
        pass_over_and_reenter();
}

/// The position or the time of the next question has changed. The observer hears when this waiter becomes the first.
void queue_pause::reschedule()
{
    if (told_ && *told_ != 0 && timing_.before() == 0)
        tell_position();
    listener_.on_step(pause_step::wait);
}

void queue_pause::tell_position()
{
    told_ = timing_.before();
    wanted_.current_waiter->tell_position(*told_);
}

/// The key on the queue node may outlive the keys on the other nodes. So the other nodes are asked.
// rule Q13
void queue_pause::look_elsewhere()
{
    without_key_ = {};
    for (unsigned i = 0; i != nodes().size() && stands(); ++i) {
        if (i == node_ || !nodes().at(i).ensure_can_send_now())
            continue;
        nodes().at(i).track();
        send(i, kind::request::time_left);
    }
}

/// If a majority has no key, those who wait for the queue node's would wait for nothing.
void queue_pause::on_time_left(node_answer const& got)
{
    if (redis::is_error(got.reply.type))
        nodes().note_minor_refusal(got.node, "PTTL", got.reply);
    if (!type_->read_observation(got.what, got.reply).gone)
        return;
    without_key_.insert(got.node);
    if (without_key_.size() >= core::majority(nodes().size()))
        listener_.on_step(pause_step::vote);
}

} // namespace redlock::detail

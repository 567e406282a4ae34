// SPDX-License-Identifier: BSL-1.0
#include "engine/place_in_line.hpp"

#include "kind/semaphore.hpp"
#include "net/node.hpp"
#include "redis/resp.hpp"
#include <redlock/node_outcome.hpp>

#include <algorithm>
#include <chrono>
#include <new>
#include <stdexcept>
#include <utility>

namespace redlock::detail {

namespace {

/// No key of ours lives for longer. Centuries in nanoseconds are too many.
constexpr std::chrono::hours longest_time_left{48};

/// Who gives up what he may have been handed, and was not told of, says so: a moment for others comes once too often
/// rather than never (rule Q19).
constexpr std::chrono::hours unknown_passage{24};
constexpr std::chrono::hours as_long_as_it_stands{24};

} // namespace

template class round<place_in_line>;

place_in_line::place_in_line(runtime& on, place_listener& listener) : runtime_(on), listener_(listener) {}

bool place_in_line::enter(std::shared_ptr<lock_state> const& lock, core::instant then, bool in_front)
{
    leave();
    in_front_ = in_front;
    then_ = then;
    lock_ = lock;
    type_ = lock->plan->kind.several ? &kind::plain : &lock->plan->kind; // it waits for one of the names
    silent_ = {};
    return enter_somewhere();
}

/// What leaving needs is had before: a place that nobody can leave would cost who gives the lock to it its time.
// rules Q16 and K6
bool place_in_line::enter_somewhere()
{
    auto const node = runtime_.lines.node_of(*lock_, silent_);
    if (!node)
        return false;
    try {
        if (!undo_)
            undo_ = &runtime_.clean.prepare();
        inherited_.heir = runtime_.its.fresh_nonce();
        window_ = runtime_.claim_window(lock_->plan->node_timeout);
        polls_ = !lock_->plan->options.fair || !runtime_.lines.may_call(*node);
        place_ = kind::position(inherited_.heir.text(), type_->waiter(), window_, lock_->permits,
                                polls_ ? std::string_view() : runtime_.lines.channel(*node));
        inherited_.permits.reserve(kind::longest_list(lock_->permits));
    } catch (std::bad_alloc const&) {
        return false;
    } catch (std::runtime_error const&) { // no randomness
        return false;
    }
    node_ = *node;
    connection_ = nodes().at(node_).connection();
    standing_ = true;
    called_ = false;
    core::instant const now = runtime_.loop().now();
    waiting_ = polls_ ? core::line_place(window_, runtime_.poll_pause(), now) : core::line_place(window_);
    forget_call();
    inherited_.window = window_;
    runtime_.lines.enter(*this);
    open_round();
    core::reached(then_, now) ? ask() : waiting_.left_free(then_);
    return true;
}

// rule Q2
void place_in_line::ask()
{
    waiting_.asked(runtime_.loop().now());
    heard_ = nodes().at(node_).tracks();
    send(node_, kind::request::enter);
}

// rule Q12
void place_in_line::leave()
{
    if (!std::exchange(standing_, false))
        return;
    place.unlink();
    open_round();
    runtime_.clean.start(*std::exchange(undo_, nullptr),
                         {{lock_->wanted, type_, inherited_.heir},
                          runtime_.loop().now() + window_,
                          std::move(place_),
                          called_ ? inherited_.passed.value_or(core::duration::zero()) : unknown_passage},
                         core::node_set(node_));
}

inheritance const& place_in_line::inherit()
{
    standing_ = false;
    place.unlink();
    open_round();
    return inherited_;
}

void place_in_line::on_time()
{
    core::instant const now = runtime_.loop().now();
    if (core::reached(forgiven_at_, now))
        silent_ = {};
    if (waiting_.silent() || !nodes().at(node_).make_usable_now() || lost())
        return move_on();
    if (belongs_elsewhere())
        return move();
    bool const doubts = waiting_.doubtful(now);
    if (doubts)
        waiting_.doubted(lock_->plan->key_ttl, now);
    ask();
    listener_.on_moved();
    if (doubts)
        listener_.on_doubt(node_);
}

void place_in_line::nodes_changed()
{
    if (!standing_ || called_)
        return;
    if (lost())
        move_on();
    else if (belongs_elsewhere())
        move();
}

/// The node where the others stand can be used again (rule Q17).
bool place_in_line::belongs_elsewhere()
{
    auto const node = runtime_.lines.node_of(*lock_, silent_);
    return node && *node != node_ && standing_;
}

void place_in_line::move()
{
    leave();
    in_front_ = false;
    enter_somewhere() ? listener_.on_other_line() : listener_.on_no_line();
}

/// The node is silent, or the connection is gone: contenders meet at the next one.
// rule Q17
void place_in_line::move_on()
{
    if (!lost())
        pass_over(core::line_place::refresh);
    else if (nodes().at(node_).connection() == connection_ && runtime_.lines.may_call(node_))
        pass_over(as_long_as_it_stands); // or it polls there from now on (rule Q18)
    move();
}

void place_in_line::pass_over(core::duration time)
{
    silent_.insert(node_);
    forgiven_at_ = runtime_.loop().now() + time;
}

void place_in_line::key_changed(unsigned node)
{
    if (node != node_ || !owned_)
        return;
    waiting_.key_changed(runtime_.loop().now());
    listener_.on_moved();
}

void place_in_line::changed_here(core::node_set where)
{
    if (where.contains(node_))
        key_changed(node_);
}

// rule Q3
void place_in_line::on_call(kind::call const& said)
{
    using word = kind::call::word;
    core::instant const now = runtime_.loop().now();
    if (said.what == word::first)
        waiting_.became_first(now, said.time);
    if (said.what == word::free)
        waiting_.left_free(now + std::min<core::duration>(said.time, runtime_.turn()));
    if (said.what != word::take)
        return listener_.on_moved();
    if (!said.giver.empty()) {
        inherited_.giver = nonce(said.giver);
        inherited_.passed = said.time;
    }
    if (!waiting_.silent())
        answer_call(said.permits);
}

/// The node answered after a call that it is over: it has put the position into the queue again, and calls it once more. No
/// position may stand whose nonce claims or holds the lock.
void place_in_line::forget_call()
{
    inherited_.giver = inherited_.heir;
    inherited_.passed.reset();
}

void place_in_line::answer_call(std::string_view permits)
{
    if (type_->slotted && !kind::are_permits(lock_->permits, permits))
        return move_on(); // no node says that
    called_ = true;
    if (type_->slotted)
        inherited_.permits = permits;
    listener_.on_called();
}

void place_in_line::on_answer(node_answer const& got)
{
    using meaning = kind::answer::meaning;
    if (got.late || !standing_ || called_)
        return;
    if (got.said.what == meaning::granted)
        return answer_call(kind::read_grant(got.what, got.reply).value_or(kind::grant{}).permits);
    auto const seen = type_->read_sighting(got.what, got.reply);
    if (got.said.what != meaning::denied || !seen.left) // or it never goes, and is not waited for in a line
        return refused(got);
    forget_call();
    listener_.on_held(got.node, seen);
    owned_ = seen.who == holder_kind::owner || seen.who == holder_kind::no_lock;
    if (!heard_ && owned_ && !polls_)
        return hear_of_changes();
    auto const left = std::min<std::chrono::milliseconds>(*seen.left, longest_time_left);
    in_front_ = false;
    waiting_.placed(got.said.number, left, lock_->plan->key_ttl, runtime_.loop().now());
    listener_.on_placed();
}

/// Only now, as a server pays for each key that is read while it tracks; and then the key is read again.
void place_in_line::hear_of_changes()
{
    nodes().at(node_).track();
    if (!nodes().at(node_).tracks())
        return move_on();
    ask();
    listener_.on_moved();
}

// rule Q23
void place_in_line::refused(node_answer const& got)
{
    if (redis::is_error(got.reply.type)) {
        runtime_.lines.refused(got.node, *lock_, got.reply);
        pass_over(as_long_as_it_stands); // what is wrong there may stay so
        return move();
    }
    leave();
    listener_.on_no_line();
}

void place_in_line::on_silence(unsigned, kind::request, bool late, net::failure const&)
{
    if (!late && standing_ && !called_)
        move_on();
}

void place_in_line::on_drained()
{
    listener_.on_place_drained();
}

} // namespace redlock::detail

// SPDX-License-Identifier: BSL-1.0
#include "engine/acquire_op.hpp"

#include "core/instant.hpp"
#include "engine/acquirer.hpp"
#include "engine/exception_for.hpp"
#include "engine/held_lease.hpp"
#include "engine/in_words.hpp"
#include "engine/lease_access.hpp"
#include "engine/lock_descriptor.hpp"
#include "engine/multi_waiter.hpp" // IWYU pragma: keep
#include "engine/words.hpp"
#include <redlock/detail/error_access.hpp>
#include <redlock/error.hpp>
#include <redlock/lease.hpp>
#include <redlock/observer.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

namespace redlock::detail {

acquire_op::acquire_op(runtime& on, pool<acquire_op>& home) : runtime_(on), home_(home) {}

void acquire_op::start(lock_ptr&& lock, wait_limit limit, handler_type&& handler)
{
    waiter::begin(std::move(lock), limit, runtime_.loop().now());
    handler_ = std::move(handler);
    result_ = {};
    waiters_ahead_ = 0;
    held_here_ = false;
    phase_ = phase::waiting;
    runtime_.life.begin_operation(*this);
    if (runtime_.life.closing())
        return fail(errc::shut_down);
    enter();
}

/// An operation that asks once fails here if the nodes could not be asked for it at once: it does not overtake others.
// rule W1
void acquire_op::enter()
{
    key_state& wanted = queue();
    if (!asks_once() || wanted.would_ask(*this)) {
        schedule_timeout();
        return wanted.enqueue(*this);
    }
    held_here_ = wanted.held_here();
    waiters_ahead_ = wanted.waiting();
    last_cause_ = errc::contended;
    fail(once_ ? errc::contended : errc::timed_out);
}

/// An attempt of an operation that asks once has as long as the nodes have. Without a limit, an acquirer looks at the patience of
/// the waiter that it serves.
void acquire_op::schedule_timeout()
{
    if (!once_ && limit_ > core::duration::zero())
        runtime_.loop().schedule(*this, started_ + limit_);
    else if (!has_limit_ && queue().busy())
        runtime_.loop().schedule_after(*this, patience_behind_others());
}

core::duration acquire_op::patience_behind_others() const
{
    constexpr core::duration shortest = std::chrono::milliseconds{100}; // looks again so often
    return std::max(outage_patience(), shortest);
}

/// A waiter before this one may have more patience.
// rule A8
void acquire_op::give_up_in_outage()
{
    acquirer const* const its = queue().acquirer_of(*this);
    bool const is_served = its && its->current_waiter() == this;
    auto const since = its && !is_served ? its->outage_since(started_) : std::nullopt;
    core::instant const now = runtime_.loop().now();
    core::instant const due = since.value_or(now) + patience_behind_others();
    if (!core::reached(due, now))
        return runtime_.loop().schedule(*this, due);
    leave_queue();
    fail(errc::no_quorum);
}

void acquire_op::expire()
{
    if (phase_ != phase::waiting)
        return;
    if (!has_limit_)
        return give_up_in_outage();
    acquirer* const its = queue().acquirer_of(*this);
    bool const is_won = its && its->decide_now(*this);
    if (is_won || phase_ != phase::waiting)
        return;
    leave_queue();
    fail(errc::timed_out);
}

void acquire_op::cancel(std::uint32_t generation)
{
    if (generation == generation_)
        abort(boost::asio::error::operation_aborted);
}

void acquire_op::abort(boost::system::error_code ec)
{
    if (phase_ == phase::idle || phase_ == phase::failed)
        return;
    leave_queue();
    fail(ec);
}

/// Passes an unwanted lease on to the next in the queue, or releases it; without one, leaves the queue.
void acquire_op::leave_queue()
{
    if (auto const unwanted = std::exchange(lease_, nullptr))
        return unwanted->handle_gone();
    note_outage();
    held_here_ = queue().held_here();
    waiters_ahead_ = static_cast<std::uint32_t>(queue().position(*this));
    queue().leave(*this);
}

/// Also without a decided attempt. A refusal says more if the nodes are not asked for this waiter at the moment.
void acquire_op::note_outage()
{
    acquirer* const its = queue().acquirer_of(*this);
    if (!its || (last_cause_ != errc{} && !queue().is_asked_for(*this)) || !its->lacks_nodes())
        return;
    last_cause_ = errc::no_quorum;
    has_table_ = its->tell_of_nodes(*lock_);
}

void acquire_op::fail(boost::system::error_code ec)
{
    runtime_.loop().cancel(*this);
    phase_ = phase::failed;
    result_ = ec;
    runtime_.loop().enqueue(static_cast<net::task&>(*this));
}

void acquire_op::receive(boost::intrusive_ptr<held_lease> lease)
{
    runtime_.loop().cancel(*this);
    phase_ = phase::received;
    lease_ = std::move(lease);
    runtime_.loop().enqueue(static_cast<net::task&>(*this));
}

void acquire_op::discard()
{
    auto const handler = std::move(handler_);
    several.reset();
    auto const lock = std::move(lock_);
    lease_.reset();
}

void acquire_op::run()
{
    if (phase_ == phase::received)
        return deliver(std::move(lease_));
    if (std::exception_ptr* const diagnostics = handler_.diagnostics())
        *diagnostics = failure();
    complete({});
}

std::exception_ptr acquire_op::failure() const noexcept
{
    return exception_for(result_, [this] {
        auto table = has_table_ ? lock_->last_attempt() : std::vector<node_outcome>();
        auto message = failure_text(table);
        return error_access::make(result_, std::move(message), std::move(table), last_failure(),
                                  lock_->name());
    });
}

void acquire_op::deliver(boost::intrusive_ptr<held_lease> lease)
{
    runtime_.loop().cancel(*this);
    complete(std::move(lease));
}

/// Recycles the object first, because the handler may start the next operation. The handler is moved out before it
/// runs. The turn keeps the engine alive.
void acquire_op::complete(boost::intrusive_ptr<held_lease> got)
{
    tell_end();
    lease granted = got ? lease_access::make(std::move(got)) : lease();
    phase_ = phase::idle;
    ++generation_;
    runtime_.life.end_operation(*this);
    auto const lock = std::move(lock_);
    home_.recycle(*this);
    handler_(result_, std::move(granted));
}

boost::system::error_code acquire_op::last_failure() const noexcept
{
    // After a refusal the lock may have come from another operation.
    bool const none = !result_ || last_cause_ == errc{};
    return none ? boost::system::error_code() : make_error_code(last_cause_);
}

/// "lock \"seat:42\": timed out after 512 ms and 7 attempts; last: contended: 0 of 3 granted; ..."
std::string acquire_op::failure_text(std::vector<node_outcome> const& table) const
{
    std::string text = title(lock_->name()) + ": " + result_.message();
    if (result_ == errc::timed_out) {
        text += " after " + std::to_string(waited(runtime_.loop().now()) / std::chrono::milliseconds{1}) +
                " ms and " + count(attempts_, "attempt");
        if (last_failure())
            text += "; last: " + last_failure().message();
    }
    if (!table.empty())
        text += ": " + to_string(table);
    if (held_here_)
        text += "; held by this client";
    if (waiters_ahead_ != 0)
        text += "; " + count(waiters_ahead_, "operation") + " of this client before it";
    return text;
}

void acquire_op::tell_waiting(std::size_t before, bool in_queue)
{
    if (observer* const watcher = runtime_.its.watcher())
        watcher->on_wait({lock_->name(), before, queue().held_here(), in_queue});
}

void acquire_op::tell_end() const
{
    if (observer* const watcher = runtime_.its.watcher())
        watcher->on_acquire(
            {lock_->name(), result_, attempts_, waited(runtime_.loop().now()), last_failure()});
}

} // namespace redlock::detail

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/contention.hpp"
#include "core/instant.hpp"
#include "engine/lock_descriptor.hpp"
#include <redlock/detail/lock_operations.hpp>
#include <redlock/error.hpp>

#include <boost/intrusive/list_hook.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/system/error_code.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace redlock::detail {

class acquirer;
class held_lease;
class multi_waiter;

/// A waiter for a lock, as its queue and the attempts on its behalf know it.
class waiter {
public:
    boost::intrusive::list_member_hook<> hook; ///< in the key's queue
    std::uint32_t ticket = 0;                  ///< the queue's
    bool has_turn = false;                     ///< the nodes are asked for it, or soon will be
    acquirer* asked_by = nullptr;              ///< asks the nodes for it
    multi_waiter* part_of = nullptr;       ///< for several names, whose part it is in this queue (rule M6)
    std::unique_ptr<multi_waiter> several; ///< its parts in the queues of several names

    [[nodiscard]] lock_ptr const& lock() const { return lock_; }
    [[nodiscard]] unsigned attempts() const { return attempts_; }
    [[nodiscard]] core::instant started() const { return started_; }
    [[nodiscard]] core::duration waited(core::instant now) const { return core::elapsed(started_, now); }
    [[nodiscard]] bool has_limit() const { return has_limit_; }
    /// Does it fail when it is refused?
    [[nodiscard]] bool asks_once() const { return once_ || (has_limit_ && limit_ == core::duration::zero()); }
    /// Or does it wait for other holders?
    [[nodiscard]] bool waits() const { return !asks_once(); }
    /// Does it take a position in the queue of its name?
    [[nodiscard]] bool wants_position() const { return waits() && lock_->config->queues(); }
    /// Returns for how long it goes on without a majority. A limit of its own ends it, if there is one.
    [[nodiscard]] core::duration outage_patience() const
    {
        return has_limit_ ? core::duration::max()
                          : core::duration(lock_->config->options.retry.outage_patience);
    }
    [[nodiscard]] bool out_of_time(core::instant now) const { return has_limit_ && waited(now) >= limit_; }

    void attempt_began() { ++attempts_; }
    void attempt_failed(errc cause)
    {
        last_cause_ = cause;
        has_table_ = true;
    }
    /// Then an attempt that has only begun tells less.
    [[nodiscard]] bool knows_why_it_waits() const { return last_cause_ != errc{}; }
    /// Earlier attempts say nothing of why it fails.
    void forget_attempts()
    {
        last_cause_ = {};
        has_table_ = false;
    }
    /// The waiter has a position in the queue of the name: that is why it waits, whatever an attempt met before.
    void tell_position(std::size_t before)
    {
        last_cause_ = errc::contended;
        tell_waiting(before, true);
    }
    /// The waiter has lost a claim. Others that were quicker must not cost the waiter its place. After two returns the waiter
    /// goes to the end, because it may never win. Returns whether the waiter enters the queue in front.
    // rule Q9
    [[nodiscard]] bool come_back_in_front()
    {
        bool const again = comebacks_ != most_comebacks;
        if (again)
            ++comebacks_;
        return again;
    }
    /// May it ask again after an attempt that ended so? If not, with which error does it end?
    [[nodiscard]] errc after_attempt(errc cause, core::instant now) const
    {
        if (once_)
            return cause;
        return out_of_time(now) ? errc::timed_out : errc{};
    }

    /// A part is the first in its queue, and this client does not hold the name.
    /// \param how waiters of other clients are let go first, as far as this name is concerned
    virtual void first_in_one_more(core::start_mode how) { (void)how; }

    /// It has the lock. Runs user code.
    virtual void deliver(boost::intrusive_ptr<held_lease>) = 0;
    /// It has the lock from the one before it: told in a task.
    virtual void receive(boost::intrusive_ptr<held_lease>) = 0;
    /// No longer in the queue, and without the lock: told in a task.
    virtual void fail(boost::system::error_code) = 0;
    /// The waiter stands behind this many others, in its client or in the node's queue ("in_queue").
    virtual void tell_waiting(std::size_t before, bool in_queue) = 0;

protected:
    static constexpr std::uint8_t most_comebacks = 2;

    waiter();
    ~waiter();

    void begin(lock_ptr lock, wait_limit limit, core::instant now)
    {
        lock_ = std::move(lock);
        started_ = now;
        has_limit_ = limit.has_value();
        once_ = limit == one_attempt;
        limit_ = limit.value_or(core::duration::zero());
        last_cause_ = {};
        has_table_ = false;
        attempts_ = 0;
        comebacks_ = 0;
    }

    lock_ptr lock_;
    core::instant started_;
    core::duration limit_{};
    errc last_cause_{};
    unsigned attempts_ = 0;
    std::uint8_t comebacks_ = 0;
    bool has_table_ = false; ///< an attempt was decided for it, or for waiters before it
    bool has_limit_ = false;
    bool once_ = false;
};

} // namespace redlock::detail

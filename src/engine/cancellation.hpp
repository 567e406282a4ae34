// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "engine/engine.hpp"
#include "engine/wait_op.hpp"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/system/errc.hpp>

#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace redlock::detail {

/// The content of a handler's cancellation slot: any cancellation type calls `cancel` on the client's executor.
template <class Cancel>
class cancel_request {
public:
    cancel_request(engine& owner, Cancel cancel) : owner_(owner.weak_from_this()), cancel_(std::move(cancel))
    {}

    void operator()(boost::asio::cancellation_type type) const
    {
        auto const owner = owner_.lock();
        if (!owner || type == boost::asio::cancellation_type::none)
            return;
        if (owner->forked())
            return owner->end_in_child();
        if (owner->loop().running_here()) // with memory or without
            return cancel_();
        owner->on_executor([cancel = cancel_](engine&) { cancel(); });
    }

private:
    std::weak_ptr<engine> owner_;
    Cancel cancel_;
};

/// From a handler's cancellation slot to its operation. The slot belongs to the thread that calls the initiating
/// function and is filled there, also when the operation has yet to hop; everything else happens on the client's
/// executor.
template <class Operation>
class cancel_path {
public:
    cancel_path(engine& owner, boost::asio::cancellation_slot slot)
    {
        if (!slot.is_connected())
            return;
        if (owner.loop().running_here()) {
            slot_ = slot;
            return;
        }
        asked_ = &owner;
        state_ = std::make_shared<state>();
        slot.assign(cancel_request(owner, [to = state_] { to->cancel(); }));
    }

    /// The operation is about to begin. It is named by its address and generation, so a signal that comes late finds a
    /// stranger and does nothing.
    /// \throws std::bad_alloc and the operation has been retired
    void lead_to(engine& owner, Operation& operation)
    {
        if (state_) {
            state_->where = owner.weak_from_this();
            state_->asked = asked_ != &owner ? asked_->shared_from_this() : nullptr;
        }
        if (!slot_.is_connected())
            return;
        try {
            slot_.assign(cancel_request(
                owner, [&operation, generation = operation.generation()] { operation.cancel(generation); }));
        } catch (std::bad_alloc const&) {
            operation.recycle();
            throw;
        }
    }

    /// It has begun.
    void arrived(Operation& operation) noexcept
    {
        if (!state_)
            return;
        state_->operation = &operation;
        state_->generation = operation.generation();
        if (state_->requested)
            state_->cancel();
    }

private:
    struct state {
        void cancel()
        {
            requested = true;
            auto const its = where.lock();
            if (its && operation)
                operation->cancel(generation);
        }

        Operation* operation = nullptr;
        std::uint32_t generation = 0;
        bool requested = false;
        /// The operation's engine: a successor, if the nodes were changed meanwhile (rule N9), which may be gone before the
        /// slot is.
        std::weak_ptr<engine> where;
        std::shared_ptr<engine> asked; ///< which the slot names then, and which nothing else keeps
    };

    boost::asio::cancellation_slot slot_;
    std::shared_ptr<state> state_;
    engine* asked_ = nullptr; ///< it is there as long as the operation has yet to hop
};

/// Begins an operation that waits: `work(engine&, waiter&)`, which throws nothing.
template <class Work>
struct wait_start {
    void operator()(engine& self)
    {
        wait_op& waiting = self.new_wait_op();
        cancel.lead_to(self, waiting);
        waiting.start(std::move(handler));
        work(self, waiting);
        cancel.arrived(waiting);
    }
    void fail(boost::system::error_code ec) { handler(ec); }

    Work work;
    cancel_path<wait_op> cancel;
    wait_op::handler_type handler;
};
template <class Work>
wait_start(Work, cancel_path<wait_op>, wait_op::handler_type) -> wait_start<Work>;

} // namespace redlock::detail

#pragma once

#include "lock/engine.hpp"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <cstdint>
#include <memory>

namespace redlock::lock {

/// Lets the handler's cancellation slot cancel an operation of the engine, with any cancellation type. The operation is
/// named by its address and generation, so a signal that comes late finds a stranger and does nothing.
template <class Operation>
class cancel_request {
public:
    cancel_request(engine& owner, Operation& operation)
        : owner_(owner.weak_from_this()), operation_(&operation), generation_(operation.generation())
    {
    }

    void operator()(boost::asio::cancellation_type type) const
    {
        auto const owner = owner_.lock();
        if (!owner || type == boost::asio::cancellation_type::none)
            return;
        owner->on_executor([operation = operation_, generation = generation_](engine&) {
            operation->cancel(generation);
        });
    }

private:
    std::weak_ptr<engine> owner_;
    Operation* operation_;
    std::uint32_t generation_;
};

template <class Operation>
void cancel_with_slot(engine& owner, boost::asio::cancellation_slot slot, Operation& operation)
{
    if (slot.is_connected())
        slot.assign(cancel_request<Operation>(owner, operation));
}

} // namespace redlock::lock

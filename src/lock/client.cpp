#include "lock/cancellation.hpp"
#include "lock/engine.hpp"
#include <redlock/client.hpp>

#include <utility>

namespace redlock {

client::client(executor_type executor, config settings)
    : engine_(lock::engine::make(std::move(executor), settings))
{}

client::client(client&&) noexcept = default;

client& client::operator=(client&& other) noexcept
{
    if (this != &other) {
        client const ended(std::move(*this));
        engine_ = std::move(other.engine_);
    }
    return *this;
}

client::~client()
{
    if (!engine_)
        return;
    try {
        engine_->abandon();
    } catch (...) { // no memory to hop with: the keys expire by themselves
    }
}

client::executor_type client::get_executor() const noexcept
{
    return engine_->executor();
}

std::vector<node_status> client::nodes() const
{
    return engine_->nodes();
}

client::executor_type const& client::start_shutdown::executor() const noexcept
{
    return engine->executor();
}

void client::start_shutdown::begin(lock::completion_handler<signature> handler)
{
    lock::cancel_path<lock::waiter> cancel(*engine, handler.slot());
    engine->on_executor(
        [cancel = std::move(cancel), handler = std::move(handler)](lock::engine& self) mutable {
            cancel.arrived(self, self.shut_down(std::move(handler)));
        });
}

} // namespace redlock

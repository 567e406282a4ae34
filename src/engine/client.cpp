#include "engine/cancellation.hpp"
#include "engine/client_access.hpp"
#include "engine/context_end.hpp"
#include "engine/engine.hpp"
#include "engine/held_lease.hpp"
#include "engine/lease_access.hpp"
#include "engine/wait_op.hpp"
#include "net/executor.hpp"
#include "net/leaf/this_machine.hpp"
#include "net/machine.hpp"
#include <redlock/client.hpp>
#include <redlock/lease.hpp>

#include <utility>

namespace redlock {

struct detail::engine_access {
    static client wrap(std::shared_ptr<engine> made) { return client(std::move(made)); }
};

net::machine const* detail::machine_of(lease const& of)
{
    held_lease const* const held = lease_access::get(of);
    return held ? &held->client().loop().machine() : nullptr;
}

client detail::make_client(net::any_io_executor executor, config const& settings,
                           std::shared_ptr<net::machine> machine)
{
    return engine_access::wrap(make_engine(std::move(executor), settings, std::move(machine)));
}

client::client(executor_type executor, config settings)
    : engine_(detail::make_engine(std::move(executor), settings, net::this_machine()))
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
    if (engine_)
        engine_->client_gone();
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

void client::start_shutdown::begin(detail::completion_handler<signature> handler)
{
    detail::cancel_path<detail::wait_op> cancel(*engine, handler.slot());
    auto work = [](detail::engine& self, detail::wait_op& waiting) { self.shut_down(waiting); };
    engine->initiate(detail::wait_start{work, std::move(cancel), std::move(handler)});
}

} // namespace redlock

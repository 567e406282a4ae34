// SPDX-License-Identifier: BSL-1.0
#include "engine/cancellation.hpp"
#include "engine/engine.hpp"
#include "engine/inspector.hpp"
#include "engine/lock_access.hpp"
#include "engine/lock_descriptor.hpp"
#include <redlock/detail/lock_operations.hpp>
#include <redlock/inspection.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/system/error_code.hpp>

#include <utility>

namespace redlock::detail {

namespace {

struct inspect_start {
    void operator()(engine& self)
    {
        engine& on = self.successor_or_self(what);
        inspector& started = on.new_inspector();
        cancel.lead_to(on, started);
        started.start(std::move(what), std::move(handler));
        cancel.arrived(started);
    }
    void fail(boost::system::error_code why) { handler(why, inspection()); }

    lock_ptr what;
    cancel_path<inspector> cancel;
    inspector::handler_type handler;
};

} // namespace

boost::asio::any_io_executor const& start_inspect::executor() const noexcept
{
    return lock->client().executor();
}

void start_inspect::begin(completion_handler<inspection_signature> handler)
{
    lock = lock_access::present(std::move(lock));
    engine& client = lock->client();
    cancel_path<inspector> cancel(client, handler.slot());
    client.initiate(inspect_start{std::move(lock), std::move(cancel), std::move(handler)});
}

} // namespace redlock::detail

// SPDX-License-Identifier: BSL-1.0
#include "core/memory.hpp"
#include "engine/acquire_op.hpp"
#include "engine/all_options.hpp"
#include "engine/cancellation.hpp"
#include "engine/configuration.hpp"
#include "engine/engine.hpp"
#include "engine/exception_for.hpp"
#include "engine/held_lease.hpp"
#include "engine/lease_access.hpp"
#include "engine/lock_access.hpp"
#include "engine/lock_descriptor.hpp"
#include "engine/nonce_source.hpp"
#include "engine/succession.hpp"
#include "kind/kind.hpp"
#include "redis/command.hpp"
#include <redlock/any_lock.hpp>
#include <redlock/client.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace redlock {

namespace detail {

namespace {

/// Begins an acquisition. Memory for its cancellation is taken first, so that nothing fails once it has begun. Another
/// thread's cancellation that came in the meantime takes effect after the start.
struct acquire_start {
    void operator()(engine& self)
    {
        engine& on = self.successor_or_self(lock);
        acquire_op& started = on.new_acquire_op();
        cancel.lead_to(on, started);
        started.start(std::move(lock), how_long, std::move(handler));
        cancel.arrived(started);
    }

    /// Completes it without a start: in a forked child, or without memory.
    void fail(boost::system::error_code ec)
    {
        if (std::exception_ptr* const diagnostics = handler.diagnostics())
            *diagnostics = explained(lock, ec);
        handler(ec, lease());
    }

    lock_ptr lock;
    wait_limit how_long;
    cancel_path<acquire_op> cancel;
    acquire_op::handler_type handler;
};

} // namespace

boost::asio::any_io_executor const& start_acquire::executor() const noexcept
{
    return lock->client().executor();
}

void start_acquire::begin(completion_handler<lease_signature> handler)
{
    lock = lock_access::present(std::move(lock));
    engine& client = lock->client();
    cancel_path<acquire_op> cancel(client, handler.slot());
    client.initiate(acquire_start{std::move(lock), limit, std::move(cancel), std::move(handler)});
}

std::exception_ptr explained(lock_ptr const& lock, boost::system::error_code ec) noexcept
{
    return exception_for(ec, [&] { return lock_access::present(lock)->explain(ec); });
}

lock_ptr lock_access::present(lock_ptr one)
{
    auto successor = one->client().successor_of(*one);
    return successor ? std::move(successor) : std::move(one);
}

lock_ptr lock_access::make(client& owner, std::string_view name, all_options const& options,
                           kind::lock_kind const& type, kind::lock_terms terms)
{
    return owner.engines_->with_current([&](engine& present) {
        check(name, options, type, present.settings());
        return present.make_lock(std::string(name), options, type, std::move(terms));
    });
}

lock_ptr lock_access::with_terms(lock_descriptor const& one, kind::lock_terms terms)
{
    return one.client().make_like(one, std::move(terms));
}

// rule M1
lock_ptr lock_access::make(client& owner, std::vector<std::string_view> names, all_options const& options,
                           kind::lock_kind const& type)
{
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    return owner.engines_->with_current([&](engine& present) {
        check(names, options, type, present.settings());
        return present.make_lock({names.begin(), names.end()}, options, type);
    });
}

} // namespace detail

lease any_lock::adopt_lease(std::string_view nonce, std::uint64_t fencing_token) const
{
    if (nonce.size() != redis::nonce_length)
        detail::misconfigured("a nonce has " + std::to_string(redis::nonce_length) + " characters, not " +
                                  std::to_string(nonce.size()),
                              name());
    return detail::lease_access::make(
        detail::adopt_lease(detail::lock_access::present(state_), detail::nonce(nonce), fencing_token));
}

any_lock::executor_type any_lock::get_executor() const noexcept
{
    return state_->client().executor();
}

std::string const& any_lock::name() const noexcept
{
    return state_->name();
}

lock_options const& any_lock::options() const noexcept
{
    return state_->config->options;
}

std::span<std::string const> any_lock::several_names() const noexcept
{
    return state_->redis_key().several;
}

std::size_t any_lock::waiting() const noexcept
{
    auto present = state_;
    core::if_memory_allows([&] { present = detail::lock_access::present(state_); });
    return present->key->waiting();
}

std::vector<node_outcome> any_lock::last_attempt() const
{
    return detail::lock_access::present(state_)->last_attempt();
}

lock_error any_lock::explain(boost::system::error_code ec) const
{
    return detail::lock_access::present(state_)->explain(ec);
}

} // namespace redlock

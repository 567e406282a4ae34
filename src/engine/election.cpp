// SPDX-License-Identifier: BSL-1.0
#include "kind/election.hpp"

#include "core/memory.hpp"
#include "engine/announcement.hpp"
#include "engine/cancellation.hpp"
#include "engine/configuration.hpp"
#include "engine/engine.hpp"
#include "engine/held_lease.hpp"
#include "engine/leader_watch.hpp"
#include "engine/lock_access.hpp"
#include "engine/lock_descriptor.hpp"
#include "engine/wait_op.hpp"
#include "kind/kind.hpp"
#include <redlock/detail/lock_operations.hpp>
#include <redlock/election.hpp>
#include <redlock/leadership.hpp>
#include <redlock/lease.hpp>

#include <boost/asio/append.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/errc.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace redlock {

namespace detail {

namespace {

bool is_too_long(std::string const& value)
{
    return value.size() > kind::longest_value;
}

std::exception_ptr why_too_long(std::string const& lock, std::size_t length) noexcept
{
    try {
        misconfigured("a leader's value has at most " + std::to_string(kind::longest_value) + " bytes, not " +
                          std::to_string(length),
                      lock);
    } catch (...) {
        return std::current_exception();
    }
}

} // namespace

struct campaign;

/// The handler of the campaign's two operations.
struct campaign_step {
    using cancellation_slot_type = boost::asio::cancellation_slot;

    /// The handler's own one is filled once, by the thread that it belongs to.
    [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept;
    void operator()(boost::system::error_code ec, lease acquired) const;
    void operator()(boost::system::error_code ec) const;

    std::shared_ptr<campaign> of;
};

/// The acquisition tells the campaign's handler itself why it failed.
template <class Default>
struct associated_diagnostics<campaign_step, Default> {
    using type = std::exception_ptr*;
    static type get(campaign_step const& step, Default const& = {}) noexcept;
};

/// Acquires the lock, and then tells the nodes who leads. It has the memory for both before it begins.
// rule EL1
struct campaign {
    using handler_type = completion_handler<leadership_signature>;

    void acquired(std::shared_ptr<campaign> const& self, boost::system::error_code ec, lease got)
    {
        if (ec)
            return handler(ec, leadership());
        won = leadership(std::move(got));
        if (!core::if_memory_allows([&] { proclaim(self); }))
            proclaimed(make_error_code(boost::system::errc::not_enough_memory));
    }

    void proclaim(std::shared_ptr<campaign> const& self)
    {
        auto& held = *won.held_lease();
        wait_op& waiting = held.client().new_wait_op();
        cancel_path<wait_op> cancel(held.client(), stop.slot());
        cancel.lead_to(held.client(), waiting);
        waiting.start({campaign_step{self}, held.client().executor()});
        held.proclaim(std::move(said), waiting);
    }

    /// If that failed, gives the lease back.
    // rule EL6
    void proclaimed(boost::system::error_code ec)
    {
        if (ec) {
            if (std::exception_ptr* const diagnostics = handler.diagnostics())
                *diagnostics = explained(won.held_lease(), ec, lock_stage::acquiring);
            won = {};
        }
        handler(ec, std::move(won));
    }

    campaign(lock_ptr lock, std::string const& value, handler_type&& done)
        : said(std::make_unique<announcement>(value)), handler(std::move(done)), asked(std::move(lock))
    {}

    std::unique_ptr<announcement> said;
    handler_type handler;
    boost::asio::cancellation_signal stop{};
    lock_ptr asked; ///< keeps the engine that the handler's slot names
    leadership won{};
};

campaign_step::cancellation_slot_type campaign_step::get_cancellation_slot() const noexcept
{
    return of->stop.slot();
}

void campaign_step::operator()(boost::system::error_code ec, lease acquired) const
{
    of->acquired(of, ec, std::move(acquired));
}

void campaign_step::operator()(boost::system::error_code ec) const
{
    of->proclaimed(ec);
}

template <class Default>
std::exception_ptr* associated_diagnostics<campaign_step, Default>::get(campaign_step const& step,
                                                                        Default const&) noexcept
{
    return step.of->handler.diagnostics();
}

boost::asio::any_io_executor const& start_campaign::executor() const noexcept
{
    return lock->client().executor();
}

void start_campaign::begin(completion_handler<leadership_signature> handler)
{
    auto const& own = executor();
    if (is_too_long(value)) {
        if (std::exception_ptr* const diagnostics = handler.diagnostics())
            *diagnostics = why_too_long(lock->name(), value.size());
        return boost::asio::post(own, [handler = std::move(handler)]() mutable {
            handler(make_error_code(errc::misconfigured), leadership());
        });
    }
    auto all = std::make_shared<campaign>(lock, value, std::move(handler));
    if (auto slot = all->handler.slot(); slot.is_connected())
        slot.assign(cancel_request(lock->client(), [of = std::weak_ptr(all)] {
            if (auto const one = of.lock())
                one->stop.emit(boost::asio::cancellation_type::terminal);
        }));
    start_acquire{lock, std::nullopt}.begin({campaign_step{std::move(all)}, own});
}

namespace {

struct leader_watch_start {
    void operator()(engine& self)
    {
        engine& on = self.successor_or_self(what);
        leader_watch& started = on.new_leader_watch();
        cancel.lead_to(on, started);
        started.start(std::move(what), std::move(known), std::move(handler));
        cancel.arrived(started);
    }

    void fail(boost::system::error_code ec)
    {
        if (std::exception_ptr* const diagnostics = handler.diagnostics())
            *diagnostics = explained(what, ec);
        handler(ec, leader_info());
    }

    lock_ptr what;
    std::optional<leader_info> known;
    cancel_path<leader_watch> cancel;
    leader_watch::handler_type handler;
};

} // namespace

boost::asio::any_io_executor const& start_leader_watch::executor() const noexcept
{
    return lock->client().executor();
}

void start_leader_watch::begin(completion_handler<leader_signature> handler)
{
    lock = lock_access::present(std::move(lock));
    engine& client = lock->client();
    cancel_path<leader_watch> cancel(client, handler.slot());
    client.initiate(
        leader_watch_start{std::move(lock), std::move(known), std::move(cancel), std::move(handler)});
}

} // namespace detail

election::election(client& owner, std::string_view name, lock_options options)
    : lock_(detail::lock_access::make(owner, name, options, kind::election)),
      view_(detail::lock_access::make(owner, name, options, kind::election_view))
{}

election::executor_type election::get_executor() const noexcept
{
    return lock_->client().executor();
}

std::string const& election::name() const noexcept
{
    return lock_->name();
}

lock_options const& election::options() const noexcept
{
    return lock_->config->options;
}

lock_error election::explain(boost::system::error_code ec) const
{
    return detail::lock_access::present(lock_)->explain(ec);
}

leadership::executor_type const& leadership::start_proclaim::executor() const noexcept
{
    return held->client().executor();
}

void leadership::start_proclaim::begin(detail::completion_handler<void(boost::system::error_code)> handler)
{
    auto& client = held->client();
    if (detail::is_too_long(value)) {
        if (std::exception_ptr* const diagnostics = handler.diagnostics())
            *diagnostics = detail::why_too_long(held->lock().name(), value.size());
        return boost::asio::post(client.executor(), [handler = std::move(handler)]() mutable {
            handler(make_error_code(errc::misconfigured));
        });
    }
    detail::cancel_path<detail::wait_op> cancel(client, handler.slot());
    auto work = [held = std::move(held), said = std::make_unique<detail::announcement>(value)](
                    detail::engine&, detail::wait_op& waiting) mutable {
        held->proclaim(std::move(said), waiting);
    };
    client.initiate(detail::wait_start{std::move(work), std::move(cancel), std::move(handler)});
}

} // namespace redlock

// SPDX-License-Identifier: BSL-1.0
#include "engine/cancellation.hpp"
#include "engine/engine.hpp"
#include "engine/exception_for.hpp"
#include "engine/held_lease.hpp"
#include "engine/wait_op.hpp"
#include "kind/semaphore.hpp"
#include <redlock/detail/error_access.hpp>
#include <redlock/lease.hpp>

#include <boost/asio/system_executor.hpp>

#include <exception>
#include <new>
#include <utility>

namespace redlock {

namespace {

lock_error of_empty_lease(boost::system::error_code ec)
{
    return detail::error_access::make(ec, ec.message(), {}, {}, {}, loss_cause::none, lock_stage::holding);
}

} // namespace

std::exception_ptr detail::explained(boost::intrusive_ptr<held_lease> const& held,
                                     boost::system::error_code ec, lock_stage stage) noexcept
{
    return exception_for(ec, [&] { return held->explain(ec, stage); });
}

std::exception_ptr detail::explained_empty() noexcept
{
    return exception_for(errc::empty_lease, [] { return of_empty_lease(errc::empty_lease); });
}

lease& lease::operator=(lease&& other) noexcept
{
    if (this != &other) {
        abandon();
        held_ = std::move(other.held_);
    }
    return *this;
}

void lease::abandon() noexcept
{
    auto const held = std::exchange(held_, nullptr);
    if (held && !held->released())
        held->client().handle_gone(held);
}

void lease::detach()
{
    if (held_)
        held_->client().on_executor([held = held_](detail::engine&) { held->detach(); });
}

void lease::downgrade()
{
    if (!held_)
        throw of_empty_lease(errc::empty_lease);
    if (!held_->call_shared())
        throw held_->explain(errc::wrong_mode);
    try {
        held_->client().on_executor([held = held_](detail::engine&) { held->downgrade(); });
    } catch (std::bad_alloc const&) {
        held_->withdraw_call();
        throw;
    }
}

lease::executor_type lease::get_executor() const noexcept
{
    return held_ ? held_->client().executor() : executor_type(boost::asio::system_executor());
}

bool lease::valid() const noexcept
{
    return held_ && held_->remaining() > std::chrono::nanoseconds::zero();
}

std::chrono::nanoseconds lease::remaining() const noexcept
{
    return held_ ? held_->remaining() : std::chrono::nanoseconds::zero();
}

std::chrono::steady_clock::time_point lease::expires_at() const noexcept
{
    return std::chrono::steady_clock::now() + remaining();
}

lease_state lease::state() const noexcept
{
    return held_ ? held_->state() : lease_state::empty;
}

std::string_view lease::resource() const noexcept
{
    return held_ ? std::string_view(held_->lock().name()) : std::string_view();
}

std::string_view lease::nonce() const noexcept
{
    return held_ ? held_->owner().text() : std::string_view();
}

loss_cause lease::cause() const noexcept
{
    return held_ ? held_->cause() : loss_cause::none;
}

lock_error lease::explain(boost::system::error_code ec) const
{
    return held_ ? held_->explain(ec) : of_empty_lease(ec);
}

unsigned lease::votes() const noexcept
{
    return held_ ? held_->votes() : 0;
}

unsigned lease::attempts() const noexcept
{
    return held_ ? held_->attempts() : 0;
}

std::chrono::nanoseconds lease::waited() const noexcept
{
    return held_ ? held_->waited() : std::chrono::nanoseconds::zero();
}

std::uint64_t lease::fencing_token() const noexcept
{
    return held_ ? held_->fencing_token() : 0;
}

bool lease::shared() const noexcept
{
    return held_ && held_->is_shared();
}

std::span<std::uint16_t const> lease::permits() const noexcept
{
    auto const* const its = held_ ? held_->permits() : nullptr;
    return its ? std::span<std::uint16_t const>(its->numbers()) : std::span<std::uint16_t const>();
}

void lease::progress() const noexcept
{
    if (held_)
        held_->progress();
}

lease::executor_type const& lease::start::executor() const noexcept
{
    return held->client().executor();
}

void lease::start::begin(detail::completion_handler<signature> handler)
{
    auto& client = held->client();
    detail::cancel_path<detail::wait_op> cancel(client, handler.slot());
    auto work = [held = std::move(held), what = what](detail::engine&, detail::wait_op& waiting) {
        switch (what) {
        case operation::extend: return held->extend(waiting);
        case operation::release: return held->release(&waiting);
        case operation::end: return held->await_end(waiting);
        case operation::resign: return held->resign(waiting);
        }
    };
    client.initiate(detail::wait_start{std::move(work), std::move(cancel), std::move(handler)});
}

} // namespace redlock

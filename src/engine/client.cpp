// SPDX-License-Identifier: BSL-1.0
#include "engine/cancellation.hpp"
#include "engine/client_access.hpp"
#include "engine/engine.hpp"
#include "engine/exception_for.hpp"
#include "engine/held_lease.hpp"
#include "engine/lease_access.hpp"
#include "engine/succession.hpp"
#include "engine/wait_op.hpp"
#include "net/executor.hpp"
#include "net/leaf/this_machine.hpp"
#include "net/machine.hpp"
#include <redlock/client.hpp>
#include <redlock/detail/error_access.hpp>
#include <redlock/error.hpp>
#include <redlock/lease.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/error_code.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace redlock {

struct detail::engine_access {
    static client wrap(std::shared_ptr<succession> made) { return client(std::move(made)); }
};

net::machine const* detail::machine_of(lease const& whose)
{
    held_lease const* const held = lease_access::get(whose);
    return held ? &held->client().loop().machine() : nullptr;
}

client detail::make_client(net::any_io_executor executor, config const& settings,
                           std::shared_ptr<net::machine> machine)
{
    return engine_access::wrap(
        std::make_shared<succession>(std::move(executor), settings, std::move(machine)));
}

client::client(executor_type executor, config settings)
    : engines_(
          std::make_shared<detail::succession>(std::move(executor), std::move(settings), net::this_machine()))
{}

client::client(client&&) noexcept = default;

client& client::operator=(client&& other) noexcept
{
    if (this != &other) {
        client const ended(std::move(*this));
        engines_ = std::move(other.engines_);
    }
    return *this;
}

client::~client()
{
    if (engines_)
        engines_->end();
}

client::executor_type client::get_executor() const noexcept
{
    return engines_->executor();
}

std::vector<node_status> client::node_table() const
{
    return engines_->current()->nodes();
}

std::exception_ptr detail::explained(std::shared_ptr<succession> const& client,
                                     boost::system::error_code ec) noexcept
{
    return exception_for(ec, [&] {
        std::string text = "client of ";
        for (std::string const& name : client->current()->settings().names)
            text.append(text.ends_with(' ') ? "" : ", ").append(name);
        return error_access::make(ec, text + ": " + ec.message());
    });
}

client::executor_type const& client::start_shutdown::executor() const noexcept
{
    return engines->executor();
}

namespace {

using wait_handler = detail::completion_handler<void(boost::system::error_code)>;

void shut_down(detail::engine& self, wait_handler handler)
{
    detail::cancel_path<detail::wait_op> cancel(self, handler.slot());
    auto work = [](detail::engine& its, detail::wait_op& waiting) { its.shut_down(waiting); };
    self.initiate(detail::wait_start{work, std::move(cancel), std::move(handler)});
}

/// One wait for the engines of two lists of nodes, which end on one executor, both or neither of them cancelled.
class shutdown_of_both {
public:
    explicit shutdown_of_both(wait_handler handler) : handler_(std::move(handler)) {}

    static void begin(detail::succession::both const& all, wait_handler handler)
    {
        auto slot = handler.slot();
        auto const self = std::make_shared<shutdown_of_both>(std::move(handler));
        if (slot.is_connected())
            slot.assign([weak = std::weak_ptr(self)](boost::asio::cancellation_type type) {
                if (auto const waiting = weak.lock())
                    waiting->cancel(type);
            });
        self->wait_for(*all.current, self->cancel_current_, self);
        self->wait_for(*all.former, self->cancel_former_, self);
    }

private:
    void wait_for(detail::engine& its, boost::asio::cancellation_signal& cancel,
                  std::shared_ptr<shutdown_of_both> const& self)
    {
        auto ended = [self](boost::system::error_code ec) { self->one_ended(ec); };
        shut_down(its,
                  {boost::asio::bind_cancellation_slot(cancel.slot(), std::move(ended)), its.executor()});
    }
    void one_ended(boost::system::error_code ec)
    {
        if (ec)
            result_ = ec;
        if (--left_ == 0)
            handler_(result_);
    }
    void cancel(boost::asio::cancellation_type type)
    {
        cancel_current_.emit(type);
        cancel_former_.emit(type);
    }

    wait_handler handler_;
    boost::asio::cancellation_signal cancel_current_;
    boost::asio::cancellation_signal cancel_former_;
    boost::system::error_code result_;
    unsigned left_ = 2;
};

} // namespace

void client::start_shutdown::begin(detail::completion_handler<signature> handler)
{
    auto const last = engines->last();
    if (last.former)
        shutdown_of_both::begin(last, std::move(handler));
    else
        shut_down(*last.current, std::move(handler));
}

client::executor_type const& client::start_change::executor() const noexcept
{
    return engines->executor();
}

void client::start_change::begin(detail::completion_handler<signature> handler)
{
    std::optional<detail::succession::node_change> next;
    try {
        next.emplace(engines->prepare(std::move(nodes)));
    } catch (lock_error const& e) {
        if (std::exception_ptr* const diagnostics = handler.diagnostics())
            *diagnostics = std::current_exception();
        return boost::asio::post(executor(),
                                 [ec = e.code(), handler = std::move(handler)]() mutable { handler(ec); });
    }
    auto const now = engines->current();
    detail::cancel_path<detail::wait_op> cancel(*now, handler.slot());
    auto change = [next = std::move(*next)](detail::engine& self, detail::wait_op& waiting) mutable {
        next.take_over(self, waiting);
    };
    now->initiate(detail::wait_start{std::move(change), std::move(cancel), std::move(handler)});
}

} // namespace redlock

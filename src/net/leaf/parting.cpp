// SPDX-License-Identifier: BSL-1.0
#include "net/leaf/parting.hpp"

#include "core/memory.hpp"
#include "net/machine.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace redlock::net {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds longest_parting{500};

/// The streams of a context that nobody owns any more. What is left to be written belongs to a forked child's parent.
class parting_streams final : public asio::execution_context::service {
public:
    using key_type = parting_streams;
    static asio::execution_context::id id;

    explicit parting_streams(asio::execution_context& context) : service(context) {}

    void add(std::shared_ptr<socket_stream> const& one)
    {
        std::scoped_lock const guard(lock_);
        std::erase_if(all_, [](auto const& each) { return each.expired(); });
        all_.push_back(one);
    }

private:
    void shutdown() override {}
    void notify_fork(asio::execution_context::fork_event event) override
    {
        if (event != asio::execution_context::fork_child)
            return;
        for (auto const& each : all_) // unguarded: only the thread that forked is here
            if (auto const alive = each.lock())
                alive->drop();
    }

    std::mutex lock_;
    std::vector<std::weak_ptr<socket_stream>> all_;
};

asio::execution_context::id parting_streams::id;

class parting : public std::enable_shared_from_this<parting> {
public:
    parting(std::shared_ptr<socket_stream> last, std::string rest)
        : last_(std::move(last)), rest_(std::move(rest)), limit_(peer().get_executor(), longest_parting)
    {}

    void start()
    {
        error_code ignored;
        peer().cancel(ignored); // ends the wait for the listener
        limit_.async_wait([self = shared_from_this()](error_code) { self->last_->close(); });
        asio::async_write(peer(), asio::buffer(rest_), [self = shared_from_this()](error_code, std::size_t) {
            error_code gone;
            self->peer().shutdown(socket::shutdown_send, gone);
        });
        read();
    }

private:
    socket& peer() { return last_->transport(); }

    void read()
    {
        peer().async_read_some(asio::buffer(nowhere_),
                               [self = shared_from_this()](error_code ec, std::size_t) {
                                   if (ec || !core::if_memory_allows([&] { self->read(); }))
                                       self->limit_.cancel(); // no more answers are awaited
                               });
    }

    std::shared_ptr<socket_stream> last_;
    std::string rest_;
    asio::steady_timer limit_;
    std::array<char, 4096> nowhere_{};
};

} // namespace

void part(std::shared_ptr<socket_stream> last, std::string rest)
{
    auto& context = asio::query(last->transport().get_executor(), asio::execution::context);
    asio::use_service<parting_streams>(context).add(last);
    std::make_shared<parting>(std::move(last), std::move(rest))->start();
}

} // namespace redlock::net

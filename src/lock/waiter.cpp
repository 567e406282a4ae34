#include "lock/waiter.hpp"

#include "lock/engine.hpp"

#include <boost/asio/error.hpp>

#include <utility>

namespace redlock::lock {

void waiter::start(handler_type handler) noexcept
{
    finished_ = false;
    for_the_end_ = false;
    handler_ = std::move(handler);
}

void waiter::finish(boost::system::error_code ec)
{
    link.unlink();
    finished_ = true;
    result_ = ec;
    engine_.loop().enqueue(*this);
}

void waiter::cancel(std::uint32_t generation)
{
    if (generation == generation_ && !finished_)
        finish(boost::asio::error::operation_aborted);
}

void waiter::forsake()
{
    link.unlink();
    auto const gone = std::move(handler_);
}

/// Retired first: the handler may start the next operation. The turn keeps the engine alive.
void waiter::run()
{
    auto handler = std::move(handler_);
    auto const result = result_;
    ++generation_;
    engine_.retire(*this);
    handler(result);
}

void finish_all(waiter_list& waiting, boost::system::error_code ec)
{
    while (!waiting.empty())
        waiting.front().finish(ec);
}

} // namespace redlock::lock

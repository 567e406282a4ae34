// SPDX-License-Identifier: BSL-1.0
#include "engine/wait_op.hpp"

#include <boost/asio/error.hpp>

#include <utility>

namespace redlock::detail {

void wait_op::start(handler_type&& handler) noexcept
{
    finished_ = false;
    for_the_end_ = false;
    skips_round_ = false;
    handler_ = std::move(handler);
}

void wait_op::finish(boost::system::error_code ec)
{
    link.unlink();
    finished_ = true;
    result_ = ec;
    loop_.enqueue(*this);
}

void wait_op::cancel(std::uint32_t generation)
{
    if (generation == generation_ && !finished_)
        finish(boost::asio::error::operation_aborted);
}

void wait_op::discard()
{
    link.unlink();
    auto const gone = std::move(handler_);
}

/// Recycles the object first, because the handler may start the next operation in it. The call moves the handler out and
/// copies the result before user code runs. The turn keeps the engine alive.
void wait_op::run()
{
    ++generation_;
    home_.recycle(*this);
    handler_(result_);
}

void finish_all(wait_list& waiting, boost::system::error_code ec)
{
    while (!waiting.empty())
        waiting.front().finish(ec);
}

} // namespace redlock::detail

// SPDX-License-Identifier: BSL-1.0
#include "net/executor.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace redlock::net {

namespace asio = boost::asio;

namespace {

template <class Executor>
bool inside(any_io_executor const& executor)
{
    return executor.target<Executor>()->running_in_this_thread();
}

template <class... Executors>
on_executor first_match(any_io_executor const& executor)
{
    on_executor found = nullptr;
    (void)((executor.target<Executors>() ? (found = &inside<Executors>, true) : false) || ...);
    return found;
}

/// Serialising, but unable to tell whether we are inside: then every operation hops.
bool never_inside(any_io_executor const&)
{
    return false;
}

template <class... Executors>
bool is_any_of(any_io_executor const& executor)
{
    return ((executor.target<Executors>() != nullptr) || ...);
}

template <class Executor>
using tracked = decltype(asio::prefer(std::declval<Executor>(), asio::execution::outstanding_work.tracked));
template <class Executor>
using never_blocking = decltype(asio::require(std::declval<Executor>(), asio::execution::blocking.never));

using io_executor = asio::io_context::executor_type;
using tracked_io = tracked<io_executor>;

template <class Executor>
bool stopped_behind(any_io_executor const& executor)
{
    auto* const known = executor.target<Executor>();
    return known && known->context().stopped();
}

} // namespace

on_executor serialising(any_io_executor const& executor)
{
    using pool = asio::thread_pool::executor_type;
    if (is_any_of<pool, tracked<pool>, asio::system_executor, never_blocking<asio::system_executor>>(
            executor))
        return nullptr;
    on_executor const known = first_match<io_executor, tracked_io, asio::strand<io_executor>,
                                          asio::strand<pool>, asio::strand<any_io_executor>>(executor);
    return known ? known : &never_inside;
}

bool stopped(any_io_executor const& executor)
{
    return stopped_behind<io_executor>(executor) || stopped_behind<tracked_io>(executor);
}

void not_serialising() noexcept
{
    std::fputs(
        "redlock: two threads are at work in one client, since its io_context is run by several: give the "
        "client asio::make_strand(context)\n",
        stderr);
    std::abort();
}

} // namespace redlock::net

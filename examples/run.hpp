// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

namespace example {

/// main() of the examples that are one coroutine, `show(locks, promises)`.
template <class Show>
int run(int argc, char** argv, Show show)
{
    namespace asio = boost::asio;
    nodes servers(argc, argv);
    promises kept;
    asio::io_context context;
    // The servers are new: nothing can have been lost by a restart. Leave this out with your own.
    redlock::client locks{context.get_executor(),
                          {.nodes = servers.urls, .admission = {.assume_fresh = true}}};
    auto done = asio::co_spawn(context, show(locks, kept), asio::use_future);
    context.run();
    done.get();
    return kept.exit_code();
}

} // namespace example

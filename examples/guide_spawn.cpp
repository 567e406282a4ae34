// SPDX-License-Identifier: BSL-1.0
// Stackful coroutines: asio::spawn, with Boost.Context.
// Run: guide_spawn                  with three Redis servers of its own
//      guide_spawn redis://a:6379…  with yours
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#define BOOST_ASIO_DISABLE_BOOST_COROUTINE // the library that Boost.Context has replaced
#include <boost/asio.hpp>
#include <boost/asio/spawn.hpp>

#include <exception>

namespace asio = boost::asio;
using boost::system::error_code;

/// \returns whether somebody else has the lock
bool is_taken(redlock::mutex lock, asio::yield_context yield)
{
    error_code ec;
    redlock::lease none = lock.try_acquire(yield[ec]);
    return ec == redlock::errc::contended;
}

void book(redlock::mutex seat, example::promises& promises, asio::yield_context yield)
{
    redlock::lease lease = seat.acquire(yield);
    promises.keep(is_taken(seat, yield), "spawn: a function that looks as if it blocked holds the lock");
    lease.release(yield);
    promises.keep(!is_taken(seat, yield), "spawn: and has released it");
}

int main(int argc, char** argv)
{
    example::nodes servers(argc, argv);
    example::promises promises;
    asio::io_context context;
    // The servers are new: nothing can have been lost by a restart. Leave this out with your own.
    redlock::client locks{context, {.nodes = servers.urls, .admission = {.assume_fresh = true}}};
    redlock::mutex seat{locks, "seat:42"};
    asio::spawn(
        context, [&](asio::yield_context yield) { book(seat, promises, yield); },
        [](std::exception_ptr failure) {
            if (failure)
                std::rethrow_exception(failure);
        });
    context.run();
    return promises.exit_code();
}

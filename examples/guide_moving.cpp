// SPDX-License-Identifier: BSL-1.0
// A lease that goes from one client to another, as between two processes: the guide's page on moving leases.
// Run: guide_moving                  with three Redis servers of its own
//      guide_moving redis://a:6379…  with yours
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using error_code = boost::system::error_code;
using steady_clock = std::chrono::steady_clock;

/// The old holder's message to the new one. Send it over a private connection: a client that knows the nonce can
/// release the lock.
struct parcel {
    std::string nonce;
    std::uint64_t token = 0; // for a fenced lock
    std::chrono::nanoseconds left{};
};

/// Stop the work first.
parcel give_away(redlock::lease& held)
{
    parcel sent{std::string(held.nonce()), held.fencing_token(), held.remaining()};
    held.detach(); // not valid any more, and the keys stay
    return sent;
}

asio::awaitable<redlock::lease> take_over(redlock::fenced_mutex& lock, parcel const& got)
{
    redlock::lease mine = lock.adopt(got.nonce, got.token); // suspect
    co_await mine.extend(); // held: a majority has this nonce and token, so nobody had the lock in between
    co_return mine;
}

/// Without a token, the time decides: `asked` is the time before the new holder asked the old one for the parcel.
asio::awaitable<redlock::lease> take_over(redlock::mutex& lock, steady_clock::time_point asked,
                                          parcel const& got)
{
    redlock::lease mine = lock.adopt(got.nonce);
    co_await mine.extend();
    if (steady_clock::now() >= asked + got.left) // another client may have had the lock
        throw std::runtime_error("the lease came too late");
    co_return mine;
}

asio::awaitable<void> show(redlock::client& old_process, redlock::client& new_process,
                           example::promises& promises)
{
    redlock::fenced_mutex from{old_process, "archive"};
    redlock::fenced_mutex to{new_process, "archive"};
    redlock::lease held = co_await from.acquire();
    std::uint64_t const token = held.fencing_token();
    redlock::lease moved = co_await take_over(to, give_away(held));
    promises.keep(!held.valid() && moved.valid(), "the lease is the new client's");
    promises.keep(moved.fencing_token() == token, "with the token that it had");
    co_await moved.release();

    redlock::lease released = co_await from.acquire();
    parcel late{std::string(released.nonce()), released.fencing_token()};
    co_await released.release();
    redlock::lease orphan = to.adopt(late.nonce, late.token);
    error_code ec;
    co_await orphan.extend(asio::redirect_error(asio::use_awaitable, ec));
    promises.keep(ec == redlock::errc::lease_lost, "a lock that was released is not taken over");

    redlock::mutex plain_from{old_process, "index"};
    redlock::mutex plain_to{new_process, "index"};
    auto const asked = steady_clock::now();
    redlock::lease plain = co_await plain_from.acquire();
    parcel const sent = give_away(plain);
    redlock::lease plain_moved = co_await take_over(plain_to, asked, sent);
    promises.keep(plain_moved.valid(), "a plain lease moves within its validity");
    co_await plain_moved.release();
}

int main(int argc, char** argv)
{
    example::nodes servers(argc, argv);
    example::promises promises;
    asio::io_context context;
    // The servers are new: nothing can have been lost by a restart. Leave this out with your own.
    redlock::config const settings{.nodes = servers.urls, .admission = {.assume_fresh = true}};
    redlock::client old_process{context.get_executor(), settings};
    redlock::client new_process{context.get_executor(), settings};
    auto done = asio::co_spawn(context, show(old_process, new_process, promises), asio::use_future);
    context.run();
    done.get();
    return promises.exit_code();
}

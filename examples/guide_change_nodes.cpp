// SPDX-License-Identifier: BSL-1.0
// A server is replaced by another one while the program runs, and while it holds a lock.
// Run: guide_change_nodes. It starts four Redis servers of its own.
#include "local_redis.hpp"
#include <redlock/redlock.hpp>

#include <boost/asio.hpp>
#include <boost/asio/experimental/promise.hpp>
#include <boost/asio/experimental/use_promise.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;

/// One step. All clients of the lock take this step before any client takes the next one.
asio::awaitable<void> step(redlock::client& locks, std::vector<std::string> nodes)
{
    // From here on new operations ask the new nodes. Completes when earlier operations have ended.
    co_await locks.change_nodes(nodes);
    std::cout << "the former nodes are not used any more\n";
}

/// A lease that is held for a long time would keep the step from completing. Its keys stay on the former nodes. If
/// the new nodes confirm the lease before its time is over, no other client had the lock in between. If the list
/// is refused, the present nodes confirm it.
asio::awaitable<void> step_with(redlock::lease& held, redlock::mutex& lock, redlock::client& locks,
                                std::vector<std::string> nodes)
{
    auto changed = locks.change_nodes(nodes, asio::experimental::use_promise); // in effect at once
    auto const until = held.expires_at();
    std::string const nonce(held.nonce());
    held.detach();
    redlock::lease moved = lock.adopt(nonce);
    co_await moved.extend();
    if (std::chrono::steady_clock::now() >= until) // another client may have had the lock
        throw std::runtime_error("the lease came too late");
    held = std::move(moved);
    co_await changed(asio::use_awaitable);
}

asio::awaitable<void> replace_third_server(redlock::client& locks, std::vector<std::string> const& servers,
                                           example::promises& promises)
{
    redlock::mutex lock{locks, "ledger"};
    redlock::lease held = co_await lock.acquire();
    co_await step_with(held, lock, locks, servers); // all four
    promises.keep(held.valid(), "the lease goes on with four nodes");
    co_await held.release();
    std::vector<std::string> without_third{servers[0], servers[1], servers[3]};
    co_await step(locks, std::move(without_third));
    promises.keep(locks.node_table().size() == 3, "then there are three again, and one of them is new");
}

int main()
{
    example::nodes servers(4);
    example::promises promises;
    asio::io_context context;
    // The first three are known to be new. The fourth one is judged as it is.
    redlock::client locks{
        context,
        {.nodes = {servers.urls[0], servers.urls[1], servers.urls[2]}, .admission = {.assume_fresh = true}}};
    asio::co_spawn(context, replace_third_server(locks, servers.urls, promises), asio::detached);
    context.run();
    return promises.exit_code();
}

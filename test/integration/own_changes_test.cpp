// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <boost/test/data/test_case.hpp>

#include <cstddef>
#include <string>

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr std::size_t nodes_there_are[] = {0, 1, 2};

void wait_for(any_lock lock, lease& into)
{
    lock.acquire([&into](error_code ec, lease got) {
        BOOST_TEST(!ec);
        into = std::move(got);
    });
}

std::string calls(cluster& nodes, std::size_t node, std::string const& command)
{
    auto const all = nodes.ask(node).command({"INFO", "commandstats"});
    auto const at = all.find("cmdstat_" + command + ':');
    return at == all.npos ? std::string() : all.substr(at, all.find(',', at) - at);
}

bool waits_on(cluster& nodes, std::size_t node)
{
    return contains(nodes.ask(node).command({"INFO", "stats"}), "tracking_total_keys:1\r");
}

bool waits_on_all(cluster& nodes)
{
    return waits_on(nodes, 0) && waits_on(nodes, 1) && waits_on(nodes, 2);
}

} // namespace

BOOST_AUTO_TEST_SUITE(own_changes)

/// A lease of another client goes on in this one, which has a waiter, and is released here.
// rule W2
BOOST_AUTO_TEST_CASE(release_of_adopted_lease_wakes_waiter)
{
    cluster nodes(3);
    client rivals(nodes.context.get_executor(), nodes.settings);
    nodes.run([&]() -> asio::awaitable<void> {
        lease theirs = co_await mutex(rivals, "lock", long_lived).acquire();
        co_await until([&] { return theirs.votes() == 3; });
        lease waited;
        wait_for(nodes.lock("lock", without_polling()), waited);
        co_await until([&] { return waits_on_all(nodes); });
        std::string const nonce{theirs.nonce()};
        theirs.detach();
        lease adopted = nodes.lock().adopt(nonce);
        co_await adopted.extend();
        co_await adopted.release();
        co_await until([&] { return waited.valid(); });
    });
}

/// The script was forgotten: the node is told again, and the waiter has asked in between.
// rule W2
BOOST_DATA_TEST_CASE(resent_release_wakes_waiter, nodes_there_are, slow)
{
    cluster nodes(3);
    nodes.warm_up();
    nodes.run([&]() -> asio::awaitable<void> {
        lease first = co_await nodes.lock().acquire();
        co_await until([&] { return first.votes() == 3; });
        lock_options not_handed = without_polling();
        not_handed.renew = false;
        lease waited;
        wait_for(nodes.lock("lock", not_handed), waited);
        co_await until([&] { return nodes.lock().waiting() == 1; });
        nodes.everywhere({"SCRIPT", "FLUSH"});
        nodes.proxy(slow).hold(direction::to_client);
        co_await first.release();
        co_await until([&] { return !waited.empty() || calls(nodes, slow, "pttl") != ""; });
        nodes.proxy(slow).release(direction::to_client);
        co_await until([&] { return waited.valid(); });
    });
}

BOOST_AUTO_TEST_SUITE_END()

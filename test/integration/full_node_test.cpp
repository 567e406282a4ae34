// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Clients as in several processes, each of which wants the lock again as soon as it has released it.
class crowd {
public:
    crowd(cluster& nodes, std::size_t size, std::size_t leases) : nodes_(nodes), most_(leases)
    {
        for (std::size_t i = 0; i != size; ++i)
            clients_.push_back(std::make_unique<client>(nodes.context.get_executor(), nodes.settings));
    }

    /// Returns the holder of each lease.
    std::vector<std::size_t> work()
    {
        for (std::size_t i = 0; i != clients_.size(); ++i)
            asio::co_spawn(nodes_.context, work_of(i), asio::detached);
        nodes_.run([this]() -> asio::awaitable<void> {
            co_await until([this] { return ended_ == clients_.size(); });
        });
        return holders_;
    }

private:
    asio::awaitable<void> work_of(std::size_t which)
    {
        mutex lock(*clients_[which], "lock", long_lived);
        asio::steady_timer pause(nodes_.context);
        while (holders_.size() < most_) {
            lease held = co_await lock.acquire();
            holders_.push_back(which);
            pause.expires_after(1ms);
            co_await pause.async_wait(asio::use_awaitable);
            co_await held.release();
        }
        ++ended_;
    }

    cluster& nodes_;
    std::vector<std::unique_ptr<client>> clients_;
    std::vector<std::size_t> holders_;
    std::size_t most_;
    std::size_t ended_ = 0;
};

/// The number of other clients' leases between two leases of one client, from when each client has had two: by then it
/// knows the other ones.
std::size_t most_in_between(std::vector<std::size_t> const& holders, std::size_t clients)
{
    std::vector<std::size_t> had(clients, 0);
    std::size_t first = 0;
    while (first != holders.size() && std::ranges::min(had) < 2)
        ++had.at(holders[first++]);
    std::vector<std::size_t> next(clients, first);
    std::size_t most = 0;
    for (std::size_t i = first; i != holders.size(); ++i) {
        std::size_t& expected = next.at(holders[i]);
        most = std::max(most, i - expected);
        expected = i + 1;
    }
    for (std::size_t const each : next)
        most = std::max(most, holders.size() - each);
    return most;
}

constexpr std::size_t contenders = 4;

} // namespace

BOOST_AUTO_TEST_SUITE(full_nodes)

/// One of these is the rendezvous node. Its queue is full, so the waiters use another one, and are served in their
/// order.
// rule Q2
BOOST_DATA_TEST_CASE(full_node_serves_nobody_out_of_order, boost::unit_test::data::xrange(3), full)
{
    cluster nodes(3);
    nodes.ask(static_cast<std::size_t>(full)).command({"CONFIG", "SET", "maxmemory", "1"});
    auto const holders = crowd(nodes, contenders, 600).work();
    std::string order;
    for (std::size_t const each : holders)
        order += std::to_string(each);
    BOOST_TEST(most_in_between(holders, contenders) < 3 * contenders, order);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include <redlock/redlock.hpp>
#include <redlock/testing/world.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using redlock::testing::data;
using redlock::testing::world;
using std::chrono::milliseconds;

// The promises of docs/options.md about outages ("Choosing a ttl").

namespace {

enum class outage { refused, dropped };

std::ostream& operator<<(std::ostream& out, outage how)
{
    return out << (how == outage::refused ? "connections are refused" : "packets are dropped");
}

/// For servers that keep acknowledged writes: an outage is no loss of data.
config of_durable_servers()
{
    config common;
    common.admission.trust_restarted_nodes = true;
    return common;
}

/// Leases that were acquired one after the other, so that an outage meets each at another age.
struct outage_fixture {
    outage_fixture(std::size_t nodes, milliseconds of)
        : servers(context, nodes, of_durable_servers()), ttl(of)
    {
        options.ttl = ttl;
        for (int i = 0; i != many; ++i)
            locks.push_back(std::make_unique<mutex>(locker, "seat:" + std::to_string(i), options));
        for (auto const& lock : locks) {
            leases.push_back(servers.run(take(*lock)));
            servers.advance(ttl / (3 * many));
        }
        servers.advance(ttl);
    }

    static asio::awaitable<lease> take(mutex& lock) { co_return co_await lock.acquire(); }
    void strike(std::size_t node, outage how)
    {
        how == outage::refused ? servers.kill(node) : servers.cut(node);
    }
    void heal(std::size_t node, outage how)
    {
        how == outage::refused ? servers.restart(node, data::kept) : servers.mend(node);
    }
    void suffer(std::size_t count, outage how, milliseconds length)
    {
        for (std::size_t i = 0; i != count; ++i)
            strike(i, how);
        servers.advance(length);
        for (std::size_t i = 0; i != count; ++i)
            heal(i, how);
    }
    std::ptrdiff_t with_more_left_than(milliseconds time) const
    {
        return std::ranges::count_if(leases, [&](lease const& each) { return each.remaining() > time; });
    }
    std::ptrdiff_t still_held() const
    {
        return std::ranges::count_if(leases, [](lease const& each) { return each.valid(); });
    }

    static constexpr int many = 8;
    asio::io_context context;
    world servers;
    milliseconds ttl;
    lock_options options;
    client locker = servers.make_client();
    std::vector<std::unique_ptr<mutex>> locks;
    std::vector<lease> leases;
};

std::size_t const sizes[] = {3, 5};
int const ttls[] = {1, 3, 10}; // in seconds
outage const ways_to_strike[] = {outage::refused, outage::dropped};

} // namespace

BOOST_AUTO_TEST_SUITE(outages)

// rule H10
BOOST_DATA_TEST_CASE(lease_survives_an_outage_that_leaves_time_to_connect,
                     boost::unit_test::data::make(sizes) * ttls * ways_to_strike, nodes, seconds, how)
{
    milliseconds const ttl = 1s * seconds;
    auto const needed = ttl * (how == outage::refused ? 3 : 5) / 100 + 50ms;
    for (std::size_t const struck : {nodes / 2 + 1, nodes}) // leases can do without fewer
        for (int percent : {30, 50, 60, 66}) {
            outage_fixture all(nodes, ttl);
            auto const length = ttl * percent / 100;
            auto const must = all.with_more_left_than(length + needed);
            all.suffer(struck, how, length);
            all.servers.advance(ttl);
            BOOST_TEST_CONTEXT(percent << " % of the ttl, " << struck << " nodes")
            BOOST_TEST(all.still_held() >= must);
            BOOST_TEST((percent > 50 || must == outage_fixture::many));
        }
}

/// The pause before the next attempt to connect has grown to seconds by then.
// rule H10
BOOST_DATA_TEST_CASE(waiter_acquires_soon_after_a_long_outage, boost::unit_test::data::make(ways_to_strike),
                     how)
{
    outage_fixture all(3, 1s);
    all.leases.clear();
    for (std::size_t i = 0; i != 3; ++i)
        all.strike(i, how);
    bool got = false;
    all.locks[0]->acquire_for(1h, [&](boost::system::error_code ec, lease const&) { got = !ec; });
    all.servers.advance(1min);
    for (std::size_t i = 0; i != 3; ++i)
        all.heal(i, how);
    all.servers.advance(1s);
    BOOST_TEST(got);
}

/// The node's back-off goes on: the other nodes confirm the leases.
BOOST_AUTO_TEST_CASE(node_that_leases_can_do_without_is_left_alone)
{
    outage_fixture all(3, 1s);
    all.strike(0, outage::refused);
    all.servers.advance(1min);
    all.heal(0, outage::refused);
    BOOST_TEST(all.still_held() == outage_fixture::many);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

asio::awaitable<void> passes(std::chrono::milliseconds time)
{
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}

/// Leases that were acquired one after the other, so that an outage meets each at another age.
struct outage_fixture : cluster {
    outage_fixture() : cluster(3, [](config& c) { c = with_times_as_shipped(c); }) {}

    static config with_times_as_shipped(config const& from)
    {
        config settings;
        settings.nodes = from.nodes;
        settings.observer = from.observer;
        settings.admission = from.admission;
        return settings;
    }

    asio::awaitable<void> suffer(std::size_t count, bool refused)
    {
        std::vector<mutex> names;
        std::vector<lease> leases;
        for (int i = 0; i != 16; ++i) {
            names.push_back(lock("seat:" + std::to_string(i), {.ttl = ttl}));
            leases.push_back(co_await names.back().acquire());
            co_await passes(ttl / 48);
        }
        for (std::size_t i = 0; i != count; ++i)
            strike(proxy(i), refused);
        co_await passes(ttl * 2 / 5);
        for (std::size_t i = 0; i != count; ++i)
            heal(proxy(i), refused);
        co_await passes(ttl);
        BOOST_TEST(std::ranges::count_if(leases, [](lease const& each) { return each.valid(); }) == 16);
        for (lease& each : leases)
            co_await each.release();
    }

    static void strike(fault_proxy& at, bool refused)
    {
        if (refused) {
            at.refuse();
            return at.reset_all();
        }
        at.cut_one_way(direction::to_server);
        at.cut_one_way(direction::to_client);
    }
    static void heal(fault_proxy& at, bool refused)
    {
        if (refused)
            return at.accept();
        at.pass(direction::to_server);
        at.pass(direction::to_client);
    }

    static constexpr std::chrono::milliseconds ttl{3'000};
};

std::size_t const struck[] = {1, 2, 3};

} // namespace

BOOST_AUTO_TEST_SUITE(outages)

// rule H10
BOOST_DATA_TEST_CASE_F(outage_fixture, leases_survive_an_outage_of_real_servers,
                       boost::unit_test::data::make(struck) * either, count, refused)
{
    redlock::test::run(context, [&, count = count, refused = refused] { return suffer(count, refused); });
}

BOOST_AUTO_TEST_SUITE_END()

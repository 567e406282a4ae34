// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <algorithm>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Renewals are minutes away: what a holder hears, it hears because it watches its keys.
struct watched_lease_fixture : cluster {
    watched_lease_fixture() : cluster(3) {}

    bool watches(std::size_t node) { return contains(ask(node).command({"CLIENT", "LIST"}), "flags=t"); }
    asio::awaitable<void> until_watched()
    {
        for (std::size_t i = 0; i != size(); ++i)
            co_await until([&] { return watches(i); });
    }
    std::ptrdiff_t ready() const
    {
        auto const rows = locks->node_table();
        return std::ranges::count(rows, node_state::ready, &node_status::state);
    }
    std::ptrdiff_t went_down() const { return told->count(node_state::down); }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(watched_leases, watched_lease_fixture)

// rule W6
BOOST_AUTO_TEST_CASE(deletion_is_noticed_on_each_new_connection)
{
    run([&]() -> asio::awaitable<void> {
        lease held = co_await voted_everywhere(lock());
        co_await until_watched();
        for (auto const& each : proxies)
            each->close_all();
        co_await until([&] { return went_down() >= 3 && ready() == 3; });
        everywhere({"DEL", "lock"});
        BOOST_TEST(co_await held.ended() == lease_end::lost);
        BOOST_TEST((held.cause() == loss_cause::refused));
    });
}

/// The server's word cannot reach anybody then: the question on the new connection finds it.
// rule W6
BOOST_AUTO_TEST_CASE(deletion_between_two_connections_is_found)
{
    run([&]() -> asio::awaitable<void> {
        lease held = co_await voted_everywhere(lock());
        co_await until_watched();
        for (auto const& each : proxies)
            each->refuse();
        for (auto const& each : proxies)
            each->close_all();
        co_await until([&] { return went_down() >= 3; });
        everywhere({"DEL", "lock"});
        for (auto const& each : proxies)
            each->accept();
        BOOST_TEST(co_await held.ended() == lease_end::lost);
    });
}

// rule W6
BOOST_AUTO_TEST_CASE(deletion_is_noticed_on_node_that_becomes_ready_later)
{
    run([&]() -> asio::awaitable<void> {
        lease held = co_await voted_everywhere(lock());
        for (std::size_t i : {0U, 1U}) {
            proxy(i).refuse();
            proxy(i).close_all();
        }
        co_await until([&] { return watches(2) && went_down() >= 2; });
        for (std::size_t i : {0U, 1U})
            proxy(i).accept();
        co_await until([&] { return ready() == 3; });
        everywhere({"DEL", "lock"});
        BOOST_TEST(co_await held.ended() == lease_end::lost);
    });
}

/// A node that never had the key says so once on each connection, and that is looked into once.
// rule W6
BOOST_AUTO_TEST_CASE(new_connection_causes_no_repeated_extension)
{
    run([&]() -> asio::awaitable<void> {
        lease held = co_await voted_everywhere(lock());
        co_await until_watched();
        auto const before = told->count(lease_event::kind::renewed);
        proxy(0).close_all();
        co_await until([&] { return went_down() >= 1 && ready() == 3 && watches(0); });
        lease other = co_await lock("behind").acquire(); // its answers come after those about the key
        co_await until([&] { return other.votes() == size(); });
        BOOST_TEST(told->count(lease_event::kind::renewed) == before);
        BOOST_TEST(held.votes() == 3U);
    });
}

BOOST_AUTO_TEST_SUITE_END()

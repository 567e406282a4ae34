// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <initializer_list>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Clients that were given different servers as the nodes of one lock: condition C6 is broken.
struct five_servers_fixture {
    server_group servers{5};
    asio::io_context context;

    client knows(std::initializer_list<std::size_t> which)
    {
        std::vector<std::string> urls;
        for (std::size_t const i : which)
            urls.push_back(servers[i].url());
        return {context.get_executor(), patient(std::move(urls))};
    }
    /// A client with the first three nodes relies on these of them.
    void stranger_holds(std::initializer_list<std::size_t> which)
    {
        for (std::size_t const i : which)
            probe(servers[i].port()).command({"SET", "lock", "stranger"});
    }
    error_code attempt(mutex const& lock)
    {
        return run(context, [&] { return attempt_once(lock); });
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(different_node_lists, five_servers_fixture)

/// Why C6 is a condition. Nothing is wrong with any server, so nothing can be told.
// rule N1
BOOST_AUTO_TEST_CASE(clients_with_disjoint_majorities_both_hold_the_lock)
{
    client left = knows({0, 1, 2});
    client right = knows({2, 3, 4});
    run(context, [&]() -> asio::awaitable<void> {
        mutex ours(left, "lock", long_lived);
        lease one = co_await ours.acquire();
        co_await until([&] { return one.votes() == 3; });
        mutex theirs(right, "lock", long_lived);
        lease other = co_await theirs.acquire();
        BOOST_TEST(one.valid());
        BOOST_TEST(other.valid());
        BOOST_TEST(other.votes() == 2U);
        for (node_status const& node : right.node_table())
            BOOST_TEST(node.detail == "");
        // This is the only sign, if that server answers before the others have decided.
        while (theirs.last_attempt().at(0).result != node_result::held_by_other) {
            co_await other.release();
            other = co_await theirs.acquire();
        }
    });
}

/// As when one server is added to three, or removed: the two majorities together are more than all the servers.
// rule N1
BOOST_AUTO_TEST_CASE(clients_with_overlapping_majorities_exclude_each_other)
{
    stranger_holds({0, 1}); // two of the nodes 0, 1, 2
    client four = knows({0, 1, 2, 3});
    client two = knows({1, 2});
    for (client* const others : {&four, &two})
        BOOST_TEST(attempt({*others, "lock", long_lived}) == errc::contended);
    run_dry(context); // the other nodes' grants are released
    client five = knows({0, 1, 2, 3, 4});
    BOOST_TEST(attempt({five, "lock", long_lived}) == error_code{}); // two more are too many at once
}

BOOST_AUTO_TEST_SUITE_END()

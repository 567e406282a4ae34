// SPDX-License-Identifier: BSL-1.0
#include "watched_waiter.hpp"

#include <boost/test/data/test_case.hpp>

#include <cstddef>
#include <optional>

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr std::size_t one_of_three[] = {0, 1, 2};

/// One node cannot vote, and a contender that died left its key on another.
void trouble(cluster& nodes, std::size_t refusing, std::size_t left_over)
{
    nodes.ask(refusing).command({"CONFIG", "SET", "maxmemory", "1"});
    nodes.ask(left_over).command({"SET", "lock", "somebody who died"});
}

} // namespace

BOOST_AUTO_TEST_SUITE(refusing_nodes)

/// Unchanged nodes are not asked again and again, whichever is the rendezvous node.
// rule W2
BOOST_DATA_TEST_CASE(refusing_node_is_not_taken_for_free, one_of_three* one_of_three, refusing, left_over)
{
    if (refusing == left_over)
        return;
    cluster nodes(3);
    trouble(nodes, refusing, left_over);
    nodes.run([&]() -> asio::awaitable<void> {
        watched_waiter waiter(nodes.lock("lock", without_polling()));
        co_await until([&] { return !nodes.told->attempts.empty(); });
        BOOST_TEST(co_await waiter.watched_for(300ms) == asio::error::operation_aborted);
    });
    BOOST_TEST(nodes.told->attempts.size() < 10U);
}

/// One of five nodes, which may be the rendezvous node, cannot vote or is silent, and the holder renews its keys on the
/// other ones: each report of that causes one attempt at most.
// rule W2
BOOST_DATA_TEST_CASE(renewal_beside_refusing_node_is_not_taken_for_release,
                     boost::unit_test::data::xrange(5) * boost::unit_test::data::make({false, true}), which,
                     silent)
{
    auto const lame = static_cast<std::size_t>(which);
    cluster nodes(5);
    nodes.warm_up();
    auto const others = [&](auto what) {
        for (std::size_t i = 0; i != nodes.size(); ++i)
            if (i != lame)
                what(nodes.ask(i));
    };
    auto const renew = [](probe& p) { p.command({"SET", "lock", "somebody who lives"}); };
    others(renew);
    if (!silent)
        nodes.ask(lame).command({"CONFIG", "SET", "maxmemory", "1"});
    std::size_t before = 0;
    nodes.run([&]() -> asio::awaitable<void> {
        watched_waiter waiter(nodes.lock("lock", without_polling()));
        co_await until([&] { return !nodes.told->attempts.empty(); });
        if (silent)
            nodes.servers[lame].pause();
        before = nodes.told->attempts.size();
        others(renew);
        BOOST_TEST(co_await waiter.watched_for(500ms) == asio::error::operation_aborted);
    });
    BOOST_TEST(nodes.told->attempts.size() - before < 20U);
}

/// No word comes when a node votes again.
// rule W2
BOOST_DATA_TEST_CASE(refusing_node_is_asked_again_after_a_while, one_of_three* one_of_three, refusing,
                     left_over)
{
    if (refusing == left_over)
        return;
    cluster nodes(3);
    trouble(nodes, refusing, left_over);
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock();
        std::optional<error_code> result;
        lease held;
        lock.acquire([&](error_code ec, lease got) {
            result = ec;
            held = std::move(got);
        });
        co_await until([&] { return nodes.told->attempts.size() >= 3; });
        nodes.ask(refusing).command({"CONFIG", "SET", "maxmemory", "0"});
        co_await until([&] { return result.has_value(); });
        BOOST_TEST(*result == error_code{});
        BOOST_TEST(held.valid());
    });
}

BOOST_AUTO_TEST_SUITE_END()

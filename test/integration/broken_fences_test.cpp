// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Values of a counter that an operator or another program may write. The script language takes the last ones for
/// numbers.
std::vector<std::string> const values{"theirs", "12 apples", "",    "nan",
                                      "inf",    "-inf",      "-17", "9223372036854775807"};

/// Servers whose fence is not a number of ours until somebody deletes it.
struct broken_fences_fixture : cluster {
    broken_fences_fixture() : cluster(3) {}

    fenced_mutex fenced(client& through)
    {
        lock_options options = unrenewed;
        options.retry.outage_patience = 1h; // longer than the test, for waiters until it passes
        return {through, "lock", options};
    }
    /// Checks that the fences are unchanged.
    void check_fences(std::string const& value)
    {
        for (std::size_t i = 0; i != size(); ++i)
            BOOST_TEST((ask(i).get(fence_key) == value));
    }
    asio::awaitable<lease> held_everywhere()
    {
        lease held = co_await fenced(*locks).acquire();
        while (held.votes() != size())
            static_cast<void>(co_await error_of(held.extend()));
        co_return held;
    }
    bool named_everywhere(client const& by)
    {
        auto const table = by.node_table();
        return std::ranges::all_of(table,
                                   [](node_status const& node) { return contains(node.detail, fence_key); });
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(broken_fences, broken_fences_fixture)

// rule F1
BOOST_AUTO_TEST_CASE(broken_fence_is_named_in_acquire_error)
{
    run([&]() -> asio::awaitable<void> {
        fenced_mutex lock = fenced(*locks);
        for (std::string const& value : values) {
            everywhere({"SET", fence_key, value});
            BOOST_TEST_INFO(value);
            BOOST_TEST(co_await error_of(lock.acquire()) == errc::no_quorum);
            std::size_t refusals = 0;
            for (node_outcome const& row : lock.last_attempt())
                refusals += row.error == server_error::wrongtype && contains(row.detail, fence_key) ? 1 : 0;
            BOOST_TEST(refusals >= 2U, to_string(lock.last_attempt()));
            for (std::size_t i = 0; i != size(); ++i)
                co_await until([&] { return !ask(i).exists("lock"); });
            check_fences(value);
        }
        everywhere({"DEL", fence_key});
        lease const held = co_await lock.acquire();
        BOOST_TEST(held.valid());
    });
}

/// Also while another holds the lock: what is wrong would otherwise be told to nobody before it is free.
BOOST_AUTO_TEST_CASE(broken_fence_is_named_while_lock_is_held)
{
    client other(context.get_executor(), settings);
    run([&]() -> asio::awaitable<void> {
        mutex plain = cluster::lock();
        lease const held = co_await plain.acquire();
        co_await until([&] { return holders("lock", held.nonce()) == size(); });
        fenced_mutex lock = fenced(other);
        for (std::string const& value : values) {
            everywhere({"SET", fence_key, value});
            BOOST_TEST(co_await error_of(lock.acquire()) == errc::no_quorum);
            BOOST_TEST(contains(to_string(lock.last_attempt()), fence_key), to_string(lock.last_attempt()));
            BOOST_TEST(holders("lock", held.nonce()) == size());
        }
    });
}

/// A node that cannot compare has said nothing about the lease (rule H6).
// rule F1
BOOST_AUTO_TEST_CASE(broken_fence_neither_ends_nor_confirms_lease)
{
    run([&]() -> asio::awaitable<void> {
        lease held = co_await held_everywhere();
        for (std::string const& value : values) {
            everywhere({"SET", fence_key, value});
            BOOST_TEST_INFO(value);
            BOOST_TEST(co_await error_of(held.extend()) == errc::no_quorum);
            BOOST_TEST(held.valid());
            co_await until([&] { return named_everywhere(*locks); });
            check_fences(value);
            everywhere({"SET", fence_key, std::to_string(held.fencing_token() >> 10U)});
            BOOST_TEST(co_await error_of(held.extend()) == error_code());
        }
    });
}

BOOST_AUTO_TEST_CASE(broken_fence_does_not_confirm_adopted_lease)
{
    client other(context.get_executor(), settings);
    run([&]() -> asio::awaitable<void> {
        lease left = co_await held_everywhere();
        left.detach();
        fenced_mutex lock = fenced(other);
        lease adopted = lock.adopt(left.nonce(), left.fencing_token());
        for (std::string const& value : values) {
            everywhere({"SET", fence_key, value});
            BOOST_TEST_CHECKPOINT(value);
            BOOST_TEST(co_await error_of(adopted.extend()) == errc::no_quorum);
        }
        while (!named_everywhere(other)) // one that was still connecting was not asked
            BOOST_TEST(co_await error_of(adopted.extend()) == errc::no_quorum);
        check_fences(values.back());
        everywhere({"SET", fence_key, std::to_string(left.fencing_token() >> 10U)});
        BOOST_TEST(co_await error_of(adopted.extend()) == error_code());
    });
}

/// A script that reads strings sees nothing there.
// rule F1
BOOST_AUTO_TEST_CASE(fence_of_another_type_is_left_unchanged)
{
    client other(context.get_executor(), settings);
    run([&]() -> asio::awaitable<void> {
        lease held = co_await held_everywhere();
        everywhere({"RPUSH", "list", "theirs"});
        everywhere(
            {"RENAME", "list", fence_key}); // at no time absent, so that no late extension sets it again
        BOOST_TEST(co_await error_of(held.extend()) == errc::no_quorum);
        BOOST_TEST(held.valid());
        co_await until([&] { return named_everywhere(*locks); });
        lease adopted = fenced(other).adopt(held.nonce(), held.fencing_token());
        do
            BOOST_TEST(co_await error_of(adopted.extend()) == errc::no_quorum);
        while (!named_everywhere(other));
        co_await held.release();
        fenced_mutex lock = fenced(*locks);
        BOOST_TEST(co_await error_of(lock.acquire()) == errc::no_quorum);
        BOOST_TEST(contains(to_string(lock.last_attempt()), fence_key), to_string(lock.last_attempt()));
        for (std::size_t i = 0; i != size(); ++i)
            BOOST_TEST(ask(i).command({"LRANGE", fence_key, "0", "-1"}) == "[theirs]");
    });
}

BOOST_AUTO_TEST_SUITE_END()

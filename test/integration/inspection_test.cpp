// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"
#include <redlock/fenced_mutex.hpp>

#include <boost/asio/as_tuple.hpp>

#include <string>
#include <string_view>
#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

struct inspection_fixture {
    cluster nodes{3};
    client second{nodes.context.get_executor(), nodes.settings};

    mutex theirs(lock_options options = long_lived) { return {second, "lock", options}; }

    /// Sets a value in the form of another library.
    void set(std::size_t node, std::string const& value, std::string const& expiry = "600000")
    {
        BOOST_TEST_REQUIRE(nodes.ask(node).command({"SET", "lock", value, "NX", "PX", expiry}) == "OK");
    }

    inspection seen(inspectable_lock const& lock, error_code expected = {})
    {
        inspection found;
        nodes.run([&]() -> asio::awaitable<void> {
            auto [ec, told] = co_await lock.inspect(asio::as_tuple(asio::use_awaitable));
            BOOST_TEST(ec == expected, ec.message());
            found = std::move(told);
        });
        return found;
    }
    inspection seen(error_code expected = {}) { return seen(nodes.lock(), expected); }

    static std::string_view status(inspection const& i) { return to_string(i.status); }
    static asio::awaitable<lease> on_all(any_lock lock)
    {
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3; });
        co_return held;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(inspections, inspection_fixture)

BOOST_AUTO_TEST_CASE(inspection_of_free_lock_leaves_no_keys)
{
    inspection const told = seen();
    BOOST_TEST(status(told) == "free");
    BOOST_TEST(told.free == 3U);
    BOOST_TEST(nodes.no_keys());
    run_dry(nodes.context);
}

BOOST_AUTO_TEST_CASE(inspection_of_own_lease_does_not_disturb_it)
{
    lease held = nodes.run([&] { return on_all(nodes.lock()); });
    inspection const told = seen();
    BOOST_TEST(told.held());
    BOOST_TEST(told.ours);
    BOOST_TEST(told.votes == 3U);
    BOOST_TEST(told.owner == held.nonce().substr(0, 8));
    BOOST_TEST((told.expires_within > 9min && *told.expires_within <= 11min + 1ms));
    BOOST_TEST((told.expires_after > 9min));
    BOOST_TEST((told.node_table.at(0).result == node_result::granted));
    BOOST_TEST(held.valid());
}

BOOST_AUTO_TEST_CASE(inspection_shows_other_clients_lease_while_waiting)
{
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await on_all(theirs());
        mutex lock = nodes.lock();
        lease got;
        lock.acquire([&](error_code, lease granted) { got = std::move(granted); });
        inspection const told = co_await lock.inspect();
        BOOST_TEST(told.held());
        BOOST_TEST(!told.ours);
        BOOST_TEST(told.owner == held.nonce().substr(0, 8));
        BOOST_TEST(lock.waiting() == 1U);
        // The waiter still hears of what happens to the key.
        co_await held.extend();
        static_cast<void>(co_await lock.inspect());
        co_await held.release();
        co_await until([&] { return got.valid(); });
        BOOST_TEST((co_await lock.inspect()).ours);
    });
}

BOOST_AUTO_TEST_CASE(inspection_shows_lock_of_another_library)
{
    for (std::size_t i = 0; i != 3; ++i)
        set(i, "d7a8fbb307d7809469ca9abcb0082e4f8d5651e4");
    inspection const told = seen();
    BOOST_TEST(told.held());
    BOOST_TEST(told.owner == "d7a8fbb3");
}

BOOST_AUTO_TEST_CASE(inspection_of_split_vote_is_blocked)
{
    set(0, "one");
    set(1, "another");
    inspection const told = seen();
    BOOST_TEST(status(told) == "blocked");
    BOOST_TEST(told.votes == 1U);
    BOOST_TEST(told.free == 1U);
    BOOST_TEST(!seen(nodes.lock("other")).votes);
}

BOOST_AUTO_TEST_CASE(inspection_of_expired_keys_is_free)
{
    set(0, "one", "1");
    set(1, "one", "1");
    nodes.run_until([&] { return nodes.no_keys(); });
    BOOST_TEST(status(seen()) == "free");
}

BOOST_AUTO_TEST_CASE(inspection_needs_majority_of_nodes)
{
    lease held = nodes.run([&] { return on_all(theirs()); });
    nodes.kill(0);
    inspection const told = seen();
    BOOST_TEST(told.held());
    BOOST_TEST(told.votes == 2U);
    BOOST_TEST((told.node_table.at(0).result == node_result::unreachable));
    nodes.kill(1);
    inspection const lost = seen(make_error_code(errc::no_quorum));
    BOOST_TEST(status(lost) == "unknown");
    BOOST_TEST(lost.votes == 1U);
    BOOST_TEST((lost.node_table.at(1).result == node_result::unreachable));
}

BOOST_AUTO_TEST_CASE(inspection_asks_quarantined_nodes)
{
    config settings = nodes.settings;
    settings.admission.assume_fresh = false;
    client careful(nodes.context.get_executor(), settings);
    set(0, "one");
    set(1, "one");
    inspection const told = seen(mutex(careful, "lock", long_lived));
    BOOST_TEST(told.held());
    error_code ec;
    nodes.run([&]() -> asio::awaitable<void> {
        mutex other(careful, "other", long_lived);
        (void)co_await other.try_acquire(asio::redirect_error(asio::use_awaitable, ec));
    });
    BOOST_TEST(ec == errc::no_quorum);
}

BOOST_AUTO_TEST_CASE(inspection_of_fenced_lock_shows_last_token)
{
    fenced_mutex lock(*nodes.locks, "lock", long_lived);
    BOOST_TEST(seen(lock).last_token == 0U);
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await lock.acquire();
        std::uint64_t const token = held.fencing_token();
        BOOST_TEST((co_await lock.inspect()).last_token == token);
        co_await held.release();
        BOOST_TEST((co_await lock.inspect()).last_token == token);
    });
}

/// The server reports each change of a key that was read, while nobody reads that connection.
BOOST_AUTO_TEST_CASE(inspection_keeps_connections_usable_after_invalidation)
{
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await on_all(theirs());
        mutex lock = nodes.lock();
        BOOST_TEST(co_await error_of(lock.acquire_for(20ms)) == errc::timed_out); // tracks from now on
        BOOST_TEST((co_await lock.inspect()).votes == 3U);
        co_await held.release();
        co_await until([&] { return nodes.no_keys(); });
        BOOST_TEST((co_await lock.inspect()).free == 3U);
        lease ours = co_await lock.acquire();
        BOOST_TEST(ours.valid());
    });
    for (auto const& proxy : nodes.proxies)
        BOOST_TEST(proxy->accepted() == 2U); // one of each client
}

BOOST_AUTO_TEST_SUITE_END()

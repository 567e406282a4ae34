// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <string>

using namespace redlock;
using namespace redlock::test;

namespace {

using steady = std::chrono::steady_clock;

/// Replies that are kept back, handed to the client's sockets, and lie there while its thread does something else.
struct late_reading_fixture : cluster {
    late_reading_fixture() : cluster(3) { warm_up(); }

    void keep_back()
    {
        for (auto const& each : proxies)
            each->hold(direction::to_client);
    }
    void put_into_the_sockets()
    {
        for (auto const& each : proxies) {
            auto const due = each->forwarded(direction::to_client) + each->held(direction::to_client);
            each->release();
            each->wait_forwarded(direction::to_client, due);
        }
    }
    bool all_kept_back()
    {
        return std::ranges::all_of(proxies, [](auto const& p) { return p->held(direction::to_client) > 0; });
    }
};

/// The thread is busy with something else. Bounded: every condition here is that time has passed.
template <class Condition>
void block_until(Condition holds)
{
    auto const end = steady::now() + patience;
    while (!holds() && steady::now() < end)
        ;
}

/// Ends soon; the slack keeps the keys for the checks that follow.
lock_options short_lease()
{
    return {.ttl = 1s, .slack = 40s, .renew = false, .node_timeout = 950ms};
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(late_reading, late_reading_fixture)

BOOST_AUTO_TEST_CASE(votes_read_after_end_of_lease_are_no_grant)
{
    keep_back();
    mutex lock = this->lock("lock", short_lease());
    std::optional<error_code> result;
    lock.try_acquire([&](error_code ec, lease granted) {
        BOOST_TEST(granted.empty());
        result = ec;
    });
    run_until([&] { return all_kept_back(); });
    auto const end = steady::now() + short_lease().ttl;
    put_into_the_sockets();
    block_until([&] { return steady::now() > end; });
    run_until([&] { return result.has_value(); });
    BOOST_TEST((*result == errc::too_slow || *result == errc::no_quorum), result->message());
    run_until([&] { return no_keys(); });
}

BOOST_AUTO_TEST_CASE(votes_read_late_do_not_lengthen_validity)
{
    keep_back();
    lock_options const options{.ttl = 20s, .renew = false, .node_timeout = 15s};
    mutex lock = this->lock("lock", options);
    lease held;
    lock.acquire([&](error_code, lease granted) { held = std::move(granted); });
    run_until([&] { return all_kept_back(); });
    auto const later_than_sent = steady::now();
    block_until([&] { return steady::now() > later_than_sent + 300ms; });
    put_into_the_sockets();
    run_until([&] { return !held.empty(); });
    auto const now = steady::now();
    auto const deadline = now + held.remaining();
    BOOST_TEST((deadline < later_than_sent + options.ttl - options.ttl / 100 - 2ms));
}

/// A tolerated suspect may be proven again after its deadline, but not by a round that took as long as a lease.
BOOST_AUTO_TEST_CASE(extension_read_after_whole_ttl_extends_nothing)
{
    auto options = short_lease();
    options.tolerate_suspect = true;
    mutex lock = this->lock("lock", options);
    lease held = run([&]() -> asio::awaitable<lease> {
        lease got = co_await lock.acquire();
        co_await until([&] { return got.votes() == 3; });
        co_return got;
    });
    auto const renewed = told->count(lease_event::kind::renewed);
    keep_back();
    std::optional<error_code> result;
    held.extend([&](error_code ec) { result = ec; });
    run_until([&] { return all_kept_back(); });
    auto const end = steady::now() + options.ttl;
    put_into_the_sockets();
    block_until([&] { return steady::now() > end; });
    run_until([&] { return result.has_value(); });
    BOOST_TEST(*result == errc::no_quorum);
    BOOST_TEST(!held.valid());
    BOOST_TEST(told->count(lease_event::kind::renewed) == renewed);
    BOOST_TEST(holders("lock", held.nonce()) == 3U); // all of them had extended it
}

BOOST_AUTO_TEST_CASE(late_timer_does_not_revive_lease_not_renewed_in_time)
{
    lock_options const options{.ttl = 600ms, .slack = 40s, .node_timeout = 300ms};
    mutex lock = this->lock("lock", options);
    run([&]() -> asio::awaitable<void> {
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3 || !held.valid(); });
        block_until([&] { return !held.valid(); }); // past the renewal's time as well
        auto const renewed = told->count(lease_event::kind::renewed);
        BOOST_TEST(holders("lock", held.nonce()) == 3U);
        BOOST_TEST(co_await held.ended() == lease_end::lost);
        BOOST_TEST(!held.valid());
        BOOST_TEST(co_await error_of(held.release()) == errc::lease_lost);
        co_await until([&] { return no_keys(); });
        BOOST_TEST(told->count(lease_event::kind::renewed) == renewed);
    });
}

/// The node is silent for longer than the lease, which the other nodes keep.
BOOST_AUTO_TEST_CASE(one_node_read_late_does_not_disturb_lease)
{
    proxy(2).hold(direction::to_client);
    run([&]() -> asio::awaitable<void> {
        mutex lock = this->lock("lock", {.ttl = 1s, .slack = 10s, .node_timeout = 300ms});
        lease held = co_await lock.acquire();
        auto const before = told->count(lease_event::kind::renewed);
        co_await until(
            [&] { return told->count(lease_event::kind::renewed) >= before + 4; }); // a third of it apart
        BOOST_TEST(held.valid());
        BOOST_TEST(held.votes() == 2U);
        proxy(2).release();
        co_await until([&] { return held.votes() == 3; });
        co_await held.release();
        co_await until([&] { return no_keys(); });
    });
}

BOOST_AUTO_TEST_SUITE_END()

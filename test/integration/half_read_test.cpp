// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <optional>
#include <string>

using namespace redlock;
using namespace redlock::test;

namespace {

struct cut_replies_fixture : cluster {
    cut_replies_fixture()
        : cluster(3, [](config& c) { c.health.check_interval.reset(); }) // replies to votes alone
    {
        warm_up();
        run_dry(context); // nothing is on its way any more
    }

    /// Replaces every server's next answer by these bytes.
    void cut(std::string const& bytes)
    {
        for (auto const& each : proxies) {
            seen.push_back(each->forwarded(direction::to_client) + bytes.size());
            each->garbage(bytes);
        }
    }
    void wait_for_the_cut()
    {
        for (std::size_t i = 0; i != 3; ++i)
            proxy(i).wait_forwarded(direction::to_client, seen[i]);
        context.restart();
        context.poll(); // received bytes are read
        seen.clear();
    }

    std::vector<std::uint64_t> seen;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(half_read, cut_replies_fixture)

/// The other half is the end of the vote's reply, and not the release's or the next vote's.
BOOST_AUTO_TEST_CASE(half_read_reply_of_cancelled_operation_is_read_to_its_end)
{
    mutex lock = this->lock();
    asio::cancellation_signal signal;
    std::optional<error_code> result;
    cut("+O");
    lock.acquire(asio::bind_cancellation_slot(signal.slot(), [&](error_code ec, lease) { result = ec; }));
    run_until([&] { return keys_left() == 3; });
    wait_for_the_cut();
    cut("K\r\n:1\r\n"); // with the release's
    signal.emit(asio::cancellation_type::terminal);
    run_until([&] { return result.has_value() && no_keys(); });
    BOOST_TEST(*result == asio::error::operation_aborted);
    wait_for_the_cut();

    run([&]() -> asio::awaitable<void> {
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3; });
        BOOST_TEST(holders("lock", held.nonce()) == 3U);
        co_await held.extend();
        co_await held.release();
        co_await until([&] { return no_keys(); });
    });
    for (auto const& each : proxies)
        BOOST_TEST(each->accepted() == 1U); // on the same connections
}

BOOST_AUTO_TEST_SUITE_END()

// A key that lives for longer than the keys of whoever waits for it.
#include <redlock/mutex.hpp>
#include <redlock/observer.hpp>
#include <redlock/testing/world.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <memory>

using namespace std::chrono_literals;

namespace redlock::test {

namespace {

struct counts_votes final : observer {
    void on_vote(vote_event const&) noexcept override { ++votes; }
    unsigned votes = 0;
};

} // namespace

BOOST_AUTO_TEST_SUITE(a_key_that_outlives_the_waiters_own)

/// So long its own would live: then the holder may have died, and somebody else come.
BOOST_AUTO_TEST_CASE(is_asked_for_once_each_time)
{
    boost::asio::io_context context;
    testing::world servers(context);
    servers.hold("lock", 10min);
    auto const counter = std::make_shared<counts_votes>();
    client locks = servers.make_client({.observer = counter});
    mutex lock(locks, "lock", {.ttl = 2s, .slack = 200ms});
    lock.acquire([](boost::system::error_code, lease) {});
    servers.advance(1min);
    constexpr unsigned times = 30; // 2.2 s each
    BOOST_TEST(counter->votes > times / 2);
    BOOST_TEST(counter->votes <= 3 * times);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

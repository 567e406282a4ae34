// A key that lives for longer than the keys of whoever waits for it.
#include "world/process.hpp"
#include <redlock/mutex.hpp>
#include <redlock/observer.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>

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
    world::timeline time;
    world::network net(time, 3, 1);
    world::process program(net, 0, 1);
    config settings;
    settings.assume_fresh = true;
    for (std::size_t n = 0; n != net.size(); ++n) {
        settings.nodes.push_back(net.url(n));
        (void)net.at(n).redis.execute({"SET", "lock", "somebody", "PX", "600000"},
                                      net.at(n).wall_us(time.now()));
    }
    auto const counter = std::make_shared<counts_votes>();
    settings.observer = counter;
    client locks = program.make_client(settings);
    mutex lock(locks, "lock", {.ttl = 2s, .slack = 200ms});
    lock.acquire([](boost::system::error_code, lease) {});
    constexpr auto minute = 60s;
    do
        program.run();
    while (time.step(core::duration{minute}));
    constexpr unsigned times = 30; // 2.2 s each
    BOOST_TEST(counter->votes > times / 2);
    BOOST_TEST(counter->votes <= 3 * times);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

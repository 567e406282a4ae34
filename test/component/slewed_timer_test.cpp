#include "world/process.hpp"
#include <redlock/mutex.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>

using namespace std::chrono_literals;

namespace redlock::test {

BOOST_AUTO_TEST_SUITE(slewed_timers)

/// Time synchronisation slows them, and CLOCK_MONOTONIC_RAW goes on.
BOOST_AUTO_TEST_CASE(do_not_make_a_loss_be_told_late)
{
    world::timeline time;
    world::network net(time, 3, 1);
    world::process program(net, 0, 1);
    program.machine().run_at(11. / 12, 1);
    config settings{.assume_fresh = true};
    for (std::size_t n = 0; n != net.size(); ++n)
        settings.nodes.push_back(net.url(n));
    settings.health.check_interval = 1h;
    client locks = program.make_client(settings);
    mutex lock(locks, "lock", {.ttl = 1min, .renew = false});
    lease held;
    bool told = false;
    lock.acquire([&](boost::system::error_code, lease got) {
        held = std::move(got);
        held.lost([&](boost::system::error_code) { told = true; });
    });
    auto const run_until = [&](core::duration end) {
        do
            program.run();
        while (time.step(end));
    };
    run_until(1s);
    core::duration const end = time.now() + held.remaining();
    run_until(end - 100ms);
    BOOST_TEST(!told);
    run_until(end);
    BOOST_TEST(told);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

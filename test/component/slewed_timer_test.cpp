// SPDX-License-Identifier: BSL-1.0
#include "component/simulated_program.hpp"
#include <redlock/mutex.hpp>

#include <boost/test/unit_test.hpp>

#include <utility>

using namespace std::chrono_literals;

namespace redlock::test {

namespace {

struct slewed_timers_fixture : simulated_program {
    slewed_timers_fixture() { settings.health.check_interval = 1h; }

    void hold(client& locks)
    {
        mutex lock(locks, "lock", {.ttl = 6s, .renew = false});
        lock.acquire([this](boost::system::error_code, lease got) {
            held = std::move(got);
            held.ended([this](boost::system::error_code, lease_end) { told = true; });
        });
        pass(1s);
    }

    lease held;
    bool told = false;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(slewed_timers, slewed_timers_fixture)

/// Time synchronisation slows them, and CLOCK_MONOTONIC_RAW goes on.
// rule H2
BOOST_AUTO_TEST_CASE(loss_is_reported_in_time_although_timers_are_slewed)
{
    program.machine().run_at(11. / 12, 1);
    client locks = program.make_client(settings);
    hold(locks);
    core::duration const end = time.now() + held.remaining();
    run_until(end - 100ms);
    BOOST_TEST(!told);
    run_until(end);
    BOOST_TEST(told);
}

/// Also if the slow clock is ahead of the other one, and both are read all the time.
// rule H2
BOOST_AUTO_TEST_CASE(loss_is_reported_in_time_although_the_slow_clock_is_ahead)
{
    client locks = program.make_client(settings);
    hold(locks);
    program.machine().run_at(13. / 12, 1);
    run_until(12s);
    BOOST_TEST(std::exchange(told, false));
    program.machine().run_at(11. / 12, 1);
    hold(locks);
    core::duration const end = time.now() + held.remaining();
    mutex other(locks, "other", {.ttl = 1min});
    while (time.now() < end) {
        other.try_acquire([](boost::system::error_code, lease const&) {});
        pass(5ms);
    }
    BOOST_TEST(told);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

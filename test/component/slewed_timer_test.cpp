// SPDX-License-Identifier: BSL-1.0
#include "component/simulated_program.hpp"
#include <redlock/mutex.hpp>

#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;

namespace redlock::test {

BOOST_FIXTURE_TEST_SUITE(slewed_timers, simulated_program)

/// Time synchronisation slows them, and CLOCK_MONOTONIC_RAW goes on.
BOOST_AUTO_TEST_CASE(loss_is_reported_in_time_although_timers_are_slewed)
{
    program.machine().run_at(11. / 12, 1);
    settings.health.check_interval = 1h;
    client locks = program.make_client(settings);
    mutex lock(locks, "lock", {.ttl = 1min, .renew = false});
    lease held;
    bool told = false;
    lock.acquire([&](boost::system::error_code, lease got) {
        held = std::move(got);
        held.ended([&](boost::system::error_code, lease_end) { told = true; });
    });
    run_until(1s);
    core::duration const end = time.now() + held.remaining();
    run_until(end - 100ms);
    BOOST_TEST(!told);
    run_until(end);
    BOOST_TEST(told);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

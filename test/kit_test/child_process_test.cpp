// SPDX-License-Identifier: BSL-1.0
#include "kit/certificates.hpp"
#include "kit/child_process.hpp"
#include "kit/patience.hpp"

#include <boost/test/unit_test.hpp>

#include <csignal>

namespace redlock::test {

BOOST_AUTO_TEST_SUITE(child_processes)

/// As it is in the tests if a shell has started them in the background.
BOOST_AUTO_TEST_CASE(child_hears_signals_that_the_tests_ignore)
{
    temporary_directory const place("redlock-child");
    auto* const before = ::signal(SIGINT, SIG_IGN);
    child_process child({"/bin/sh", "-c", "kill -INT $$; exit 7"}, place.file("log"));
    wait_until([&] { return !child.running(); });
    BOOST_TEST(!child.exit_status().has_value());
    ::signal(SIGINT, before);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

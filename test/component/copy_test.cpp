// SPDX-License-Identifier: BSL-1.0
// A client in a forked child: the process is simulated, and so is its copy.
#include "world/network.hpp"
#include "world/process.hpp"
#include "world/timeline.hpp"
#include <redlock/client.hpp>
#include <redlock/config.hpp>
#include <redlock/observer.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <optional>

namespace redlock::test {

namespace {

struct warned : observer {
    void on_warning(warning_event const&) noexcept override { ++times; }
    unsigned times = 0;
};

} // namespace

BOOST_AUTO_TEST_SUITE(copies)

/// The observer is the parent's (rule A3).
BOOST_AUTO_TEST_CASE(copy_of_client_warns_nobody)
{
    world::timeline time;
    world::network net{time, 2, 1}; // an even number: a client warns when it first looks at its nodes
    world::process process{net, 0, 1};
    config settings;
    auto const told = std::make_shared<warned>();
    settings.observer = told;
    for (std::size_t n = 0; n != net.size(); ++n)
        settings.nodes.push_back(net.url(n));
    std::optional<client> locks(process.make_client(settings));
    process.machine().be_copied();
    locks.reset();
    while (process.run())
        ;
    BOOST_TEST(told->times == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

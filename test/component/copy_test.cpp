// SPDX-License-Identifier: BSL-1.0
// A client in a forked child: the process is simulated, and so is its copy.
#include "world/network.hpp"
#include "world/process.hpp"
#include "world/timeline.hpp"
#include <redlock/client.hpp>
#include <redlock/config.hpp>
#include <redlock/lease.hpp>
#include <redlock/mutex.hpp>
#include <redlock/observer.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
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

/// The child runs handlers that were queued before it was forked, before any turn of the client's.
// rule A3
BOOST_AUTO_TEST_CASE(copy_of_client_that_is_connecting_uses_no_connection)
{
    constexpr auto long_enough = std::chrono::seconds{2};
    for (unsigned handlers = 0; handlers != 20; ++handlers) {
        world::timeline time;
        world::network net{time, 3, 1};
        world::process process{net, 0, 1};
        config settings;
        for (std::size_t n = 0; n != net.size(); ++n)
            settings.nodes.push_back(net.url(n));
        std::optional<client> locks(process.make_client(settings));
        mutex lock(*locks, "seat");
        lock.acquire([](boost::system::error_code, lease) {});
        for (unsigned done = 0; done != handlers;) {
            process.context().restart();
            if (process.context().poll_one() != 0)
                ++done;
            else
                BOOST_TEST_REQUIRE(time.step());
        }
        process.machine().be_copied();
        auto const before = net.touched(0);
        while (process.run())
            ;
        process.context().notify_fork(boost::asio::io_context::fork_child);
        for (auto const end = time.now() + long_enough; time.now() < end; (void)time.step(end))
            while (process.run())
                ;
        BOOST_TEST(net.touched(0) == before, "after " << handlers << " handlers");
        locks.reset();
        while (process.run())
            ;
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

// SPDX-License-Identifier: BSL-1.0
// The same with GoogleTest, with a program that waits for a lock.
// Run: guide_testing_gtest
#include <redlock/redlock.hpp>
#include <redlock/testing/world.hpp>

#include <boost/asio.hpp>

#include <gtest/gtest.h>

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

/// The function under test: waits for the lock for five seconds.
asio::awaitable<std::string> report(redlock::client& locks)
{
    redlock::mutex lock{locks, "nightly-report"};
    error_code ec;
    redlock::lease lease = co_await lock.acquire_for(5s, asio::redirect_error(asio::use_awaitable, ec));
    co_return ec ? ec.message() : "reported";
}

struct reports : testing::Test {
    asio::io_context context;
    redlock::testing::world servers{context};
    redlock::client locks = servers.make_client();
};

TEST_F(reports, are_made_when_the_lock_comes_free)
{
    servers.hold("nightly-report", 3s);
    EXPECT_EQ(servers.run(report(locks)), "reported");
    EXPECT_GE(servers.elapsed(), 3s);
}

TEST_F(reports, are_left_to_who_makes_them_already)
{
    servers.hold("nightly-report", 1min);
    EXPECT_EQ(servers.run(report(locks)), make_error_code(redlock::errc::timed_out).message());
    EXPECT_GE(servers.elapsed(), 5s);
    EXPECT_LT(servers.elapsed(), 6s);
}

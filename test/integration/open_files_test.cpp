// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <sys/resource.h>
#include <unistd.h>

using namespace redlock;
using namespace redlock::test;

namespace {

/// While it lives this process can open no file more.
class no_more_files {
public:
    no_more_files()
    {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        int const lowest_free = ::dup(STDIN_FILENO);
        ::close(lowest_free);
        rlimit const now{static_cast<rlim_t>(lowest_free), before_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &now);
    }
    no_more_files(no_more_files const&) = delete;
    no_more_files& operator=(no_more_files const&) = delete;
    ~no_more_files() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

} // namespace

BOOST_AUTO_TEST_SUITE(open_files)

BOOST_AUTO_TEST_CASE(node_without_free_file_descriptor_is_connected_later)
{
    cluster one(1);
    one.run([&]() -> asio::awaitable<void> {
        mutex lock = one.lock();
        {
            no_more_files const limit;
            BOOST_TEST(co_await error_of(lock.try_acquire(asio::use_awaitable)) == errc::no_quorum);
            BOOST_TEST_REQUIRE(lock.last_attempt().size() == 1U);
            BOOST_TEST(to_string(lock.last_attempt()[0].result) == "unreachable");
            BOOST_TEST(contains(lock.last_attempt()[0].detail, "Too many open files"));
        }
        lease const held = co_await lock.acquire();
        BOOST_TEST(held.votes() == 1U);
    });
}

BOOST_AUTO_TEST_SUITE_END()

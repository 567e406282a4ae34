// SPDX-License-Identifier: BSL-1.0
#include "component/foreign_threads.hpp"
#include "kit/last_words.hpp"

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <latch>
#include <string>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Nobody listens there.
constexpr char nobody[] = "redis://127.0.0.1:1";

/// One thread is in a handler of the client while the other begins an operation.
void meet_in_one_client()
{
    asio::io_context context;
    client locks(context.get_executor(), {.nodes = {nobody}});
    mutex lock(locks, "door");
    std::latch first_inside(1);
    lock.try_acquire([&](error_code, lease) {
        first_inside.count_down();
        std::latch(1).wait(); // waits until the program ends
    });
    asio::post(context, [&] {
        first_inside.wait();
        lock.try_acquire([](error_code, lease) {});
    });
    runners two(context, 2);
}

} // namespace

BOOST_AUTO_TEST_SUITE(two_threads)

BOOST_AUTO_TEST_CASE(client_used_by_two_threads_without_strand_aborts_with_message)
{
    auto const child = last_words_of([](int pipe) {
        ::dup2(pipe, STDERR_FILENO);
        std::signal(SIGABRT, SIG_DFL); // Boost.Test has its own
        meet_in_one_client();
    });
    BOOST_TEST((WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGABRT));
    BOOST_TEST((child.said.find("make_strand") != std::string::npos), child.said);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
// Testing a program that takes locks, with Boost.Test and redlock::testing: no Redis, no ports, no waiting.
// Run: guide_testing
#include <redlock/redlock.hpp>
#include <redlock/testing/made_up_lease.hpp>
#include <redlock/testing/world.hpp>

#define BOOST_TEST_MODULE seats
#include <boost/asio.hpp>
#include <boost/test/included/unit_test.hpp>

#include <functional>
#include <sstream>

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

/// The function under test. It is given its client, and so knows nothing of servers.
asio::awaitable<std::string> book(redlock::client& locks, std::string seat)
{
    redlock::mutex lock{locks, "seat:" + seat};
    error_code ec;
    redlock::lease lease = co_await lock.try_acquire(asio::redirect_error(asio::use_awaitable, ec));
    if (ec == redlock::errc::contended)
        co_return "busy";
    co_return ec ? "unavailable" : "booked";
}

/// How the program waits: on a timer when it ships, in the world's time in a test.
using pauses = std::function<asio::awaitable<void>(std::chrono::milliseconds)>;

/// Another function under test: it works for as long as it holds the lock, and counts its steps.
asio::awaitable<void> reindex(redlock::mutex lock, pauses pause, int& steps)
{
    auto body = [&](redlock::lease&) -> asio::awaitable<void> {
        for (;; ++steps)
            co_await pause(1s);
    };
    co_await redlock::with_lock(lock, body);
}

/// This works on a thread of its own while it holds the lock, which takes real time.
asio::awaitable<int> checksum(redlock::client& locks, asio::thread_pool& workers)
{
    redlock::mutex lock{locks, "files"};
    redlock::lease held = co_await lock.acquire();
    auto work = []() -> asio::awaitable<int> { co_return 42; };
    co_return co_await asio::co_spawn(workers, work(), asio::use_awaitable);
}

/// A third one, which is given a lease.
std::string write(redlock::lease const& held)
{
    return held.valid() ? "written with token " + std::to_string(held.fencing_token()) : "not written";
}

struct fixture {
    asio::io_context context;
    redlock::testing::world servers{context};
    redlock::client locks = servers.make_client();
};

BOOST_FIXTURE_TEST_SUITE(seats, fixture)

BOOST_AUTO_TEST_CASE(a_free_seat_is_booked)
{
    BOOST_TEST(servers.run(book(locks, "42")) == "booked");
}

BOOST_AUTO_TEST_CASE(a_seat_that_somebody_else_books_is_busy)
{
    servers.hold("seat:42");
    BOOST_TEST(servers.run(book(locks, "42")) == "busy");
    servers.let_go("seat:42");
    BOOST_TEST(servers.run(book(locks, "42")) == "booked");
}

BOOST_AUTO_TEST_CASE(without_a_majority_nobody_books)
{
    servers.kill(0);
    servers.kill(1);
    BOOST_TEST(servers.run(book(locks, "42")) == "unavailable");
}

BOOST_AUTO_TEST_CASE(readers_of_another_process_keep_writers_out_and_no_readers)
{
    redlock::client others = servers.make_client();
    redlock::shared_mutex theirs{others, "prices"};
    redlock::lease reads = servers.run(theirs.acquire_shared(asio::use_awaitable));

    redlock::shared_mutex prices{locks, "prices"};
    redlock::inspection seen = servers.run(prices.inspect(asio::use_awaitable));
    BOOST_TEST((seen.holder == redlock::holder_kind::readers));
    BOOST_TEST(servers.run(prices.acquire_shared(asio::use_awaitable)).valid());
    BOOST_TEST(reads.valid());
}

BOOST_AUTO_TEST_CASE(work_stops_when_the_lease_is_lost)
{
    int steps = 0;
    redlock::mutex lock{locks, "index", {.ttl = 10s}};
    pauses pause = [this](auto time) { return servers.sleep(time); };
    auto job = asio::co_spawn(context, reindex(lock, pause, steps), asio::use_future);
    servers.advance(30s);
    BOOST_TEST(steps >= 29);

    servers.cut(0);
    servers.cut(1);
    servers.advance(10s);
    BOOST_CHECK_THROW(job.get(), redlock::lease_lost_error);
}

BOOST_AUTO_TEST_CASE(work_on_another_thread_is_waited_for)
{
    asio::thread_pool workers{1};
    auto sum = asio::co_spawn(context, checksum(locks, workers), asio::use_future);
    while (sum.wait_for(1ms) != std::future_status::ready)
        servers.advance(0ms); // real time goes on, and the world's does not
    BOOST_TEST(sum.get() == 42);
    workers.join();
}

BOOST_AUTO_TEST_CASE(an_observer_sees_what_happens)
{
    std::ostringstream log;
    redlock::client watched = servers.make_client({.observer = redlock::log_to(log, {.timestamps = false})});
    BOOST_TEST(servers.run(book(watched, "42")) == "booked");
    BOOST_TEST(!log.str().empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(nothing_is_written_without_a_valid_lease)
{
    asio::io_context context;
    redlock::testing::made_up_lease made{context, 4096};
    BOOST_TEST(write(made.get()) == "written with token 4096");
    made.suspect();
    BOOST_TEST(write(made.get()) == "not written");
}

// SPDX-License-Identifier: BSL-1.0
#include <redlock/redlock.hpp>
#include <redlock/testing/world.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <exception>
#include <optional>
#include <sstream>
#include <utility>

using namespace redlock;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using boost::system::error_code;
using redlock::testing::world;

namespace {

struct ended_fixture {
    asio::io_context context;
    world servers{context};
    client locks = servers.make_client();
    mutex lock{locks, "seat:42", {.ttl = 2s}};
    bool unwound = false;

    [[nodiscard]] lease held() { return servers.run(lock.acquire(asio::use_awaitable)); }
    asio::awaitable<int> work(std::chrono::milliseconds time)
    {
        struct guard {
            bool& left;
            ~guard() { left = true; }
        } const leaving{unwound};
        co_await servers.sleep(time);
        co_return 42;
    }
    asio::awaitable<void> cut_later()
    {
        co_await servers.sleep(500ms);
        servers.cut(0);
        servers.cut(1);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(end_of_lease, ended_fixture)

BOOST_AUTO_TEST_CASE(work_beside_ended_is_cancelled_when_lease_is_lost)
{
    using namespace asio::experimental::awaitable_operators;
    servers.run([&]() -> asio::awaitable<void> {
        lease own = co_await lock.acquire();
        asio::co_spawn(context, cut_later(), asio::detached);
        auto const how = co_await (work(1h) || own.ended());
        BOOST_TEST_REQUIRE(how.index() == 1U);
        BOOST_TEST(std::get<1>(how) == lease_end::lost);
        BOOST_TEST(unwound);
        BOOST_TEST((own.cause() == loss_cause::expired));
        BOOST_TEST(
            std::string(own.explain(errc::lease_lost).what()).starts_with("lock \"seat:42\" lost (expired"));
    }());
    BOOST_TEST((servers.elapsed() < 10s));
}

BOOST_AUTO_TEST_CASE(work_that_ends_first_gives_its_result)
{
    using namespace asio::experimental::awaitable_operators;
    servers.run([&]() -> asio::awaitable<void> {
        lease own = co_await lock.acquire();
        auto const how = co_await (work(5s) || own.ended(asio::use_awaitable));
        BOOST_TEST_REQUIRE(how.index() == 0U);
        BOOST_TEST(std::get<0>(how) == 42);
        BOOST_TEST(own.valid());
    }());
}

BOOST_AUTO_TEST_CASE(group_that_waits_for_one_success_ends_with_the_lease)
{
    lease own = held();
    asio::co_spawn(context, cut_later(), asio::detached);
    bool done = false;
    asio::experimental::make_parallel_group(asio::co_spawn(context, work(1h), asio::deferred),
                                            own.ended(asio::deferred))
        .async_wait(asio::experimental::wait_for_one_success(),
                    [&](std::array<std::size_t, 2> order, std::exception_ptr failure, int, error_code ec,
                        lease_end end) {
                        BOOST_TEST(order[0] == 1U);
                        BOOST_TEST((failure != nullptr));
                        BOOST_TEST(!ec);
                        BOOST_TEST(end == lease_end::lost);
                        done = true;
                    });
    servers.run_until([&] { return done; }, 10s);
    BOOST_TEST(unwound);
}

BOOST_AUTO_TEST_CASE(default_token_gives_how_the_lease_ended)
{
    servers.run([&]() -> asio::awaitable<void> {
        lease own = co_await lock.acquire();
        co_await own.release();
        BOOST_TEST(co_await own.ended() == lease_end::released);
        own = co_await lock.acquire();
        own.detach();
        BOOST_TEST(co_await own.ended() == lease_end::released);
        servers.flush(0);
        servers.flush(1);
        servers.flush(2);
        own = co_await lock.acquire();
        servers.lose(own);
        BOOST_TEST(co_await own.ended() == lease_end::lost);
        lease const shared = co_await lock.acquire();
        co_await locks.shutdown();
        BOOST_TEST(co_await shared.ended() == lease_end::shut_down);
    }());
}

/// Also where the wait begins after the client's end.
BOOST_AUTO_TEST_CASE(shutdown_changes_nothing_in_how_a_lease_has_ended)
{
    servers.run([&]() -> asio::awaitable<void> {
        lease lost = co_await lock.acquire();
        servers.lose(lost);
        BOOST_TEST(co_await lost.ended() == lease_end::lost);
        lease released = co_await lock.acquire();
        co_await released.release();
        lease detached = co_await lock.acquire();
        detached.detach();
        mutex other(locks, "seat:43");
        lease const held = co_await other.acquire();
        asio::co_spawn(context, locks.shutdown(asio::use_awaitable), asio::detached);
        for (auto const pause : {0ms, 5000ms}) { // while it is shut down, and afterwards
            co_await servers.sleep(pause);
            BOOST_TEST(co_await lost.ended() == lease_end::lost);
            BOOST_TEST(co_await released.ended() == lease_end::released);
            BOOST_TEST(co_await detached.ended() == lease_end::released);
            BOOST_TEST(co_await held.ended() == lease_end::shut_down);
        }
    }());
}

BOOST_AUTO_TEST_CASE(leadership_and_shared_lease_end_as_a_lease_does)
{
    servers.run([&]() -> asio::awaitable<void> {
        election scheduler(locks, "scheduler");
        leadership leader = co_await scheduler.campaign("me");
        co_await leader.resign();
        BOOST_TEST(co_await leader.ended() == lease_end::released);
        lease own = co_await lock.acquire();
        shared_lease const copy = std::move(own).share();
        asio::co_spawn(context, cut_later(), asio::detached);
        BOOST_TEST(co_await copy->ended() == lease_end::lost);
    }());
}

BOOST_AUTO_TEST_CASE(empty_lease_and_cancellation_are_errors)
{
    std::optional<error_code> told;
    auto const keep = [&](error_code ec, lease_end) { told = ec; };
    lease().ended(asio::bind_executor(context, keep));
    BOOST_TEST(!told.has_value());
    servers.run_until([&] { return told.has_value(); });
    BOOST_TEST((told == errc::empty_lease));

    lease own = held();
    asio::cancellation_signal stop;
    told.reset();
    own.ended(asio::bind_cancellation_slot(stop.slot(), keep));
    servers.advance(10ms);
    BOOST_TEST(!told.has_value());
    stop.emit(asio::cancellation_type::terminal);
    servers.run_until([&] { return told.has_value(); });
    BOOST_TEST((told == asio::error::operation_aborted));
    BOOST_TEST(own.valid());
}

BOOST_AUTO_TEST_CASE(each_end_has_its_name)
{
    std::ostringstream out;
    for (auto const end :
         {lease_end::released, lease_end::lost, lease_end::shut_down, lease_end::forked, lease_end{9}})
        out << end << ' ';
    BOOST_TEST(out.str() == "released lost shut_down forked unknown ");
}

BOOST_AUTO_TEST_SUITE_END()

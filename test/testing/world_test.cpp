#include <redlock/redlock.hpp>
#include <redlock/testing/world.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <optional>
#include <stdexcept>

using namespace redlock;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using boost::system::error_code;
using redlock::testing::data;
using redlock::testing::world;

namespace {

/// Servers, a client, and one lock of it.
struct three_servers {
    asio::io_context context;
    world servers{context};
    client locks = servers.make_client();
    mutex lock{locks, "seat:42"};

    [[nodiscard]] asio::awaitable<error_code> try_it()
    {
        error_code ec;
        lease const got = co_await lock.try_acquire(asio::redirect_error(asio::use_awaitable, ec));
        co_return ec;
    }
    [[nodiscard]] lease acquire() { return servers.run(taken()); }
    [[nodiscard]] asio::awaitable<lease> taken() { co_return co_await lock.acquire(); }
    /// What `lost()` said.
    std::shared_ptr<std::optional<error_code>> watch(lease& held)
    {
        auto told = std::make_shared<std::optional<error_code>>();
        held.lost([told](error_code ec) { *told = ec; });
        return told;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(a_world, three_servers)

BOOST_AUTO_TEST_CASE(grants_a_free_lock_at_once)
{
    BOOST_TEST(!servers.run(try_it()));
    BOOST_TEST((servers.elapsed() == 0ns));
    servers.advance(0ms);
    BOOST_TEST(!servers.held("seat:42"));
}

BOOST_AUTO_TEST_CASE(knows_what_others_hold)
{
    servers.hold("seat:42");
    BOOST_TEST(servers.held("seat:42"));
    BOOST_TEST((servers.run(try_it()) == errc::contended));
    BOOST_CHECK_THROW(servers.hold("seat:42"), std::logic_error);
    bool acquired = false;
    lock.acquire([&](error_code ec, lease const&) { acquired = !ec; });
    servers.advance(1s);
    BOOST_TEST(!acquired);
    servers.let_go("seat:42");
    servers.advance(100ms);
    BOOST_TEST(acquired);
}

BOOST_AUTO_TEST_CASE(lets_what_others_hold_expire)
{
    servers.hold("seat:42", 5s);
    lease const held = acquire();
    BOOST_TEST(held.valid());
    BOOST_TEST((servers.elapsed() >= 5s && servers.elapsed() < 6s));
}

BOOST_AUTO_TEST_CASE(renews_a_lease_for_as_long_as_it_is_held)
{
    lease held = acquire();
    auto const told = watch(held);
    servers.advance(10min);
    BOOST_TEST(held.valid());
    BOOST_TEST(!told->has_value());
}

BOOST_AUTO_TEST_CASE(loses_a_lease_of_ten_seconds_in_a_moment)
{
    lease held = acquire();
    auto const told = watch(held);
    servers.cut(0);
    servers.cut(1);
    servers.advance(9s);
    BOOST_TEST(held.valid());
    servers.advance(1s);
    BOOST_TEST(!held.valid());
    BOOST_TEST_REQUIRE(told->has_value());
    BOOST_TEST((**told == errc::lease_lost));
    BOOST_TEST((held.cause() == loss_cause::expired));
    servers.mend(0);
    servers.mend(1);
    BOOST_TEST(acquire().valid());
}

BOOST_AUTO_TEST_CASE(loses_a_lease_on_command)
{
    lease held = acquire();
    auto const told = watch(held);
    servers.lose(held);
    servers.advance(0ms);
    BOOST_TEST_REQUIRE(told->has_value());
    BOOST_TEST((held.cause() == loss_cause::refused));
    BOOST_TEST(!servers.held("seat:42"));
}

BOOST_AUTO_TEST_CASE(loses_a_lease_whose_keys_are_flushed)
{
    lease held = acquire();
    servers.flush(0);
    servers.flush(1);
    servers.advance(10s);
    BOOST_TEST((held.state() == lease_state::lost));
}

BOOST_AUTO_TEST_CASE(has_servers_that_die_and_come_back)
{
    BOOST_TEST(!servers.run(try_it()));
    servers.kill(0);
    servers.kill(1);
    BOOST_TEST((servers.run(try_it()) == errc::no_quorum));
    servers.restart(0, data::kept);
    servers.restart(1);
    servers.advance(5s);
    BOOST_TEST((servers.run(try_it()) == errc::no_quorum)); // they may have forgotten something
    servers.advance(12s);
    BOOST_TEST(!servers.run(try_it()));
}

BOOST_AUTO_TEST_CASE(starts_a_server_with_its_data_if_told)
{
    for (data what : {data::kept, data::lost}) {
        world one(context, 1);
        one.hold("seat:42");
        one.kill(0);
        BOOST_TEST(!one.held("seat:42"));
        one.restart(0, what);
        BOOST_TEST(one.held("seat:42") == (what == data::kept));
    }
}

BOOST_AUTO_TEST_CASE(has_servers_that_stall_and_that_have_no_memory)
{
    servers.exhaust_memory(0);
    servers.exhaust_memory(1);
    BOOST_TEST((servers.run(try_it()) == errc::no_quorum));
    BOOST_TEST((lock.last_attempt()[0].error == server_error::oom));
    servers.exhaust_memory(0, false);
    servers.exhaust_memory(1, false);
    servers.stall(0, 100ms);
    servers.stall(1, 100ms);
    BOOST_TEST(!servers.run(try_it()));
    BOOST_TEST((servers.elapsed() >= 100ms));
}

BOOST_AUTO_TEST_CASE(gives_tokens_that_rise)
{
    fenced_mutex fenced(locks, "account", {.ttl = 10s});
    auto token = [&]() -> asio::awaitable<std::uint64_t> {
        lease held = co_await fenced.acquire();
        co_return held.fencing_token();
    };
    std::uint64_t const first = servers.run(token());
    BOOST_TEST(first > 0U);
    BOOST_TEST(servers.run(token()) > first);
}

BOOST_AUTO_TEST_CASE(has_clients_that_are_as_good_as_processes)
{
    lease const held = acquire();
    client other = servers.make_client({.key_prefix = {}});
    mutex theirs(other, "seat:42");
    error_code ec;
    theirs.try_acquire([&](error_code why, lease const&) { ec = why; });
    servers.advance(0ms);
    BOOST_TEST((ec == errc::contended));
}

/// A lease that outlives its validity in a coroutine that waits, too.
BOOST_AUTO_TEST_CASE(lets_coroutines_wait_for_its_time)
{
    auto work = [&]() -> asio::awaitable<bool> {
        lease held = co_await lock.acquire();
        servers.cut(0);
        servers.cut(1);
        co_await servers.sleep(11s);
        co_return held.valid();
    };
    BOOST_TEST(!servers.run(work()));
    BOOST_TEST((servers.elapsed() >= 11s));
}

BOOST_AUTO_TEST_CASE(cancels_the_body_of_with_lock)
{
    bool unwound = false;
    auto body = [&](lease&) -> asio::awaitable<void> {
        struct note {
            bool& flag;
            ~note() { flag = true; }
        } const end{unwound};
        co_await servers.sleep(1h);
    };
    auto job = [&]() -> asio::awaitable<void> { co_await with_lock(lock, body); };
    auto result = asio::co_spawn(context, job(), asio::use_future);
    servers.advance(1s);
    servers.flush(0);
    servers.flush(1);
    servers.advance(10s);
    BOOST_TEST(unwound);
    BOOST_CHECK_THROW(result.get(), lease_lost_error);
}

/// Whoever runs the context, what needs no time happens.
BOOST_AUTO_TEST_CASE(works_where_the_test_runs_the_context)
{
    bool acquired = false;
    lock.acquire([&](error_code ec, lease const& got) { acquired = !ec && got.valid(); });
    context.run();
    BOOST_TEST(acquired);
}

BOOST_AUTO_TEST_CASE(says_what_would_not_work)
{
    BOOST_CHECK_THROW(world(context, 0), std::invalid_argument);
    BOOST_CHECK_THROW(world(context, 64), std::invalid_argument);
    BOOST_CHECK_THROW(servers.kill(3), std::out_of_range);
    BOOST_CHECK_THROW(servers.cut(3), std::out_of_range);
    auto nested = [&]() -> asio::awaitable<void> {
        servers.advance(1s);
        co_return;
    };
    BOOST_CHECK_THROW(servers.run(nested()), std::logic_error);
    auto for_ever = [&]() -> asio::awaitable<void> { co_await servers.sleep(100h); };
    BOOST_CHECK_THROW(servers.run(for_ever()), std::runtime_error);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(ends_of_a_world)

BOOST_AUTO_TEST_CASE(leases_and_clients_may_be_destroyed_while_they_wait)
{
    asio::io_context context;
    {
        world servers(context);
        client locks = servers.make_client();
        mutex lock(locks, "seat:42");
        lease held;
        lock.acquire([&](error_code, lease got) { held = std::move(got); });
        servers.advance(1s);
        BOOST_TEST(held.valid());
        lock.acquire([](error_code, lease const&) {});
        servers.advance(1s);
    }
    context.run();
}

BOOST_AUTO_TEST_SUITE_END()

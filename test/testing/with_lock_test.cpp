// SPDX-License-Identifier: BSL-1.0
#include <redlock/redlock.hpp>
#include <redlock/testing/world.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

using namespace redlock;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using boost::system::error_code;
using redlock::testing::world;

namespace {

struct hears_releases : observer {
    void on_release(release_event const& e) noexcept override { told.emplace_back(e.result); }
    std::vector<error_code> told{};
};

struct with_lock_fixture {
    asio::io_context context;
    world servers{context};
    std::shared_ptr<hears_releases> heard = std::make_shared<hears_releases>();
    client locks = make_client();
    mutex seat{locks, "seat:42", {.ttl = 3s, .node_timeout = 300ms}};
    lease elsewhere{};

    [[nodiscard]] client make_client()
    {
        config settings = servers.settings();
        settings.observer = heard;
        return servers.make_client(settings);
    }
    void cut()
    {
        servers.cut(0);
        servers.cut(1);
    }
    void mend()
    {
        servers.mend(0);
        servers.mend(1);
    }

    /// The result of a lock's body: its value, or a lock_error.
    struct outcome {
        std::optional<int> value{};
        std::optional<lock_error> error{};
        bool lost = false; ///< a lease_lost_error
    };
    using body = std::function<asio::awaitable<void>(lease&)>;
    template <class Lock>
    [[nodiscard]] outcome run(Lock const& lock, body const& work)
    {
        auto job = [&]() -> asio::awaitable<int> {
            auto counts = [&](lease& held) -> asio::awaitable<int> {
                co_await work(held);
                co_return 42;
            };
            co_return co_await with_lock(lock, counts);
        };
        outcome end;
        try {
            end.value = servers.run(job());
        } catch (lease_lost_error const& e) {
            end.error = e;
            end.lost = true;
        } catch (lock_error const& e) {
            end.error = e;
        }
        return end;
    }
    void expect_value(body const& work, mutex const* lock = nullptr)
    {
        auto const end = run(lock ? *lock : seat, work);
        BOOST_TEST(!end.error.has_value(), (end.error ? end.error->what() : ""));
        BOOST_TEST((end.value == 42));
    }
    template <class Lock = mutex>
    void expect_end(body const& work, errc code, Lock const* lock = nullptr)
    {
        auto const end = lock ? run(*lock, work) : run(seat, work);
        BOOST_TEST_REQUIRE(end.error.has_value());
        BOOST_TEST(end.lost);
        BOOST_TEST((end.error->code() == code));
        BOOST_TEST(end.error->stage() == lock_stage::holding);
        BOOST_TEST(end.error->resource() == "seat:42");
    }
    asio::awaitable<void> go_on(lease& held)
    {
        co_await asio::this_coro::throw_if_cancelled(false);
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        while (held.state() == lease_state::held)
            co_await servers.sleep(100ms);
    }
};

/// Its lock's leases become suspect.
struct suspect_fixture : with_lock_fixture {
    mutex tolerant{
        locks, "seat:42", {.ttl = 3s, .renew = false, .tolerate_suspect = true, .node_timeout = 300ms}};
    body suspected = [this](lease& held) -> asio::awaitable<void> {
        co_await go_on(held);
        BOOST_TEST((held.state() == lease_state::suspect));
    };
};

asio::awaitable<void> nothing(lease&)
{
    co_return;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(with_lock_results, with_lock_fixture)

/// Only the observer hears of a key that may stay.
BOOST_AUTO_TEST_CASE(value_of_body_wins_over_unconfirmed_release)
{
    expect_value([&](lease&) -> asio::awaitable<void> {
        cut();
        co_return;
    });
    servers.advance(1s);
    BOOST_TEST_REQUIRE(heard->told.size() == 1U);
    BOOST_TEST((heard->told[0] == errc::no_quorum));
}

/// The keys are deleted while the lease is valid for its holder.
BOOST_AUTO_TEST_CASE(value_of_body_wins_over_release_that_finds_no_keys)
{
    mutex const unwatched(locks, "seat:42", {.ttl = 3s, .renew = false, .node_timeout = 300ms});
    expect_value(
        [&](lease& held) -> asio::awaitable<void> {
            co_await servers.sleep(10ms);
            cut();
            servers.flush(0);
            servers.flush(1);
            mend();
            BOOST_TEST(held.valid());
        },
        &unwatched);
}

BOOST_AUTO_TEST_CASE(value_of_body_that_gave_the_lease_away_is_kept)
{
    expect_value([&](lease& held) -> asio::awaitable<void> { co_await held.release(asio::use_awaitable); });
    expect_value([&](lease& held) -> asio::awaitable<void> {
        elsewhere = std::move(held);
        co_return;
    });
    BOOST_TEST(elsewhere.valid());
    elsewhere = {};
    expect_value([&](lease& held) -> asio::awaitable<void> {
        held.detach();
        co_return;
    });
}

BOOST_AUTO_TEST_CASE(lease_that_ends_before_the_body_is_a_lease_lost_error)
{
    expect_end(
        [&](lease& held) -> asio::awaitable<void> {
            cut();
            co_await servers.sleep(1h);
            (void)held;
        },
        errc::lease_lost);
    mend();
    expect_end(
        [&](lease& held) -> asio::awaitable<void> {
            cut();
            co_await go_on(held);
        },
        errc::lease_lost);
    mend();
    expect_end(
        [&](lease& held) -> asio::awaitable<void> {
            locks.shutdown([](error_code) {});
            co_await go_on(held);
        },
        errc::shut_down);
}

BOOST_FIXTURE_TEST_CASE(extension_decides_for_body_that_ended_while_its_lease_was_suspect, suspect_fixture)
{
    expect_value(suspected, &tolerant);
    expect_end(
        [&](lease& held) -> asio::awaitable<void> {
            co_await suspected(held);
            cut();
        },
        errc::lease_lost, &tolerant);
}

/// The release would have enough answers.
BOOST_FIXTURE_TEST_CASE(key_on_one_node_does_not_prove_a_suspect_lease, suspect_fixture)
{
    expect_end(
        [&](lease& held) -> asio::awaitable<void> {
            co_await suspected(held);
            servers.flush(0);
            servers.cut(2);
        },
        errc::lease_lost, &tolerant);
}

/// Its release asks no node.
// rule S18
BOOST_FIXTURE_TEST_CASE(reader_that_shares_its_key_does_not_prove_a_suspect_lease, suspect_fixture)
{
    auto readers =
        shared_mutex(locks, "seat:42", {.ttl = 3s, .tolerate_suspect = true, .node_timeout = 300ms}).shared();
    elsewhere = servers.run(readers.acquire(asio::use_awaitable));
    expect_end(
        [&](lease& held) -> asio::awaitable<void> {
            BOOST_TEST(held.nonce() == elsewhere.nonce());
            cut();
            co_await suspected(held);
        },
        errc::lease_lost, &readers);
}

BOOST_AUTO_TEST_CASE(lock_that_was_not_acquired_says_so)
{
    auto const expect_acquiring = [&](errc code) {
        auto const end = run(mutex(locks, "seat:42", {.ttl = 3s, .retry = {.outage_patience = 1s}}), nothing);
        BOOST_TEST_REQUIRE(end.error.has_value());
        BOOST_TEST(!end.lost);
        BOOST_TEST((end.error->code() == code));
        BOOST_TEST(end.error->stage() == lock_stage::acquiring);
    };
    cut();
    expect_acquiring(errc::no_quorum);
    mend();
    servers.run(locks.shutdown(asio::use_awaitable));
    expect_acquiring(errc::shut_down);
    lease const none;
    BOOST_TEST(none.explain(errc::empty_lease).stage() == lock_stage::holding);
}

BOOST_AUTO_TEST_CASE(each_stage_has_its_name)
{
    std::ostringstream out;
    out << lock_stage::acquiring << ' ' << lock_stage::holding << ' ' << lock_stage{7};
    BOOST_TEST(out.str() == "acquiring holding unknown");
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include <redlock/client.hpp>
#include <redlock/config.hpp>
#include <redlock/error.hpp>
#include <redlock/fence_options.hpp>
#include <redlock/fenced_mutex.hpp>
#include <redlock/inspection.hpp>
#include <redlock/lease.hpp>
#include <redlock/lock_options.hpp>
#include <redlock/mutex.hpp>
#include <redlock/node_outcome.hpp>
#include <redlock/observer.hpp>
#include <redlock/redlock.hpp>
#include <redlock/testing/world.hpp>
#include <redlock/with_diagnostics.hpp>
#include <redlock/with_lock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// The interface that programs are written against: it compiles, and its meaning does not change.

using namespace std::chrono_literals;
namespace asio = boost::asio;
using boost::system::error_code;
using redlock::testing::world;

static_assert(std::is_aggregate_v<redlock::config> && std::is_aggregate_v<redlock::lock_options>);
static_assert(std::is_aggregate_v<redlock::fence_options> &&
              std::is_aggregate_v<redlock::admission_settings>);
static_assert(std::is_trivially_destructible_v<redlock::lock_options>);
static_assert(std::is_trivially_destructible_v<redlock::fence_options>);
static_assert(std::movable<redlock::client> && !std::copyable<redlock::client>);
static_assert(std::movable<redlock::lease> && !std::copyable<redlock::lease>);
static_assert(std::default_initializable<redlock::lease> && std::is_nothrow_destructible_v<redlock::lease>);
static_assert(std::copyable<redlock::mutex> && std::copyable<redlock::fenced_mutex>);
// Kinds are siblings.
static_assert(!std::convertible_to<redlock::fenced_mutex, redlock::mutex>);
static_assert(!std::convertible_to<redlock::mutex, redlock::fenced_mutex>);
static_assert(!std::constructible_from<redlock::mutex, redlock::fenced_mutex>);
static_assert(!std::is_assignable_v<redlock::mutex&, redlock::fenced_mutex>);
static_assert(redlock::timed_acquirable<redlock::mutex> && redlock::timed_acquirable<redlock::fenced_mutex>);

namespace {

/// One signature for every token.
template <class Lock>
concept completes_with_code_and_lease =
    asio::completion_token_for<void (*)(error_code, redlock::lease), void(error_code, redlock::lease)> &&
    requires(Lock& lock, void (*handler)(error_code, redlock::lease)) {
        lock.acquire(handler);
        lock.try_acquire(handler);
        lock.acquire_for(1s, handler);
        lock.acquire_until(std::chrono::steady_clock::now(), handler);
        {
            lock.acquire(asio::use_awaitable)
        } -> std::same_as<asio::awaitable<redlock::lease>>;
        {
            lock.acquire(redlock::with_diagnostics(asio::use_awaitable))
        } -> std::same_as<asio::awaitable<redlock::lease>>;
        {
            lock.acquire(asio::use_future)
        } -> std::same_as<std::future<redlock::lease>>;
    };
static_assert(completes_with_code_and_lease<redlock::mutex>);
static_assert(completes_with_code_and_lease<redlock::fenced_mutex>);

redlock::config everything()
{
    return {.nodes = {"redis://10.0.0.1:6379", "valkey://10.0.0.2", "unix:///run/redis.sock"},
            .node_timeout = 100ms,
            .username = "locker",
            .password = "secret",
            .client_name = "program",
            .key_prefix = "app:",
            .tls = {.ca_file = {},
                    .ca_dir = {},
                    .cert_file = {},
                    .key_file = {},
                    .server_name = {},
                    .insecure = false},
            .reconnect = {.min_delay = 50ms, .max_delay = 5s, .connect_timeout = 1s},
            .health = {.response_timeout = 1s, .check_interval = 2s},
            .admission = {.longest_ttl = 11s,
                          .durable_nodes = false,
                          .allow_cluster_node = false,
                          .allow_eviction = false,
                          .trust_restarted_nodes = false,
                          .trust_promoted = false,
                          .trust_server_clocks = false,
                          .assume_fresh = true},
            .observer = nullptr};
}

constexpr redlock::lock_options options{
    .ttl = 10s,
    .slack = 1s,
    .renew = true,
    .tolerate_suspect = false,
    .max_hold = 1h,
    .progress_within = 10min,
    .node_timeout = 500ms,
    .retry = {.min_delay = 2ms, .max_delay = 200ms, .outage_patience = 5s},
    .handover = {.batch = 64, .period = 250ms}};

asio::awaitable<void> charge()
{
    co_return;
}
asio::awaitable<void> long_job(redlock::lease&)
{
    co_return;
}

/// The program on the contract's page.
asio::awaitable<void> book(redlock::client& locks)
{
    redlock::mutex seat{locks, "seat:42", {.ttl = 10s}};

    redlock::lease lease = co_await seat.acquire();
    co_await charge();
    co_await lease.release();

    error_code ec;
    auto quick = co_await seat.try_acquire(asio::redirect_error(asio::use_awaitable, ec));
    if (ec == redlock::errc::contended)
        co_return;
    co_await quick.release();

    co_await redlock::with_lock(
        seat, [](redlock::lease& held) -> asio::awaitable<void> { co_await long_job(held); });
}

asio::awaitable<void> every_member_of_a_lease(redlock::lease held)
{
    static_assert(std::same_as<decltype(held.valid()), bool>);
    static_assert(std::same_as<decltype(held.empty()), bool>);
    static_assert(std::same_as<decltype(held.remaining()), std::chrono::nanoseconds>);
    static_assert(std::same_as<decltype(held.expires_at()), std::chrono::steady_clock::time_point>);
    static_assert(std::same_as<decltype(held.state()), redlock::lease_state>);
    static_assert(std::same_as<decltype(held.resource()), std::string_view>);
    static_assert(std::same_as<decltype(held.nonce()), std::string_view>);
    static_assert(std::same_as<decltype(held.votes()), unsigned>);
    static_assert(std::same_as<decltype(held.attempts()), unsigned>);
    static_assert(std::same_as<decltype(held.waited()), std::chrono::nanoseconds>);
    static_assert(std::same_as<decltype(held.fencing_token()), std::uint64_t>);
    held.progress();
    co_await held.extend();
    auto const [extended] = co_await held.extend(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(!extended);
    co_await held.release();
    auto const [ec, end] = co_await held.ended(asio::as_tuple(asio::use_awaitable));
    BOOST_TEST(!ec);
    BOOST_TEST((end == redlock::lease_end::released));
    held.detach();
}

struct contract_fixture {
    asio::io_context context;
    world servers{context};
    redlock::client locks = servers.make_client();
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(api_contract, contract_fixture)

BOOST_AUTO_TEST_CASE(printed_program_runs)
{
    servers.run(book(locks));
    BOOST_TEST(locks.node_table().size() == 3U);
    servers.run(locks.shutdown(asio::use_awaitable));
}

BOOST_AUTO_TEST_CASE(every_completion_token_compiles_and_completes)
{
    redlock::mutex plain(locks, "plain", options);
    redlock::fenced_mutex fenced(locks, "fenced", options, {.fence_ttl = 48h});
    auto const with_every_token = [&](auto& lock) -> asio::awaitable<void> {
        redlock::lease one = co_await lock.acquire();
        co_await one.release();
        one = co_await lock.acquire(asio::deferred);
        co_await one.release(asio::deferred);
        one = co_await lock.try_acquire(asio::use_awaitable);
        co_await one.release(asio::use_awaitable);
        co_await every_member_of_a_lease(co_await lock.acquire_for(1s));
        co_await every_member_of_a_lease(co_await lock.acquire_until(std::chrono::steady_clock::now() + 1h));
        auto [ec, held] = co_await lock.acquire(asio::as_tuple(asio::use_awaitable));
        BOOST_TEST(!ec);
        BOOST_TEST(held.valid());
        BOOST_TEST((held.fencing_token() != 0) == (std::same_as<decltype(lock), redlock::fenced_mutex&>));
        held = {};
        asio::cancellation_signal stop;
        error_code redirected = redlock::errc::too_slow;
        auto token = asio::bind_cancellation_slot(
            stop.slot(),
            asio::bind_executor(locks.get_executor(), asio::redirect_error(asio::use_awaitable, redirected)));
        redlock::lease last = co_await lock.acquire(token);
        BOOST_TEST(!redirected);
        BOOST_TEST(lock.name().empty() == false);
        BOOST_TEST(lock.waiting() == 0U);
        BOOST_TEST((lock.options().ttl == 10s));
        BOOST_TEST((lock.get_executor() == locks.get_executor()));
        static_assert(std::same_as<decltype(lock.last_attempt()), std::vector<redlock::node_outcome>>);
        static_assert(std::same_as<decltype(lock.explain(ec)), redlock::lock_error>);
        redlock::inspection const seen = co_await lock.inspect();
        BOOST_TEST(seen.held());
        BOOST_TEST(seen.ours);
    };
    servers.run(with_every_token(plain));
    servers.run(with_every_token(fenced));
    std::future<redlock::lease> later = plain.acquire(asio::use_future);
    servers.run_until([&] { return later.wait_for(0s) == std::future_status::ready; });
    BOOST_TEST(later.get().valid());
}

BOOST_AUTO_TEST_CASE(every_option_can_be_named)
{
    redlock::client configured(context.get_executor(), everything());
    redlock::mutex const lock(configured, "lock", options);
    BOOST_TEST((lock.options() == options));
    BOOST_CHECK_THROW(redlock::client(context, redlock::config{}), redlock::lock_error);
    BOOST_CHECK_THROW(redlock::fenced_mutex(configured, "lock", options, {.fence_ttl = 1s}),
                      redlock::lock_error);
}

BOOST_AUTO_TEST_CASE(every_error_has_category_of_the_library)
{
    using enum redlock::errc;
    for (redlock::errc const e : {contended, timed_out, no_quorum, too_slow, lease_lost, released,
                                  misconfigured, shut_down, empty_lease, no_randomness, forked}) {
        error_code const ec = e;
        BOOST_TEST((ec.category() == redlock::error_category()));
        BOOST_TEST(!ec.message().empty());
    }
    redlock::node_outcome const row{};
    static_assert(std::same_as<decltype(row.node), std::string>);
    BOOST_TEST((row.result == redlock::node_result::pending));
    BOOST_TEST(!row.remaining.has_value());
    BOOST_TEST(!row.round_trip.has_value());
}

BOOST_AUTO_TEST_CASE(empty_lease_is_empty_and_not_valid)
{
    redlock::lease none;
    BOOST_TEST(none.empty());
    BOOST_TEST(!none.valid());
    redlock::mutex lock(locks, "lock");
    redlock::lease held = servers.run(lock.acquire(asio::use_awaitable));
    BOOST_TEST(!held.empty());
    redlock::lease const moved = std::move(held);
    BOOST_TEST(held.empty()); // NOLINT(bugprone-use-after-move): empty by contract
    BOOST_TEST(!moved.empty());
    servers.flush(0);
    servers.advance(1h);
    BOOST_TEST(!moved.empty());
}

BOOST_AUTO_TEST_CASE(nodes_with_assume_fresh_vote_at_once)
{
    for (bool const fresh : {false, true}) {
        world young(context, 3, {.admission = {.assume_fresh = fresh}});
        for (std::size_t i = 0; i != young.size(); ++i) {
            young.kill(i);
            young.restart(i);
        }
        auto settings = young.settings();
        settings.admission.assume_fresh = fresh;
        redlock::client newcomer = young.make_client(settings);
        redlock::mutex lock(newcomer, "lock");
        auto const [ec, held] = young.run(lock.try_acquire(asio::as_tuple(asio::use_awaitable)));
        BOOST_TEST(held.valid() == fresh);
    }
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include <redlock/any_lock.hpp>
#include <redlock/error.hpp>
#include <redlock/redlock.hpp>
#include <redlock/testing/world.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/errc.hpp>
#include <boost/system/error_code.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
namespace asio = boost::asio;
using boost::system::error_code;
using namespace redlock;

template <class Lock>
concept lock_of_a_kind =
    std::derived_from<Lock, any_lock> && std::convertible_to<Lock, any_lock> &&
    !std::constructible_from<Lock, any_lock> && acquirable<Lock> && timed_acquirable<Lock>;
template <class Lock>
concept can_be_inspected = requires(Lock const& lock) { lock.inspect(); };

static_assert(lock_of_a_kind<mutex> && lock_of_a_kind<fenced_mutex>);
static_assert(lock_of_a_kind<semaphore> && lock_of_a_kind<fenced_semaphore>);
static_assert(lock_of_a_kind<shared_mutex> && lock_of_a_kind<fenced_shared_mutex>);
static_assert(lock_of_a_kind<multi_mutex> && lock_of_a_kind<fenced_multi_mutex>);
static_assert(std::copyable<any_lock> && acquirable<any_lock> && timed_acquirable<any_lock>);
static_assert(std::same_as<decltype(std::declval<shared_mutex const&>().shared()), any_lock>);
static_assert(can_be_inspected<mutex> && can_be_inspected<fenced_semaphore> &&
              can_be_inspected<shared_mutex>);
static_assert(!can_be_inspected<multi_mutex> && !can_be_inspected<fenced_multi_mutex>);
static_assert(!std::constructible_from<lock_error, error_code, std::string, std::vector<node_outcome>>);
static_assert(!std::constructible_from<lease_lost_error, lock_error>);

namespace {

using maker = std::function<any_lock(client&, std::string_view)>;

/// A lock of each kind.
std::vector<maker> const& kinds()
{
    static std::vector<maker> const all{
        [](client& c, std::string_view name) { return mutex(c, name); },
        [](client& c, std::string_view name) { return fenced_mutex(c, name); },
        [](client& c, std::string_view name) { return shared_mutex(c, name); },
        [](client& c, std::string_view name) { return shared_mutex(c, name).shared(); },
        [](client& c, std::string_view name) { return fenced_shared_mutex(c, name); },
        [](client& c, std::string_view name) { return fenced_shared_mutex(c, name).shared(); },
        [](client& c, std::string_view name) { return semaphore(c, name, 2); },
        [](client& c, std::string_view name) { return fenced_semaphore(c, name, 2); },
        [](client& c, std::string_view name) { return multi_mutex(c, {name}); },
        [](client& c, std::string_view name) { return fenced_multi_mutex(c, {name}); },
    };
    return all;
}

/// Takes a lock of any kind, and is no template.
asio::awaitable<std::string> use(any_lock const lock)
{
    auto body = [&](lease& held) -> asio::awaitable<std::string> { co_return std::string(held.resource()); };
    co_return co_await with_lock(lock, body);
}

/// It goes on when it is told to.
struct told_clock {
    using duration = std::chrono::seconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<told_clock>;
    static time_point now() { return time_point(passed); }
    static inline duration passed{};
};

struct any_lock_fixture {
    asio::io_context context;
    testing::world world{context, 3, config{.admission = {.assume_fresh = true}}};
    client locks{world.make_client()};

    std::vector<any_lock> one_of_each()
    {
        std::vector<any_lock> all;
        for (std::size_t i = 0; i != kinds().size(); ++i)
            all.push_back(kinds()[i](locks, "lock" + std::to_string(i)));
        return all;
    }

    static error_code refusal(std::function<void()> const& make, std::string* text = nullptr)
    {
        try {
            make();
            return {};
        } catch (lock_error const& e) {
            if (text)
                *text = e.what();
            return e.code();
        }
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(any_locks, any_lock_fixture)

BOOST_AUTO_TEST_CASE(locks_of_all_kinds_are_used_by_one_function)
{
    for (any_lock const& lock : one_of_each()) {
        BOOST_TEST(world.run(use(lock)) == lock.name());
        BOOST_TEST(lock.waiting() == 0U);
        BOOST_TEST(lock.explain(errc::contended).resource() == lock.name());
    }
}

BOOST_AUTO_TEST_CASE(const_lock_has_all_operations)
{
    for (any_lock const& lock : one_of_each())
        world.run([&]() -> asio::awaitable<void> {
            lease held = co_await lock.acquire();
            co_await held.release();
            held = co_await lock.try_acquire();
            co_await held.release();
            held = co_await lock.acquire_for(1s);
            co_await held.release();
            held = co_await lock.acquire_until(std::chrono::steady_clock::now() + 1h);
            co_await held.release();
        }());
    semaphore const permits{locks, "permits", 3};
    shared_mutex const table{locks, "table"};
    election const scheduler{locks, "scheduler"};
    world.run([&]() -> asio::awaitable<void> {
        lease two = co_await permits.acquire(2);
        lease reader = co_await table.acquire_shared();
        leadership leads = co_await scheduler.campaign("a");
        BOOST_TEST(leads.lease().valid());
        lease again = table.adopt(std::string(32, 'a'));
        again.detach();
    }());
}

/// A deadline is a moment, whenever the operation starts.
BOOST_AUTO_TEST_CASE(deadline_of_an_operation_that_starts_later_is_kept)
{
    mutex const lock{locks, "lock"};
    lease const held = world.run(lock.acquire(asio::use_awaitable));
    std::optional<error_code> ended;
    auto waits = lock.acquire_until(told_clock::now() + 1h, asio::deferred);
    told_clock::passed = 1h;
    std::move(waits)([&](error_code ec, lease) { ended = ec; });
    world.advance(1min);
    BOOST_TEST_REQUIRE(ended.has_value());
    BOOST_TEST(*ended == errc::timed_out);
}

/// Moving copies: what was moved from is the same lock.
BOOST_AUTO_TEST_CASE(lock_that_was_moved_from_works)
{
    for (any_lock& lock : one_of_each()) {
        any_lock const other{std::move(lock)};
        BOOST_TEST(lock.name() == other.name());                   // NOLINT(bugprone-use-after-move)
        BOOST_TEST(world.run(use(lock)) == world.run(use(other))); // NOLINT(bugprone-use-after-move)
    }
    semaphore pool{locks, "pool", 2};
    semaphore const moved{std::move(pool)};
    BOOST_TEST(pool.permits() == 2U); // NOLINT(bugprone-use-after-move)
    shared_mutex table{locks, "table"};
    shared_mutex const moved_table{std::move(table)};
    BOOST_TEST(world.run(use(table.shared())) == "table"); // NOLINT(bugprone-use-after-move)
    election first{locks, "leader"};
    election const moved_election{std::move(first)};
    BOOST_TEST(first.name() == "leader"); // NOLINT(bugprone-use-after-move)
    world.run([&]() -> asio::awaitable<void> { BOOST_TEST((co_await first.campaign("a")).valid()); }());
}

BOOST_AUTO_TEST_CASE(lock_that_outlives_its_client_tells_that_it_is_gone)
{
    std::optional<client> gone{world.make_client()};
    std::vector<any_lock> all;
    for (maker const& make : kinds())
        all.push_back(make(*gone, "lock"));
    election const leader{*gone, "leader"};
    gone.reset();
    for (any_lock const& lock : all) {
        BOOST_TEST(lock.name() == "lock");
        BOOST_TEST(lock.waiting() == 0U);
        BOOST_TEST(lock.last_attempt().empty());
        BOOST_TEST(lock.explain(errc::shut_down).code() == errc::shut_down);
        std::optional<error_code> told;
        lock.acquire([&](error_code ec, lease) { told = ec; });
        world.run_until([&] { return told.has_value(); });
        BOOST_TEST(*told == errc::shut_down);
    }
    std::optional<error_code> told;
    leader.campaign("a", [&](error_code ec, leadership const&) { told = ec; });
    world.run_until([&] { return told.has_value(); });
    BOOST_TEST(*told == errc::shut_down);
}

BOOST_AUTO_TEST_CASE(odd_names_are_names)
{
    using namespace std::string_view_literals;
    std::array const names{"-"sv,
                           "--help"sv,
                           " "sv,
                           "two words"sv,
                           "line\r\nbreak"sv,
                           "\0"sv,
                           "a\0b"sv,
                           "{"sv,
                           "{}"sv,
                           "}{"sv,
                           "*"sv,
                           "Zürich ✓"sv,
                           "\xff\xfe"sv,
                           "\"'\\"sv,
                           "redis://a"sv,
                           ":redlock-fence:still"sv};
    std::string const longest(512, 'n');
    for (maker const& make : kinds()) {
        for (std::string_view const name : names) {
            any_lock const lock = make(locks, name);
            BOOST_TEST(lock.name() == name);
            BOOST_TEST(world.run(use(lock)) == name);
        }
        BOOST_TEST(world.run(use(make(locks, longest))) == longest);
    }
}

BOOST_AUTO_TEST_CASE(refused_names_are_told_with_the_reason)
{
    std::string const huge(512UL * 1024 * 1024, 'n');
    for (maker const& make : kinds()) {
        std::string text;
        BOOST_TEST(refusal([&] { make(locks, ""); }, &text) == errc::misconfigured);
        BOOST_TEST(text.find("name is empty") != text.npos, text);
        BOOST_TEST(refusal([&] { make(locks, std::string(513, 'n')); }, &text) == errc::misconfigured);
        BOOST_TEST(text.find("513 bytes, more than 512") != text.npos, text);
        BOOST_TEST(refusal([&] { make(locks, huge); }, &text) == errc::misconfigured);
        BOOST_TEST(text.find("536870912 bytes, more than 512") != text.npos, text.substr(0, 1000));
        BOOST_TEST(text.size() < 1000U);
        BOOST_TEST(refusal([&] { make(locks, "seat:redlock-fence"); }, &text) == errc::misconfigured);
        BOOST_TEST(text.find("redlock-fence") != text.npos, text);
    }
    BOOST_TEST(refusal([&] { election(locks, ""); }) == errc::misconfigured);
    BOOST_TEST(refusal([&] { multi_mutex(locks, {}); }) == errc::misconfigured);
    BOOST_TEST(refusal([&] { multi_mutex(locks, {"a", ""}); }) == errc::misconfigured);
}

BOOST_AUTO_TEST_CASE(names_of_a_set_come_in_braces_or_in_a_list)
{
    std::vector<std::string> const list{"b", "a", "b"};
    std::string const b = "b";
    for (multi_mutex const& both : {multi_mutex{locks, list}, multi_mutex{locks, {b, "a", "b"}}}) {
        BOOST_TEST(both.names().size() == 2U);
        BOOST_TEST(both.names()[0] == "a");
        BOOST_TEST(both.names()[1] == "b");
    }
    BOOST_TEST((fenced_multi_mutex{locks, {"a"}}.names().size()) == 1U);
}

BOOST_AUTO_TEST_CASE(codes_equal_the_conditions_of_the_standard)
{
    BOOST_TEST((error_code(errc::timed_out) == std::errc::timed_out));
    BOOST_TEST((std::error_code(error_code(errc::timed_out)) == std::errc::timed_out));
    BOOST_TEST((error_code(errc::timed_out) == boost::system::errc::timed_out));
    BOOST_TEST((error_code(errc::timed_out) == errc::timed_out));
    for (errc const other : {errc::contended, errc::no_quorum, errc::lease_lost, errc::shut_down})
        BOOST_TEST((error_code(other) != std::errc::timed_out), other);

    world.hold("seat");
    mutex const seat{locks, "seat"};
    std::optional<error_code> told;
    seat.acquire_for(1s, [&](error_code ec, lease) { told = ec; });
    world.run_until([&] { return told.has_value(); });
    BOOST_TEST((*told == std::errc::timed_out));
    told.reset();
    asio::cancellation_signal stop;
    seat.acquire(asio::bind_cancellation_slot(stop.slot(), [&](error_code ec, lease) { told = ec; }));
    world.advance(1s);
    stop.emit(asio::cancellation_type::terminal);
    world.run_until([&] { return told.has_value(); });
    BOOST_TEST((*told == std::errc::operation_canceled));
}

BOOST_AUTO_TEST_CASE(values_of_enumerations_are_written_by_name)
{
    BOOST_TEST(to_string(errc::wrong_mode) == "wrong_mode");
    BOOST_TEST(to_string(errc{}) == "unknown");
    error_code const ec = errc::contended;
    BOOST_TEST(ec == errc::contended);
    std::ostringstream all;
    all << errc::contended << ' ' << loss_cause::expired << ' ' << lock_status::held << ' '
        << lease_state::suspect << ' ' << log_level::warning << ' ' << node_result::granted << ' '
        << holder_kind::readers << ' ' << node_state::ready << ' ' << server_error::oom << ' '
        << lease_event::kind::lost << ' ' << warning_event::kind::quarantine;
    BOOST_TEST(all.str() ==
               "contended expired held suspect warning granted readers ready OOM lost quarantine");
}

BOOST_AUTO_TEST_SUITE_END()

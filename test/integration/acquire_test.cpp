// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <boost/test/data/test_case.hpp>

using namespace redlock;
using namespace redlock::test;

namespace {

std::size_t const sizes[] = {1, 3, 5};

/// After its first refusal the next attempt comes later than any limit used here.
lock_options asks_once()
{
    auto options = long_lived;
    options.retry.min_delay = 20h;
    options.retry.max_delay = 20h;
    return options;
}

void check_row(node_outcome const& row, std::string const& url, node_result result)
{
    BOOST_TEST(row.node == url);
    BOOST_TEST(to_string(row.result) == to_string(result));
    BOOST_TEST(row.round_trip.has_value());
}

} // namespace

BOOST_AUTO_TEST_SUITE(acquire)

// rules A1, A2 and R1
BOOST_DATA_TEST_CASE(acquire_sets_key_on_every_node_and_release_deletes_it, sizes, count)
{
    cluster nodes(count);
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock("seat:42", {.ttl = 20s, .slack = 5s});
        lease held = co_await lock.acquire();
        BOOST_TEST(held.valid());
        BOOST_TEST(to_string(held.state()) == "held");
        BOOST_TEST(held.resource() == "seat:42");
        BOOST_TEST(held.attempts() == 1U);
        BOOST_TEST(held.waited().count() > 0);
        BOOST_TEST(held.nonce().size() >= 32U); // 16 random bytes in hexadecimal

        co_await until([&] { return held.votes() == count; });
        BOOST_TEST(nodes.holders("seat:42", held.nonce()) == count);
        for (std::size_t i = 0; i != count; ++i) {
            BOOST_TEST(nodes.ask(i).pttl("seat:42") <= 25'000);
            BOOST_TEST(nodes.ask(i).pttl("seat:42") > held.remaining() / 1ms);
        }

        co_await held.release();
        BOOST_TEST(!held.valid());
        BOOST_TEST(to_string(held.state()) == "released");
        co_await until([&] { return nodes.no_keys(); });
    });
}

BOOST_DATA_TEST_CASE(lock_held_by_another_client_is_contended_and_owner_named, sizes, count)
{
    cluster nodes(count);
    asio::io_context& context = nodes.context;
    client other(context.get_executor(), nodes.settings);
    nodes.run([&]() -> asio::awaitable<void> {
        mutex ours = nodes.lock();
        mutex theirs(other, "lock", long_lived);
        lease held = co_await ours.acquire();
        co_await until([&] { return held.votes() == count; });

        error_code ec;
        lease refused = co_await theirs.try_acquire(asio::redirect_error(asio::use_awaitable, ec));
        BOOST_TEST(ec == errc::contended);
        BOOST_TEST(refused.empty());
        auto const table = theirs.last_attempt();
        BOOST_REQUIRE(table.size() == count);
        auto const denied = std::ranges::count(table, node_result::held_by_other, &node_outcome::result);
        BOOST_TEST(static_cast<std::size_t>(denied) == count / 2 + 1);
        BOOST_TEST(nodes.holders("lock", held.nonce()) == count);

        co_await held.release();
        lease taken = co_await theirs.acquire();
        BOOST_TEST(taken.valid());
        BOOST_TEST(taken.nonce() != held.nonce());
    });
}

// rule A3
BOOST_AUTO_TEST_CASE(every_acquire_has_its_own_nonce)
{
    cluster nodes(1);
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock();
        std::vector<std::string> seen;
        for (int i = 0; i != 600; ++i) { // more than one page of random bytes
            lease held = co_await lock.acquire();
            seen.emplace_back(held.nonce());
            co_await held.release();
        }
        std::ranges::sort(seen);
        BOOST_TEST((std::ranges::adjacent_find(seen) == seen.end()));
    });
}

// rule A4
BOOST_AUTO_TEST_CASE(last_attempt_lists_answer_of_each_node)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        nodes.ask(0).command({"SET", "lock", "stranger"});
        nodes.ask(1).command({"SADD", "lock", "no string"});
        mutex lock = nodes.lock();
        error_code const ec = co_await error_of(lock.try_acquire(asio::use_awaitable));
        BOOST_TEST(ec == errc::contended);
        auto const table = lock.last_attempt();
        BOOST_REQUIRE(table.size() == 3U);
        check_row(table[0], nodes.proxy(0).url(), node_result::held_by_other);
        // SET NX asks whether the key exists, not what it is.
        check_row(table[1], nodes.proxy(1).url(), node_result::held_by_other);
        co_await until([&] { return !nodes.ask(2).exists("lock"); });
        BOOST_TEST(nodes.ask(0).get("lock").value() == "stranger");
        BOOST_TEST(nodes.ask(1).exists("lock"));
    });
}

BOOST_AUTO_TEST_CASE(acquire_exception_lists_all_outcomes)
{
    cluster nodes(1);
    nodes.run([&]() -> asio::awaitable<void> {
        nodes.ask(0).command({"SET", "lock", "stranger"});
        mutex lock = nodes.lock();
        std::string said;
        std::vector<node_outcome> table;
        error_code code;
        try {
            (void)co_await lock.try_acquire();
        } catch (lock_error const& e) {
            said = e.what();
            table = e.outcomes();
            code = e.code();
        }
        BOOST_TEST(code == errc::contended);
        BOOST_TEST(said ==
                   "lock \"lock\": contended: 0 of 1 granted; " + nodes.proxy(0).url() + " held by another");
        BOOST_REQUIRE(table.size() == 1U);
        check_row(table[0], nodes.proxy(0).url(), node_result::held_by_other);
    });
}

BOOST_AUTO_TEST_CASE(summary_lists_every_node)
{
    using enum node_result;
    auto const row = [](std::string name, node_result said) {
        node_outcome outcome;
        outcome.node = std::move(name);
        outcome.result = said;
        return outcome;
    };
    BOOST_TEST(to_string({row("a", granted), row("b", granted)}) == "2 of 2 granted");
    BOOST_TEST(to_string({row("a", granted), row("b", granted), row("c", pending)}) ==
               "2 of 3 granted; 1 still pending");
    BOOST_TEST(to_string({row("a", unreachable), row("b", unreachable), row("c", pending)}) ==
               "0 of 3 granted; a, b unreachable; 1 still pending");
    BOOST_TEST(to_string({row("a", pending), row("b", held_by_other), row("c", pending)}) ==
               "0 of 3 granted; b held by another; 2 still pending");
}

BOOST_AUTO_TEST_CASE(summary_groups_nodes_with_the_same_error_text)
{
    auto const refused = [](std::string name, std::string words) {
        return node_outcome{.node = std::move(name),
                            .result = node_result::refused,
                            .error = server_error::noauth,
                            .detail = std::move(words),
                            .remaining = {},
                            .round_trip = {}};
    };
    BOOST_TEST(to_string({refused("a", "NOAUTH no"), refused("b", "NOPERM no"), refused("c", "NOAUTH no")}) ==
               "0 of 3 granted; a, c refused (NOAUTH no); b refused (NOPERM no)");
}

BOOST_AUTO_TEST_CASE(acquire_for_that_times_out_names_attempts_and_outcomes)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        nodes.everywhere({"SET", "lock", "stranger"});
        lease warm = co_await nodes.lock("warm").acquire(asio::use_awaitable);
        mutex lock = nodes.lock("lock", asks_once());
        BOOST_TEST(to_string(lock.last_attempt()) == "no node was asked");
        std::string said;
        error_code code;
        try {
            (void)co_await lock.acquire_for(2s);
        } catch (lock_error const& e) {
            said = e.what();
            code = e.code();
        }
        BOOST_TEST(code == errc::timed_out);
        BOOST_TEST(said.starts_with("lock \"lock\": timed out after "), said);
        BOOST_TEST(contains(said, " attempt"), said);
        BOOST_TEST(contains(said, "last: contended: 0 of 3 granted; "), said);
        BOOST_TEST(contains(said, " held by another"), said);
    });
}

BOOST_AUTO_TEST_CASE(acquire_for_without_time_makes_one_attempt)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock();
        lease held = co_await lock.acquire_for(0s);
        BOOST_TEST(held.valid());
        co_await held.release();
        lease again = co_await lock.acquire_for(-1s);
        BOOST_TEST(again.valid());
        co_await again.release();

        nodes.ask(0).command({"SET", "lock", "stranger"});
        nodes.ask(1).command({"SET", "lock", "stranger"});
        BOOST_TEST(co_await error_of(lock.acquire_for(0s, asio::use_awaitable)) == errc::timed_out);
        BOOST_TEST(nodes.told->count(errc::contended) == 1);
    });
}

BOOST_AUTO_TEST_CASE(acquire_until_accepts_any_clock)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock();
        lease first = co_await lock.acquire_until(std::chrono::steady_clock::now() + 1h);
        co_await first.release();
        lease second = co_await lock.acquire_until(std::chrono::system_clock::now() + 1h);
        co_await second.release();
        nodes.ask(0).command({"SET", "lock", "stranger"});
        nodes.ask(1).command({"SET", "lock", "stranger"});
        auto const past = std::chrono::steady_clock::now() - 1h;
        BOOST_TEST(co_await error_of(lock.acquire_until(past, asio::use_awaitable)) == errc::timed_out);
    });
}

BOOST_AUTO_TEST_CASE(acquire_with_largest_limits_waits)
{
    cluster nodes(1);
    nodes.ask(0).command({"SET", "lock", "stranger"});
    nodes.run([&]() -> asio::awaitable<void> {
        std::vector<error_code> ends;
        mutex lock = nodes.lock();
        auto const note = [&](error_code ec, lease const&) { ends.push_back(ec); };
        lock.acquire_for(std::chrono::days::max(), note);
        lock.acquire_for(std::chrono::nanoseconds::max(), note);
        lock.acquire_until(std::chrono::steady_clock::time_point::max(), note);
        lock.acquire_for(std::chrono::milliseconds::max(), note);
        lock.acquire_for(std::chrono::years{300}, note);
        lock.acquire_until(std::chrono::system_clock::time_point::max(), note);
        lock.acquire_until(std::chrono::sys_days::max(), note);
        co_await until([&] { return nodes.told->count(errc::contended) > 1; });
        BOOST_TEST(ends.empty());
        auto const long_ago = std::chrono::system_clock::time_point::min();
        BOOST_TEST(co_await error_of(lock.acquire_until(long_ago)) == errc::timed_out);
        nodes.ask(0).command({"DEL", "lock"});
        co_await until([&] { return ends.size() == 7; });
        for (error_code const& end : ends)
            BOOST_TEST(!end);
    });
}

/// A limit of attempts is none of time: the pauses between attempts do not count for a try.
BOOST_AUTO_TEST_CASE(try_acquire_waits_for_slow_nodes)
{
    cluster nodes(3);
    for (auto const& proxy : nodes.proxies)
        proxy->hold(direction::to_client);
    nodes.run([&]() -> asio::awaitable<void> {
        lock_options options = long_lived;
        options.retry = {.min_delay = 1ms, .max_delay = 1ms};
        std::optional<error_code> tried;
        lease held;
        nodes.lock("lock", options).try_acquire([&](error_code ec, lease got) {
            tried = ec;
            held = std::move(got);
        });
        mutex other = nodes.lock("other", asks_once());
        BOOST_TEST(co_await error_of(other.acquire_for(50ms)) == errc::timed_out);
        BOOST_TEST(!tried);
        for (auto const& proxy : nodes.proxies)
            proxy->release();
        co_await until([&] { return tried.has_value(); });
        BOOST_TEST(*tried == error_code{});
        BOOST_TEST(held.valid());
    });
}

BOOST_AUTO_TEST_CASE(waiter_gets_lock_and_knows_number_of_attempts)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        nodes.everywhere({"SET", "lock", "stranger"});
        std::optional<lease> got;
        mutex lock = nodes.lock();
        lock.acquire([&](error_code, lease granted) { got = std::move(granted); });
        co_await until([&] { return nodes.told->count(errc::contended) >= 3; });
        nodes.everywhere({"DEL", "lock"});
        co_await until([&] { return got.has_value(); });
        BOOST_TEST(got->valid());
        BOOST_TEST(got->attempts() == nodes.told->attempts.size());
        BOOST_TEST(got->attempts() > 3U);
        co_await got->release();
    });
}

// rule H4
BOOST_AUTO_TEST_CASE(extend_sets_full_expiry_again)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock("lock", {.ttl = 60s, .slack = 10s, .renew = false});
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3; });
        nodes.everywhere({"PEXPIRE", "lock", "30000"});
        auto const before = held.expires_at();
        co_await held.extend();
        BOOST_TEST((held.expires_at() > before));
        auto const extended = [&](probe& node) { return node.pttl("lock") > 30'000; };
        co_await until([&] { return std::ranges::all_of(nodes.probes, extended); });
        co_await held.release();
    });
}

// rule V3
BOOST_AUTO_TEST_CASE(lease_with_renew_off_expires_and_others_get_lock)
{
    cluster nodes(3);
    client other(nodes.context.get_executor(), nodes.settings);
    nodes.run([&]() -> asio::awaitable<void> {
        lock_options brief{.ttl = 1s, .slack = 0ms, .renew = false, .node_timeout = 900ms};
        mutex lock = nodes.lock("lock", brief);
        lease held = co_await lock.acquire();
        mutex rival(other, "lock", long_lived);
        lease taken = co_await rival.acquire();
        BOOST_TEST(!held.valid());
        BOOST_TEST(to_string(held.state()) == "lost");
        BOOST_TEST(co_await error_of(held.release(asio::use_awaitable)) == errc::lease_lost);
        BOOST_TEST(taken.valid());
        co_await until([&] { return nodes.holders("lock", taken.nonce()) >= 2; });
    });
}

// rule H7
BOOST_AUTO_TEST_CASE(max_hold_ends_lease_that_renews)
{
    cluster nodes(1);
    nodes.run([&]() -> asio::awaitable<void> {
        mutex lock = nodes.lock("lock", {.ttl = 5s, .max_hold = 1s, .node_timeout = 500ms});
        lease held = co_await lock.acquire();
        BOOST_TEST((held.remaining() <= 1s));
        BOOST_TEST(to_string(held.cause()) == "none");
        BOOST_TEST(co_await held.ended() == lease_end::lost);
        BOOST_TEST(!held.valid());
        BOOST_TEST(to_string(held.cause()) == "max_hold");
    });
}

BOOST_AUTO_TEST_SUITE_END()

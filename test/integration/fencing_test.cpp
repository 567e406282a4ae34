// SPDX-License-Identifier: BSL-1.0
#include "../examples/fenced_register.hpp"
#include "cluster.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

fenced_mutex fenced(cluster& nodes, lock_options options = long_lived)
{
    return {*nodes.locks, "lock", options};
}

unsigned long long fence_on(cluster& nodes, std::size_t node)
{
    return std::stoull(nodes.ask(node).get(fence_key).value_or("0"));
}

/// Waits until every node has executed all earlier commands, and the answers have been read.
asio::awaitable<void> answers_are_read(cluster& nodes)
{
    mutex behind = nodes.lock("behind", unrenewed);
    lease const last = co_await behind.acquire();
    co_await until([&] { return last.votes() == nodes.size(); });
}

bool agree(cluster& nodes, lease const& held)
{
    for (std::size_t i = 0; i != nodes.size(); ++i)
        if (fence_on(nodes, i) != held.fencing_token() >> 10U)
            return false;
    return true;
}

/// A counter ahead of the clocks, by less than nodes let a proposal be (rule F3).
unsigned long long a_minute_ahead()
{
    auto const then = std::chrono::system_clock::now() + 1min;
    return static_cast<unsigned long long>(then.time_since_epoch() / 1ms);
}

/// Returns a number as large as real ones.
std::uint64_t token_number(std::uint64_t number)
{
    return (std::uint64_t{1'800'000'000'000} + number) << 10U;
}

} // namespace

BOOST_AUTO_TEST_SUITE(fencing)

// rule F1
BOOST_AUTO_TEST_CASE(each_lease_has_a_larger_token_than_the_last)
{
    cluster nodes(3);
    client other(nodes.context.get_executor(), nodes.settings);
    fenced_mutex theirs(other, "lock", long_lived);
    nodes.run([&]() -> asio::awaitable<void> {
        std::uint64_t last = 0;
        for (int i = 0; i != 20; ++i) {
            fenced_mutex ours = fenced(nodes);
            lease held = co_await (i % 2 == 0 ? ours : theirs).acquire();
            BOOST_TEST(held.fencing_token() > last);
            last = held.fencing_token();
            BOOST_TEST(last < (std::uint64_t{1} << 53));
            co_await held.extend();
            BOOST_TEST(held.fencing_token() == last);
            co_await held.release();
        }
    });
}

// rules K1 and F1
BOOST_AUTO_TEST_CASE(plain_and_fenced_locks_exclude_each_other)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        mutex plain = nodes.lock();
        fenced_mutex guarded = fenced(nodes);
        lease held = co_await plain.acquire();
        BOOST_TEST(held.fencing_token() == 0U);
        BOOST_TEST(co_await error_of(guarded.try_acquire()) == make_error_code(errc::contended));
        co_await held.release();
        co_await until([&] { return nodes.free_everywhere(); });
        held = co_await guarded.acquire();
        BOOST_TEST(co_await error_of(plain.try_acquire()) == make_error_code(errc::contended));
    });
}

// rule F1
BOOST_AUTO_TEST_CASE(denied_fenced_vote_tells_remaining_time_of_holder)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        nodes.everywhere({"SET", "lock", "stranger", "PX", "600000"});
        fenced_mutex lock = fenced(nodes);
        BOOST_TEST(co_await error_of(lock.try_acquire()) == make_error_code(errc::contended));
        unsigned told = 0;
        for (node_outcome const& row : lock.last_attempt())
            if (row.remaining) {
                ++told;
                BOOST_TEST((*row.remaining > 0ms && *row.remaining <= 11min));
            }
        BOOST_TEST(told >= 2U);
    });
}

/// If a counter is ahead of the clocks, the other ones are raised once; afterwards all agree.
// rule F2
BOOST_AUTO_TEST_CASE(fence_counters_that_differ_are_written_back)
{
    auto const ahead = a_minute_ahead();
    cluster nodes(3);
    for (std::size_t i = 0; i != 2; ++i) // every majority contains one of them
        nodes.ask(i).command({"SET", fence_key, std::to_string(ahead + i)});
    nodes.run([&]() -> asio::awaitable<void> {
        fenced_mutex lock = fenced(nodes);
        lease held = co_await lock.acquire();
        BOOST_TEST(held.fencing_token() > ahead << 10U);
        unsigned agreeing = 0;
        for (std::size_t i = 0; i != 3; ++i)
            agreeing += fence_on(nodes, i) == held.fencing_token() >> 10U ? 1 : 0;
        BOOST_TEST(agreeing >= 2U);
        std::uint64_t const first = held.fencing_token();
        co_await held.release();
        co_await answers_are_read(
            nodes); // a vote that the first majority did not wait for may have counted on
        held = co_await nodes.held_everywhere(lock);
        BOOST_TEST(held.fencing_token() > first);
        BOOST_TEST(agree(nodes, held));
    });
}

/// The reply to a vote that nobody waited for is read late: the next token is not larger than that node's counter, which
/// so has no vote in the lease. It cannot be told from one where somebody came after us (rule F4).
BOOST_AUTO_TEST_CASE(fence_counter_read_too_late_costs_one_vote_until_next_lease)
{
    cluster nodes(3);
    nodes.warm_up();
    auto const ahead = a_minute_ahead();
    for (std::size_t i = 0; i != 2; ++i)
        nodes.ask(i).command({"SET", fence_key, std::to_string(ahead + i)});
    nodes.run([&]() -> asio::awaitable<void> {
        co_await (co_await nodes.held_everywhere(fenced_mutex(*nodes.locks, "warm", long_lived))).release();
        co_await answers_are_read(nodes);
        fenced_mutex lock = fenced(nodes, unrenewed);
        nodes.proxy(1).hold(direction::to_client);
        lease held = co_await lock.acquire();
        co_await until([&] { return fence_on(nodes, 1) == ahead + 2; });
        BOOST_TEST((held.fencing_token() >> 10U) == ahead + 1);
        co_await held.release();
        co_await until([&] { return nodes.free_everywhere(); });
        held = co_await lock.acquire();
        nodes.proxy(1).release();
        co_await held.extend();
        co_await answers_are_read(nodes);
        BOOST_TEST(held.votes() == 2U);
        BOOST_TEST(fence_on(nodes, 1) > (held.fencing_token() >> 10U));
        co_await held.release();
        co_await answers_are_read(nodes);
        held = co_await nodes.held_everywhere(lock);
        BOOST_TEST(agree(nodes, held));
    });
}

BOOST_AUTO_TEST_CASE(fence_counter_beyond_its_limit_grants_nothing)
{
    cluster nodes(1);
    nodes.run([&]() -> asio::awaitable<void> {
        for (auto const* const counter : {"8796093022207", "9007199254740993", "9223372036854775807"}) {
            nodes.ask(0).command({"SET", fence_key, counter});
            fenced_mutex lock = fenced(nodes);
            BOOST_TEST(co_await error_of(lock.try_acquire()) == make_error_code(errc::no_quorum));
            node_outcome const row = lock.last_attempt().at(0);
            BOOST_TEST(to_string(row.result) == "refused");
            BOOST_TEST(contains(row.detail, "no number that can be counted on from: " + fence_key),
                       row.detail);
            BOOST_TEST(!nodes.ask(0).exists("lock"));
        }
        nodes.ask(0).command({"SET", fence_key, "8796093022206"});
        lease const held = co_await fenced(nodes).acquire();
        BOOST_TEST(held.fencing_token() == 8796093022207U << 10U);
    });
}

// rule F4
BOOST_AUTO_TEST_CASE(overtaken_fenced_lease_cannot_be_extended)
{
    cluster nodes(3);
    client other(nodes.context.get_executor(), nodes.settings);
    fenced_mutex theirs(other, "lock", long_lived);
    nodes.run([&]() -> asio::awaitable<void> {
        // Renewed, it hears that its keys are gone, and sets them again.
        lease stale = co_await nodes.held_everywhere(fenced(nodes, unrenewed));
        co_await answers_are_read(nodes); // no extension is still on its way
        nodes.everywhere({"DEL", "lock"});
        lease next = co_await theirs.acquire();
        BOOST_TEST(next.fencing_token() > stale.fencing_token());
        co_await next.release();
        co_await until([&] { return nodes.free_everywhere(); });
        // The keys are free again, but somebody was granted in between.
        BOOST_TEST(co_await error_of(stale.extend()) == make_error_code(errc::lease_lost));
        BOOST_TEST(!stale.valid());
        stale = {}; // takes back what it set where nobody else had been
        co_await until([&] { return nodes.free_everywhere(); });
    });
}

// rule F5
BOOST_AUTO_TEST_CASE(extension_of_fenced_lease_repairs_lost_key)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await nodes.held_everywhere(fenced(nodes));
        nodes.ask(0).command({"DEL", "lock"});
        co_await held.extend();
        co_await until([&] { return nodes.holders("lock", held.nonce()) == 3; });
        co_await until([&] { return held.votes() == 3; });
        for (std::size_t i = 0; i != 2; ++i) // a majority, with its fences
            nodes.ask(i).command({"DEL", "lock", fence_key});
        co_await held.extend();
        co_await until([&] { return nodes.holders("lock", held.nonce()) == 3; });
        co_await held.release();
    });
}

// rule F5
BOOST_AUTO_TEST_CASE(extension_does_not_repair_node_with_larger_fence)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await nodes.held_everywhere(fenced(nodes));
        auto const later = std::to_string((held.fencing_token() >> 10U) + 1);
        nodes.ask(0).command({"SET", fence_key, later});
        nodes.ask(0).command({"DEL", "lock"});
        co_await held.extend();
        co_await until([&] { return held.votes() == 2; });
        BOOST_TEST(!nodes.ask(0).exists("lock"));
        BOOST_TEST(held.valid());
    });
}

// rule F1
BOOST_AUTO_TEST_CASE(fenced_vote_with_forgotten_script_is_resent_once)
{
    cluster nodes(1);
    nodes.run([&]() -> asio::awaitable<void> {
        fenced_mutex lock = fenced(nodes);
        for (int i = 0; i != 2; ++i) { // from the second on by its hash
            lease held = co_await lock.acquire();
            co_await held.release();
        }
        nodes.ask(0).command({"SCRIPT", "FLUSH"});
        auto const texts = nodes.ask(0).command_calls("eval");
        lease held = co_await lock.acquire();
        BOOST_TEST(nodes.ask(0).command_calls("eval") == texts + 1);
        BOOST_TEST(held.attempts() == 1U);
    });
}

/// A server forgets scripts also by itself. Behind the release the extension would set the key again (rules F5, R1).
// rule R1
BOOST_AUTO_TEST_CASE(extension_with_forgotten_script_is_not_resent_after_release)
{
    cluster nodes(1);
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await fenced(nodes).acquire();
        co_await held.extend(); // from then on by its hash
        nodes.ask(0).command({"SCRIPT", "FLUSH"});
        std::optional<error_code> extended;
        held.extend([&](error_code ec) { extended = ec; });
        co_await held.release();
        BOOST_TEST((extended == make_error_code(errc::released)));
        mutex behind = nodes.lock("behind"); // all extensions have been executed once this is
        lease const last = co_await behind.acquire();
        BOOST_TEST(!nodes.ask(0).exists("lock"));
    });
}

BOOST_AUTO_TEST_CASE(released_fenced_lock_leaves_only_expiring_fence)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await nodes.held_everywhere(fenced(nodes));
        co_await held.release();
        co_await until([&] { return nodes.free_everywhere(); });
        for (std::size_t i = 0; i != 3; ++i) {
            auto const left = std::chrono::milliseconds(nodes.ask(i).pttl(fence_key));
            BOOST_TEST((left > 23h && left <= 24h));
        }
    });
}

BOOST_AUTO_TEST_CASE(fenced_scripts_guard_a_value_in_redis)
{
    cluster nodes(1);
    auto const call = [&](std::string_view script, std::vector<std::string> const& arguments) {
        std::vector<std::string> words{"EVAL", std::string(script), "2", "balance", "balance:fence"};
        words.insert(words.end(), arguments.begin(), arguments.end());
        return nodes.ask(0).command(words);
    };
    auto const five = std::to_string(token_number(5));
    auto const six = std::to_string(token_number(6));
    BOOST_TEST(call(fenced_scripts::read, {five}) == "[1, (nil)]");
    BOOST_TEST(call(fenced_scripts::write, {five, "100"}) == "1");
    BOOST_TEST(call(fenced_scripts::read, {six}) == "[1, 100]");
    BOOST_TEST(call(fenced_scripts::write, {five, "0"}) == "0");
    BOOST_TEST(call(fenced_scripts::read, {five}) == "[0]");
    BOOST_TEST(call(fenced_scripts::write, {six, "101"}) == "1");
    BOOST_TEST(nodes.ask(0).get("balance").value_or("") == "101");
}

/// A key that is no string may not be replaced, not even in a repair.
// rule F5
BOOST_AUTO_TEST_CASE(repair_does_not_overwrite_key_of_another_type)
{
    cluster nodes(3);
    nodes.run([&]() -> asio::awaitable<void> {
        lease held = co_await nodes.held_everywhere(fenced(nodes));
        // In one step: an extension that is still on its way could repair the key between two.
        nodes.ask(0).command({"EVAL",
                              "redis.call('del', KEYS[1]) return redis.call('lpush', KEYS[1], 'theirs')", "1",
                              "lock"});
        co_await held.extend();
        co_await until([&] { return held.votes() == 2; });
        BOOST_TEST(nodes.ask(0).command({"TYPE", "lock"}) == "list");
    });
}

BOOST_AUTO_TEST_SUITE_END()

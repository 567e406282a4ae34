// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

using name_list = std::vector<std::string>;

/// The guide's order: the same for every client, whatever order the names were given in, and each name once.
name_list in_order(name_list all)
{
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
    return all;
}

/// If a later lock cannot be acquired, the earlier ones release themselves.
asio::awaitable<std::vector<lease>> acquire_all(client& locks, name_list all, std::chrono::milliseconds limit)
{
    std::vector<lease> held;
    for (std::string const& name : in_order(std::move(all))) {
        mutex lock(locks, name, long_lived);
        held.push_back(co_await lock.acquire_for(limit));
    }
    co_return held;
}

struct several_locks_fixture : cluster {
    several_locks_fixture() : cluster(3) {}

    void stranger_holds(std::string const& name, std::size_t nodes)
    {
        for (std::size_t i = 0; i != nodes; ++i)
            ask(i).command({"SET", name, "stranger"});
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(several_locks, several_locks_fixture)

BOOST_AUTO_TEST_CASE(several_locks_leave_no_key_when_one_is_not_acquired)
{
    stranger_holds("c", 2); // the third node grants its vote, which must be released
    name_list const wanted{"c", "b", "a"};
    run([&]() -> asio::awaitable<void> {
        BOOST_TEST(co_await error_of(acquire_all(*locks, wanted, 50ms)) == errc::timed_out);
        co_await until([&] { return keys_left() == 2; }); // the stranger's
        BOOST_TEST(!ask(0).exists("a"));
        BOOST_TEST(!ask(0).exists("b"));
    });
}

/// A node that lost the key of one of two has a vote for the other still, and none that would be left behind.
BOOST_AUTO_TEST_CASE(several_locks_are_held_independently_of_each_other)
{
    name_list const wanted{"a", "b"};
    run([&]() -> asio::awaitable<void> {
        std::vector<lease> held = co_await acquire_all(*locks, wanted, patience);
        co_await until([&] { return held[0].votes() == 3 && held[1].votes() == 3; });
        ask(0).command({"DEL", "a"});
        co_await held[0].extend();
        co_await held[1].extend();
        co_await until([&] { return held[0].votes() == 2 && held[1].votes() == 3; });
        BOOST_TEST(!ask(0).exists("a")); // a plain lease repairs nothing
        for (lease& each : held)
            co_await each.release();
        co_await until([&] { return no_keys(); });
    });
}

/// Clients that name them in opposite orders do not wait for each other in a circle.
BOOST_AUTO_TEST_CASE(several_locks_in_opposite_orders_do_not_deadlock)
{
    constexpr int rounds = 20;
    client others(context.get_executor(), settings);
    int inside = 0;
    int done = 0;
    auto const work = [&](client& mine, name_list wanted) -> asio::awaitable<void> {
        for (int i = 0; i != rounds; ++i) {
            std::vector<lease> held = co_await acquire_all(mine, wanted, patience);
            BOOST_TEST(++inside == 1);
            for (lease& each : held)
                co_await each.extend();
            --inside;
            for (lease& each : held)
                co_await each.release();
        }
        ++done;
    };
    auto const rethrow = [](std::exception_ptr e) {
        if (e)
            std::rethrow_exception(e);
    };
    name_list const forwards{"a", "b"};
    name_list const backwards{"b", "a", "b"};
    asio::co_spawn(context, work(*locks, forwards), rethrow);
    asio::co_spawn(context, work(others, backwards), rethrow);
    run_until([&] { return done == 2; });
    run_until([&] { return no_keys(); });
}

BOOST_AUTO_TEST_CASE(set_of_names_is_held_by_plain_keys)
{
    run([&]() -> asio::awaitable<void> {
        multi_mutex both(*locks, {"b", "a"}, long_lived);
        lease held = co_await both.acquire();
        co_await until([&] { return held.votes() == 3; });
        for (std::size_t i = 0; i != 3; ++i) {
            BOOST_TEST((ask(i).get("a") == std::string(held.nonce())));
            BOOST_TEST((ask(i).get("b") == std::string(held.nonce())));
        }
        BOOST_TEST(co_await error_of(lock("a").try_acquire()) == errc::contended);
        co_await held.extend();
        co_await held.release();
        co_await until([&] { return no_keys(); });
    });
}

BOOST_AUTO_TEST_CASE(stranger_on_a_majority_keeps_a_set_out)
{
    stranger_holds("b", 2);
    run([&]() -> asio::awaitable<void> {
        multi_mutex both(*locks, {"a", "b"}, long_lived);
        BOOST_TEST(co_await error_of(both.acquire_for(50ms)) == errc::timed_out);
        co_await until([&] { return keys_left() == 2; }); // the stranger's
        BOOST_TEST(!ask(2).exists("a"));
    });
}

/// The other holder never releases its name; the free name is taken meanwhile, and released.
BOOST_AUTO_TEST_CASE(set_that_is_taken_one_by_one_leaves_no_key)
{
    client others(context.get_executor(), settings);
    run([&]() -> asio::awaitable<void> {
        lease theirs = co_await mutex(others, "b", long_lived).acquire();
        multi_mutex both(*locks, {"a", "b"}, long_lived);
        BOOST_TEST(co_await error_of(both.acquire_for(1500ms)) ==
                   errc::timed_out); // after a second one by one
        co_await theirs.release();
        lease held = co_await both.acquire();
        co_await held.release();
        co_await until([&] { return no_keys(); });
    });
}

BOOST_AUTO_TEST_CASE(token_of_a_set_is_above_those_of_its_names)
{
    run([&]() -> asio::awaitable<void> {
        lease one = co_await fenced_mutex(*locks, "a", long_lived).acquire();
        auto const before = one.fencing_token();
        co_await one.release();
        fenced_multi_mutex both(*locks, {"a", "b"}, long_lived);
        lease held = co_await both.acquire();
        auto const set = held.fencing_token();
        BOOST_TEST(set > before);
        co_await held.release();
        lease other = co_await fenced_mutex(*locks, "b", long_lived).acquire();
        BOOST_TEST(other.fencing_token() > set);
        co_await other.release();
    });
}

BOOST_AUTO_TEST_CASE(body_runs_under_all_names)
{
    run([&]() -> asio::awaitable<void> {
        auto body = [&](lease& held) -> asio::awaitable<bool> {
            co_await until([&] { return held.votes() == 3; });
            co_return ask(0).exists("a") && ask(0).exists("b");
        };
        name_list const both{"a", "b"};
        BOOST_TEST(co_await with_lock(multi_mutex(*locks, both), body));
        co_await until([&] { return no_keys(); });
    });
}

/// With `with_lock` inside `with_lock`, an exception of the inner body leaves both.
BOOST_AUTO_TEST_CASE(nested_with_lock_releases_all_when_innermost_body_throws)
{
    run([&]() -> asio::awaitable<void> {
        bool both = false;
        auto innermost = [&](lease&) -> asio::awaitable<void> {
            co_await until([&] { return ask(0).exists("a") && ask(0).exists("b"); });
            both = true;
            throw std::runtime_error("the body's own");
        };
        auto outer = [&](lease&) -> asio::awaitable<void> { co_await with_lock(lock("b"), innermost); };
        bool thrown = false;
        try {
            co_await with_lock(lock("a"), outer);
        } catch (std::runtime_error const& e) {
            thrown = std::string(e.what()) == "the body's own";
        }
        BOOST_TEST(thrown);
        BOOST_TEST(both);
        co_await until([&] { return no_keys(); });
    });
}

BOOST_AUTO_TEST_SUITE_END()

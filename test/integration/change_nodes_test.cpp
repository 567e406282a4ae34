// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/errc.hpp>

#include <algorithm>
#include <concepts>
#include <initializer_list>
#include <thread>
#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

error_code const in_progress = make_error_code(boost::system::errc::operation_in_progress);

/// A client of the first three servers, which are as young as the fourth, but known to have forgotten nothing.
struct three_of_four_fixture {
    three_of_four_fixture()
    {
        settings = patient(list({0, 1, 2}));
        settings.observer = told;
        locks = std::make_unique<client>(context.get_executor(), settings);
    }

    std::vector<std::string> list(std::initializer_list<std::size_t> which)
    {
        std::vector<std::string> urls;
        for (std::size_t const i : which)
            urls.push_back(servers[i].url());
        return urls;
    }

    /// Starts a change that goes on while the test does.
    void begin_change(std::initializer_list<std::size_t> which)
    {
        changed.reset();
        locks->change_nodes(list(which), [this](error_code ec) { changed = ec; });
    }
    /// Without braces: g++ 12 does not compile braces in an operand of co_await.
    auto change(std::same_as<int> auto... which)
    {
        return locks->change_nodes(list({static_cast<std::size_t>(which)...}));
    }

    asio::awaitable<lease> held_by(any_lock lock, unsigned votes)
    {
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == votes; });
        co_return held;
    }

    template <class Coroutine>
    auto run(Coroutine coroutine, std::source_location where = std::source_location::current())
    {
        return test::run(context, std::move(coroutine), patience, where);
    }

    server_group servers{5};
    std::shared_ptr<recorder> told = std::make_shared<recorder>();
    config settings;
    asio::io_context context;
    std::unique_ptr<client> locks;
    std::optional<error_code> changed;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(changed_nodes, three_of_four_fixture)

/// Rule N9. The client's knowledge of the other nodes is kept: otherwise they would be young, and would not vote.
// rule N9
BOOST_AUTO_TEST_CASE(lock_made_before_asks_the_new_nodes)
{
    mutex lock(*locks, "lock", long_lived);
    run([&]() -> asio::awaitable<void> {
        lease held = co_await held_by(lock, 3);
        co_await held.release();
        co_await change(0, 1, 2, 3);
        BOOST_TEST(locks->node_table().size() == 4U);
        held = co_await held_by(lock, 3);
        BOOST_TEST(lock.last_attempt().size() == 4U);
        co_await until([&] { // assume_fresh was set for the other nodes
            return status(*locks, 3).state == node_state::quarantined;
        });
        BOOST_TEST((co_await lock.inspect()).node_table.size() == 4U);
        co_await held.release();
        co_await change(1, 2, 3);
        held = co_await held_by(lock, 2);
        BOOST_TEST(servers.ask(0).command({"EXISTS", "lock"}) == "0");
        co_await held.release();
    });
}

BOOST_AUTO_TEST_CASE(locks_of_all_kinds_ask_the_new_nodes)
{
    std::vector<any_lock> all{
        mutex(*locks, "plain", long_lived), multi_mutex(*locks, {"one", "another"}, long_lived),
        semaphore(*locks, "pool", 5, long_lived).taking(2), shared_mutex(*locks, "table", long_lived),
        shared_mutex(*locks, "table", long_lived).shared()};
    run([&]() -> asio::awaitable<void> {
        co_await change(0, 1, 2, 3);
        for (any_lock& each : all) {
            lease held = co_await each.acquire();
            BOOST_TEST(each.last_attempt().size() == 4U, each.name());
            BOOST_TEST(held.permits().size() == (each.name() == "pool" ? 2U : 0U));
            co_await held.release();
        }
    });
}

// rule N9
BOOST_AUTO_TEST_CASE(lease_from_before_stays_with_the_former_nodes)
{
    mutex lock(*locks, "lock", long_lived);
    run([&]() -> asio::awaitable<void> {
        lease held = co_await held_by(lock, 3);
        begin_change({0, 1, 2, 3});
        BOOST_TEST((co_await attempt_once(lock)) == errc::contended);
        BOOST_TEST(lock.last_attempt().size() == 4U);
        BOOST_TEST(held.valid());
        co_await held.extend();
        co_await until([&] { return held.votes() == 3; });
        BOOST_TEST(!changed.has_value());
        BOOST_TEST((co_await error_of(change(0, 1, 2))) == in_progress);
        BOOST_TEST(locks->node_table().size() == 4U);
        co_await until([&] { // the attempt needed no more than two of them
            return std::ranges::all_of(locks->node_table(), [](node_status const& each) {
                return each.state == node_state::ready || each.state == node_state::quarantined;
            });
        });
        told->nodes.clear();
        co_await held.release();
        co_await until([&] { return changed.has_value(); });
        BOOST_TEST(*changed == error_code{});
        BOOST_TEST(told->nodes.empty()); // the servers are still this client's nodes
        held = co_await held_by(lock, 3);
        co_await held.release();
        co_await change(0, 1, 2);
    });
}

// rule N9
BOOST_AUTO_TEST_CASE(waiter_from_before_gets_the_lock_from_the_former_nodes)
{
    mutex lock(*locks, "lock", without_queue(long_lived));
    run([&]() -> asio::awaitable<void> {
        servers.command({"SET", "lock", "stranger"});
        lease got;
        lock.acquire([&](error_code ec, lease won) {
            BOOST_TEST(ec == error_code{});
            got = std::move(won);
        });
        co_await until([&] { return !lock.last_attempt().empty(); });
        begin_change({0, 1, 2, 3});
        BOOST_TEST(lock.waiting() == 0U);
        servers.command({"DEL", "lock"});
        co_await until([&] { return !got.empty(); });
        BOOST_TEST(lock.last_attempt().empty()); // the present nodes were not asked
        BOOST_TEST(!changed.has_value());
        co_await got.release();
        co_await until([&] { return changed.has_value(); });
    });
}

/// A lock may be kept for as long as the program runs.
// rule N9
BOOST_AUTO_TEST_CASE(lists_in_between_are_not_kept)
{
    mutex const unused(*locks, "unused", long_lived);
    mutex lock(*locks, "lock", long_lived);
    run([&]() -> asio::awaitable<void> {
        long at_first = 0; // each list has the observer
        for (int i = 0; i != 4; ++i) {
            co_await change(0, 1, 2, 3);
            co_await change(0, 1, 2);
            lease held = co_await lock.acquire();
            co_await held.release();
            long const now = told.use_count();
            if (i == 0)
                at_first = now;
            BOOST_TEST(now == at_first);
        }
    });
}

// rules N1 and N9
BOOST_AUTO_TEST_CASE(list_whose_majority_may_miss_the_other_is_refused)
{
    auto const refused = [this](std::vector<std::string> nodes, std::string const& words) {
        run([&]() -> asio::awaitable<void> {
            try {
                co_await locks->change_nodes(nodes);
                BOOST_ERROR("it was accepted");
            } catch (lock_error const& e) {
                BOOST_TEST(e.code() == errc::misconfigured);
                BOOST_TEST(contains(e.what(), words), e.what());
            }
        });
        BOOST_TEST(locks->node_table().size() == 3U);
    };
    refused(list({0, 1, 3}), "this list keeps 2 of 3 and adds 1");
    refused(list({0, 1, 2, 3, 4}),
            "at most one server may be added or removed at a time; this list keeps 3 of 3 and adds 2");
    refused(list({0}), "this list keeps 1 of 3 and adds 0");
    auto elsewhere = list({0, 1, 2});
    for (std::string& url : elsewhere)
        url += "/1"; // other keys, on the same servers
    refused(elsewhere, "this list keeps 0 of 3 and adds 3");
    refused({}, "no nodes");
    refused({"http://host"}, "node URL 1");
    run([&]() -> asio::awaitable<void> {
        co_await change(2, 1, 0, 3);
        co_await change(2, 4, 0, 3); // three of four meet three of five
    });
}

/// The list of the one was compared with what was present before the other.
BOOST_AUTO_TEST_CASE(change_is_refused_before_another_has_begun)
{
    std::optional<error_code> second;
    begin_change({0, 1, 2, 3});
    locks->change_nodes(list({0, 1, 2, 4}), [&](error_code ec) { second = ec; });
    run_until(context, [&] { return changed && second; });
    BOOST_TEST(*changed == error_code());
    BOOST_TEST(*second == in_progress);
    BOOST_TEST(locks->node_table().at(3).node == servers[3].url());
}

/// An observer that is told `nothing new` asks again, and then asks the new nodes.
BOOST_AUTO_TEST_CASE(observer_of_leaders_goes_on_with_the_new_nodes)
{
    election scheduler(*locks, "scheduler", long_lived);
    run([&]() -> asio::awaitable<void> {
        leadership led = co_await scheduler.campaign("one");
        leader_info const nobody; // g++ 12 destroys a braced operand twice
        leader_info const seen = co_await scheduler.observe(nobody);
        BOOST_TEST(seen.value == "one");
        std::optional<leader_info> told_now;
        scheduler.observe(seen, [&](error_code ec, leader_info now) {
            BOOST_TEST(ec == error_code{});
            told_now = std::move(now);
        });
        begin_change({0, 1, 2, 3});
        co_await until([&] { return told_now.has_value(); });
        BOOST_TEST(told_now->value == "one");
        BOOST_TEST(told_now->term == seen.term);
        BOOST_TEST((co_await scheduler.leader()).term == seen.term);
        co_await led.resign();
        leader_info const vacant = co_await scheduler.observe(*told_now);
        BOOST_TEST(vacant.vacant);
        co_await until([&] { return changed.has_value(); });
    });
}

/// The leaders that this client has been told of are kept.
// rule EL4
BOOST_AUTO_TEST_CASE(earlier_term_is_nobodys_after_a_change_too)
{
    election scheduler(*locks, "scheduler", long_lived);
    std::string const key = "scheduler:redlock-leader";
    run([&]() -> asio::awaitable<void> {
        leadership led = co_await scheduler.campaign("one");
        std::string const earlier = servers.ask(0).command({"GET", key});
        co_await led.resign();
        led = co_await scheduler.campaign("two");
        leader_info const seen = co_await scheduler.leader();
        BOOST_TEST(seen.term == led.term());
        co_await led.resign();
        co_await change(0, 1, 2, 3);
        servers.command({"SET", key, earlier});
        BOOST_TEST((co_await scheduler.leader()).vacant);
    });
}

BOOST_AUTO_TEST_CASE(campaign_from_before_tells_what_the_former_nodes_said)
{
    lock_options impatient = long_lived;
    impatient.retry.outage_patience = 100ms;
    election scheduler(*locks, "scheduler", impatient);
    std::vector<node_outcome> table;
    auto const candidate = [&]() -> asio::awaitable<void> {
        try {
            co_await scheduler.campaign("one");
        } catch (lock_error const& e) {
            BOOST_TEST(e.code() == errc::no_quorum);
            table = e.outcomes();
        }
    };
    run([&]() -> asio::awaitable<void> {
        servers[0].kill();
        servers[1].kill();
        asio::co_spawn(context, candidate(), asio::detached);
        begin_change({0, 1, 2, 3});
        co_await until([&] { return changed.has_value(); });
        BOOST_TEST(table.size() == 3U);
    });
}

BOOST_AUTO_TEST_CASE(shutdown_releases_what_the_former_nodes_hold)
{
    mutex lock(*locks, "lock", long_lived);
    mutex other(*locks, "other", long_lived);
    run([&]() -> asio::awaitable<void> {
        lease const before = co_await held_by(lock, 3);
        begin_change({0, 1, 2, 3});
        lease const after = co_await held_by(other, 3);
        co_await locks->shutdown();
        BOOST_TEST(!before.valid());
        BOOST_TEST(!after.valid());
        BOOST_TEST(*changed == errc::shut_down);
        co_await until([&] { return servers.no_keys(); });
        BOOST_TEST((co_await error_of(change(0, 1, 2))) != error_code{});
        BOOST_TEST((co_await attempt_once(lock)) == errc::shut_down);
    });
}

/// The leases of both stop the shutdown as long as their servers are silent.
BOOST_AUTO_TEST_CASE(cancellation_of_shutdown_ends_the_wait_for_both)
{
    mutex lock(*locks, "lock", long_lived);
    asio::cancellation_signal signal;
    std::optional<error_code> ended;
    run([&]() -> asio::awaitable<void> {
        lease const before = co_await held_by(lock, 3);
        begin_change({0, 1, 2, 3});
        lease const after = co_await held_by(mutex(*locks, "other", long_lived), 3);
        for (std::size_t const i : {0U, 1U, 2U, 3U})
            servers[i].pause();
        locks->shutdown(asio::bind_cancellation_slot(signal.slot(), [&](error_code ec) { ended = ec; }));
        signal.emit(asio::cancellation_type::total);
        co_await until([&] { return ended.has_value(); });
        BOOST_TEST(*ended == asio::error::operation_aborted);
        for (std::size_t const i : {0U, 1U, 2U, 3U})
            servers[i].resume();
        co_await until([&] { return servers.no_keys() && !before.valid() && !after.valid(); });
    });
}

/// The lease begins with its first operation, and belonged to the former nodes before.
// rule N9
BOOST_AUTO_TEST_CASE(lease_adopted_before_goes_on_with_the_former_nodes)
{
    mutex lock(*locks, "lock", long_lived);
    mutex other(*locks, "other", long_lived);
    run([&]() -> asio::awaitable<void> {
        lease held = co_await held_by(lock, 3);
        std::string const nonce(held.nonce());
        held.detach();
        lease adopted = lock.adopt(nonce);
        begin_change({0, 1, 2, 3});
        held = co_await held_by(other, 3);
        co_await held.release();
        BOOST_TEST(!changed.has_value());
        co_await adopted.extend();
        co_await until([&] { return adopted.votes() == 3U; });
        co_await adopted.release();
        co_await until([&] { return changed.has_value(); });
    });
}

// rule N9
BOOST_AUTO_TEST_CASE(lease_that_ended_says_so_after_its_nodes_are_left)
{
    mutex lock(*locks, "lock", long_lived);
    run([&]() -> asio::awaitable<void> {
        lease held = co_await held_by(lock, 3);
        begin_change({0, 1, 2, 3});
        co_await held.release();
        co_await until([&] { return changed.has_value(); });
        BOOST_TEST((co_await error_of(held.extend())) == errc::released);
    });
}

/// Nothing runs between the two: the change has not begun when the client is shut down.
// rule N9
BOOST_AUTO_TEST_CASE(shutdown_forestalls_a_change_that_is_under_way)
{
    std::optional<error_code> ended;
    begin_change({0, 1, 2, 3});
    locks->shutdown([&](error_code ec) { ended = ec; });
    run_until(context, [&] { return changed && ended; });
    BOOST_TEST(*changed == errc::shut_down);
    BOOST_TEST(*ended == error_code());
    mutex lock(*locks, "lock", long_lived);
    run([&]() -> asio::awaitable<void> { BOOST_TEST((co_await attempt_once(lock)) == errc::shut_down); });
}

BOOST_AUTO_TEST_CASE(client_that_goes_releases_what_the_former_nodes_hold)
{
    mutex lock(*locks, "lock", long_lived);
    run([&]() -> asio::awaitable<void> {
        lease const before = co_await held_by(lock, 3);
        begin_change({0, 1, 2, 3});
        co_await asio::post(context, asio::use_awaitable);
        locks.reset();
        co_await until([&] { return changed.has_value() && servers.no_keys(); });
        BOOST_TEST(*changed == errc::shut_down);
        BOOST_TEST(!before.valid());
    });
}

/// The rest of the client's own knowledge is kept, too.
// rule N9
BOOST_AUTO_TEST_CASE(restart_between_the_two_lists_is_noticed)
{
    mutex lock(*locks, "lock", long_lived);
    run([&]() -> asio::awaitable<void> {
        lease held = co_await held_by(lock, 3);
        co_await held.release();
        servers.restart(0);
        co_await change(0, 1, 2, 3);
        BOOST_TEST((co_await attempt_once(lock)) == errc::no_quorum); // the fourth is young, too
        auto const table = lock.last_attempt();
        BOOST_TEST((table[0].result == node_result::quarantined));
        BOOST_TEST((table[1].result != node_result::quarantined));
    });
}

/// The operation hops, and finds that the nodes were changed meanwhile; of those it was begun for nobody knows later.
// rule N9
BOOST_AUTO_TEST_CASE(cancellation_finds_operation_that_a_change_overtook)
{
    asio::cancellation_signal signal;
    std::optional<error_code> ended;
    servers.command({"SET", "lock", "stranger"});
    begin_change({0, 1, 2, 3});
    mutex(*locks, "lock", long_lived)
        .acquire(asio::bind_cancellation_slot(signal.slot(), [&](error_code ec, lease) { ended = ec; }));
    run_until(context, [&] { return changed.has_value(); });
    begin_change({0, 1, 2});
    run_until(context, [&] { return locks->node_table().size() == 3U; });
    BOOST_TEST(!ended.has_value());
    signal.emit(asio::cancellation_type::terminal);
    run_until(context, [&] { return ended.has_value() && changed.has_value(); });
    BOOST_TEST(*ended == asio::error::operation_aborted);
    BOOST_TEST(*changed == error_code());
}

/// The slot names the client as it was when the election was made, which nothing else keeps.
BOOST_AUTO_TEST_CASE(cancellation_finds_campaign_that_two_changes_overtook)
{
    asio::cancellation_signal signal;
    std::optional<error_code> ended;
    servers.command({"SET", "office", "stranger"});
    std::optional<election> office(std::in_place, *locks, "office", long_lived);
    begin_change({0, 1, 2, 3});
    run_until(context, [&] { return changed.has_value(); });
    office->campaign(
        "value", asio::bind_cancellation_slot(signal.slot(), [&](error_code ec, leadership) { ended = ec; }));
    office.reset();
    begin_change({0, 1, 2});
    run_until(context, [&] { return locks->node_table().size() == 3U; });
    signal.emit(asio::cancellation_type::terminal);
    run_until(context, [&] { return ended.has_value() && changed.has_value(); });
    BOOST_TEST(*ended == asio::error::operation_aborted);
}

/// Others may have the lock when its time is over, and no sooner: its holder may still rely on it as it is told.
// rule T1
BOOST_AUTO_TEST_CASE(keys_of_a_lease_that_is_lost_on_former_nodes_stay)
{
    run([&]() -> asio::awaitable<void> {
        mutex const lock(*locks, "lock", {.ttl = 1min, .max_hold = 100ms});
        lease held = co_await held_by(lock, 3);
        begin_change({0, 1, 2, 3});
        BOOST_TEST((co_await held.ended() == lease_end::lost));
        co_await until([&] { return changed.has_value(); });
        BOOST_TEST(!servers.no_keys());
    });
}

BOOST_AUTO_TEST_CASE(nodes_are_changed_from_another_thread)
{
    mutex lock(*locks, "lock", long_lived);
    auto work = asio::make_work_guard(context);
    std::thread runs([&] { context.run(); });
    auto held = lock.acquire(asio::use_future).get();
    auto done = locks->change_nodes(list({0, 1, 2, 3}), asio::use_future);
    held.release(asio::use_future).get();
    done.get();
    held = lock.acquire(asio::use_future).get();
    held.release(asio::use_future).get();
    BOOST_TEST(lock.last_attempt().size() == 4U);
    locks->shutdown(asio::use_future).get();
    work.reset();
    runs.join();
}

BOOST_AUTO_TEST_SUITE_END()

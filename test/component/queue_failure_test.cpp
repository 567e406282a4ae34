// SPDX-License-Identifier: BSL-1.0
// What is told of an operation that stood in line until its time was over.
#include "component/wish_fixture.hpp"
#include "kit/text.hpp"
#include <redlock/multi_mutex.hpp>
#include <redlock/node_outcome.hpp>
#include <redlock/semaphore.hpp>
#include <redlock/with_diagnostics.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

namespace {

struct line_failure_fixture : wish_fixture {
    template <class Lock>
    lock_error time_out(Lock lock, std::chrono::milliseconds limit = 500ms)
    {
        std::exception_ptr why;
        lock.acquire_for(limit, with_diagnostics([&](std::exception_ptr e, lease) { why = std::move(e); }));
        pass(250ms);
        meanwhile();
        (void)until([&] { return why != nullptr; });
        try {
            std::rethrow_exception(why);
        } catch (lock_error const& e) {
            BOOST_TEST((e.code() == errc::timed_out));
            return e;
        }
    }
    /// A holder, and a client of which two operations wait for its lock; then a long outage begins. The other nodes' connections
    /// are not made again while it lasts.
    template <class First, class Second>
    void let_two_wait_in_outage(First first, Second second)
    {
        settings.reconnect.min_delay = settings.reconnect.max_delay = 30s;
        options.ttl = 10min;
        contender& holder = add();
        holder.acquire();
        (void)until_granted(holder);
        contender& both = add();
        before = first(*both.lock);
        pass(100ms);
        behind = second(*both.lock);
        pass(100ms);
        kill_all_but(where());
    }
    std::unique_ptr<wish> before;
    std::unique_ptr<wish> behind;
    /// Called while the operation waits.
    std::function<void()> meanwhile = [] {};
    semaphore pool(contender& by) { return {*by.locks, "seat", 1, options}; }
    void kill_all_but(std::size_t one)
    {
        for_all_but(one, [this](std::size_t n) { net.kill(n); });
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(queue_failures, line_failure_fixture)

/// The second time it knows of other clients, and enters the queue without a vote.
BOOST_AUTO_TEST_CASE(waiter_that_never_voted_was_kept_out_by_others)
{
    contender& holder = add();
    contender& waiter = add();
    holder.acquire();
    (void)until_granted(holder);
    for (std::string const attempts : {"1 attempt", "0 attempts"}) {
        lock_error const told = time_out(*waiter.lock);
        BOOST_TEST((told.last_failure() == errc::contended), told.what());
        BOOST_TEST(contains(told.what(), "timed out after 500 ms and " + attempts + "; last: contended"),
                   told.what());
    }
}

BOOST_AUTO_TEST_CASE(waiter_for_permits_was_kept_out_by_others)
{
    contender& holder = add();
    contender& waiter = add();
    auto const held = want(pool(holder));
    BOOST_TEST_REQUIRE(held->held.valid());
    (void)time_out(pool(waiter));
    lock_error const told = time_out(pool(waiter));
    BOOST_TEST((told.last_failure() == errc::contended), told.what());
    BOOST_TEST(contains(told.what(), "timed out after 500 ms and 0 attempts; last: contended"), told.what());
}

/// No connection has failed yet.
BOOST_AUTO_TEST_CASE(operation_that_ends_before_the_connections_says_so)
{
    contender& one = add();
    lock_error const told = time_out(*one.lock, 1ms);
    BOOST_TEST((told.last_failure() == errc::no_quorum), told.what());
    BOOST_TEST_REQUIRE(told.outcomes().size() == net.size(), told.what());
    for (node_outcome const& row : told.outcomes())
        BOOST_TEST(row.detail == "still connecting", told.what());
}

/// The waiter notices it when it checks the nodes, every two seconds.
BOOST_AUTO_TEST_CASE(waiter_whose_nodes_went_was_kept_out_by_outage)
{
    contender& holder = add();
    contender& waiter = add();
    holder.acquire();
    (void)until_granted(holder);
    meanwhile = [&] { kill_all_but(where()); };
    lock_error const told = time_out(*waiter.lock, 5s);
    BOOST_TEST((told.last_failure() == errc::no_quorum), told.what());
    auto const& rows = told.outcomes();
    BOOST_TEST_REQUIRE(rows.size() == net.size(), told.what());
    BOOST_TEST(std::ranges::count(rows, node_result::unreachable, &node_outcome::result) == 2, told.what());
}

/// Each waiter gives up after its own wait, at any position: nobody calls the last one when the other ones have gone.
// rule Q15
BOOST_AUTO_TEST_CASE(without_time_limit_all_queued_waiters_end_with_the_majority)
{
    line_up(4);
    kill_all_but(where());
    (void)until([&] { return all[1]->ended && all[2]->ended && all[3]->ended; },
                options.retry.outage_patience + 5s);
    for (auto const& one : all)
        if (one != all.front())
            BOOST_TEST((one->ended == errc::no_quorum));
}

// rule Q15
BOOST_AUTO_TEST_CASE(queued_waiter_is_called_after_short_outage)
{
    line_up(3);
    auto const line = where();
    for_all_but(line, [this](std::size_t n) {
        net.at(n).reachable = false;
        net.reset_connections(n);
    });
    pass(options.retry.outage_patience - 1s);
    for_all_but(line, [this](std::size_t n) { net.at(n).reachable = true; });
    pass(options.retry.outage_patience);
    BOOST_TEST(!all[1]->ended);
    BOOST_TEST(!all[2]->ended);
    BOOST_TEST(all[2]->told->before == std::vector<std::size_t>{1}, boost::test_tools::per_element());
    serve_all(1min);
}

/// The quarantine ends by itself.
// rule Q15
BOOST_AUTO_TEST_CASE(quarantine_of_majority_costs_no_position)
{
    line_up(3);
    for_all_but(where(), [this](std::size_t n) {
        net.kill(n);
        net.start(n);
    });
    pass(2 * options.retry.outage_patience);
    BOOST_TEST(!all[1]->ended);
    BOOST_TEST(!all[2]->ended);
    BOOST_TEST(all[2]->told->before == std::vector<std::size_t>{1}, boost::test_tools::per_element());
}

/// The one before it has more patience.
// rule A8
BOOST_AUTO_TEST_CASE(operation_without_limit_gives_up_behind_another)
{
    contender& one = add();
    for (std::size_t n = 0; n != net.size(); ++n)
        net.kill(n);
    before = begin_to_want_for(*one.lock, 1h);
    behind = begin_to_want(*one.lock);
    pass(options.retry.outage_patience - 100ms);
    BOOST_TEST(!behind->ended);
    pass(2s);
    BOOST_TEST(!before->ended);
    BOOST_TEST_REQUIRE(behind->ended.has_value());
    BOOST_TEST((behind->ended == errc::no_quorum));
}

/// One of several names is another operation's.
// rule A8
BOOST_AUTO_TEST_CASE(set_without_limit_gives_up_behind_another_operation)
{
    contender& one = add();
    for (std::size_t n = 0; n != net.size(); ++n)
        net.kill(n);
    before = begin_to_want_for(mutex(*one.locks, "a", options), 1h);
    behind = begin_to_want(multi_mutex(*one.locks, {"a", "b"}, options));
    pass(options.retry.outage_patience + 2s);
    BOOST_TEST(!before->ended);
    BOOST_TEST_REQUIRE(behind->ended.has_value());
    BOOST_TEST((behind->ended == errc::no_quorum));
}

/// It has the place of the one before it, and the patience of its own.
// rules A8 and Q15
BOOST_AUTO_TEST_CASE(next_operation_without_limit_gives_up_in_its_time)
{
    let_two_wait_in_outage([&](mutex& lock) { return begin_to_want_for(lock, 1h); },
                           [&](mutex& lock) { return begin_to_want(lock); });
    pass(3s);
    before->stop.emit(asio::cancellation_type::terminal);
    pass(options.retry.outage_patience - 3s + 2s);
    BOOST_TEST_REQUIRE(behind->ended.has_value());
    BOOST_TEST((behind->ended == errc::no_quorum));
}

// rule Q15
BOOST_AUTO_TEST_CASE(next_operation_with_a_limit_keeps_its_place_in_outage)
{
    let_two_wait_in_outage([&](mutex& lock) { return begin_to_want(lock); },
                           [&](mutex& lock) { return begin_to_want_for(lock, 1h); });
    auto const line = where();
    pass(3s);
    before->stop.emit(asio::cancellation_type::terminal);
    pass(2 * options.retry.outage_patience);
    BOOST_TEST(!behind->ended);
    BOOST_TEST(on(line, "seat:redlock-queue").has_value());
}

/// One node refuses, one cannot be reached, and nobody knows yet what the third would say.
// rules A5 and A8
BOOST_AUTO_TEST_CASE(node_that_is_never_reached_has_not_refused)
{
    contender& one = add();
    occupy("600000");
    net.between(0, 1).latency = net.between(0, 2).latency = 1h; // nobody ever answers there
    for (int i = 0; i != 50; ++i) {                             // connections are made again and again
        before = begin_to_try(*one.lock);
        (void)until([&] { return before->ended.has_value(); });
        BOOST_TEST((before->ended == errc::no_quorum));
        pass(73ms);
    }
    behind = begin_to_want(*one.lock);
    pass(options.retry.outage_patience + 3s);
    BOOST_TEST((behind->ended == errc::no_quorum));
}

/// Servers that have just started, and a client that does not know what they had before.
struct young_servers : queue_fixture {
    young_servers()
    {
        settings.admission.assume_fresh = false;
        for (std::size_t n = 0; n != net.size(); ++n)
            start_anew(n);
    }
    void start_anew(std::size_t n)
    {
        net.kill(n);
        net.start(n);
    }
};

/// One waits for the servers' quarantine, the other behind it: a quarantine is no outage for either.
// rules N4 and A8
BOOST_FIXTURE_TEST_CASE(operation_behind_another_waits_for_a_quarantine, young_servers)
{
    contender& one = add();
    std::optional<error_code> first;
    std::optional<error_code> second;
    one.lock->acquire([&](error_code ec, lease) { first = ec; });
    one.lock->acquire([&](error_code ec, lease) { second = ec; });
    pass(10s);
    BOOST_TEST(!first.has_value());
    BOOST_TEST(!second.has_value());
    pass(3s);
    BOOST_TEST((first == error_code()));
    BOOST_TEST((second == error_code()));
}

/// A machine whose clock is being corrected. Timers end by the clock that runs further.
// rule N4
BOOST_FIXTURE_TEST_CASE(quarantine_is_waited_for_on_both_clocks, young_servers)
{
    contender& one = add();
    one.process.machine().run_at(1.2, 1);
    one.acquire();
    pass(10s);
    BOOST_TEST((one.locks->node_table()[0].state == node_state::quarantined));
    std::size_t const before = commands;
    pass(1s);
    BOOST_TEST(!one.holds());
    BOOST_TEST(commands - before < 20U);
    pass(2s);
    BOOST_TEST(one.holds());
}

/// The outage begins then, and its operation gives up after its patience.
// rules N4 and A8
BOOST_FIXTURE_TEST_CASE(outage_in_a_quarantine_is_noticed, young_servers)
{
    settings.admission.longest_ttl = 10min;
    contender& one = add();
    std::optional<error_code> ended;
    one.lock->acquire([&](error_code ec, lease) { ended = ec; });
    pass(60s);
    BOOST_TEST(!ended.has_value());
    for (std::size_t n = 0; n != net.size(); ++n)
        net.kill(n);
    pass(4s);
    BOOST_TEST(!ended.has_value());
    pass(4s);
    BOOST_TEST((ended == errc::no_quorum));
}

/// Operations that end one after the other, because no node may be asked, do not end within each other.
struct crowd_without_nodes : queue_fixture {
    crowd_without_nodes()
    {
        for (std::size_t n = 0; n != net.size(); ++n)
            net.at(n).redis.is.password = "another";
    }
    template <class Lock>
    void check_that_all_end(Lock const& lock)
    {
        constexpr unsigned crowd = 20'000; // deeper than the stack
        unsigned ended = 0;
        for (unsigned i = 0; i != crowd; ++i)
            lock.acquire([&](error_code ec, lease) { ended += ec == errc::no_quorum ? 1 : 0; });
        pass(1s);
        BOOST_TEST(ended == crowd);
    }
};

BOOST_FIXTURE_TEST_CASE(crowd_of_waiters_for_permits_ends, crowd_without_nodes)
{
    check_that_all_end(semaphore(*add().locks, "seat", 2, options));
}

BOOST_FIXTURE_TEST_CASE(crowd_of_waiters_for_several_names_ends, crowd_without_nodes)
{
    check_that_all_end(multi_mutex(*add().locks, {"seat", "table"}, options));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

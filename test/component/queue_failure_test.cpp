// SPDX-License-Identifier: BSL-1.0
// What is told of an operation that stood in line until its time was over.
#include "component/wish_fixture.hpp"
#include "kit/text.hpp"
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

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

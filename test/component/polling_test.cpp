// SPDX-License-Identifier: BSL-1.0
// Waiters that cannot be called ask by themselves, in the same queue as all other waiters (docs/protocol.md, rule Q18).
#include "component/wish_fixture.hpp"
#include <redlock/semaphore.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace redlock::test {

namespace {

/// A waiter that is not the first asks at least that often.
constexpr duration longest_poll = 200ms;
/// The first one's question, and its claim.
constexpr duration time_to_poll = 5ms + 4 * round_trip + a_tick;

using way_to_lock = std::function<any_lock(contender&, lock_options const&)>;
struct kind_of_lock {
    std::string name;
    way_to_lock make;
};
std::vector<kind_of_lock> const kinds{
    {"mutex", [](contender& by, lock_options const& o) { return mutex(*by.locks, "seat", o); }},
    {"fenced mutex", [](contender& by, lock_options const& o) { return fenced_mutex(*by.locks, "seat", o); }},
    {"writer", [](contender& by, lock_options const& o) { return shared_mutex(*by.locks, "seat", o); }},
    {"permit", [](contender& by, lock_options const& o) { return semaphore(*by.locks, "seat", 1, o); }}};

struct polling_fixture : wish_fixture {
    using wish_fixture::wish_fixture;
    using wishes = std::vector<std::unique_ptr<wish>>;

    /// Queues waiters one behind the other, behind a holder. Every second one polls.
    wishes alternate(kind_of_lock const& kind, std::size_t size)
    {
        wishes all_of_them;
        for (std::size_t i = 0; i != size; ++i) {
            contender& by = i % 2 == 1 ? add_polling() : add();
            all_of_them.push_back(want(kind.make(by, options)));
        }
        BOOST_TEST_REQUIRE(all_of_them.front()->held.valid());
        return all_of_them;
    }
    /// They hold the lock one after the other, each for this time.
    void check_order(wishes const& some, duration hold)
    {
        for (std::size_t i = 0; i + 1 != some.size(); ++i) {
            for (std::size_t later = i + 1; later != some.size(); ++later)
                BOOST_TEST(!some[later]->held.valid(), later << " has overtaken " << i);
            pass(hold);
            some[i]->held = {};
            (void)until([&] { return some[i + 1]->held.valid(); }, time_to_poll);
        }
        some.back()->held = {};
    }
    std::size_t positions()
    {
        std::size_t found = 0;
        for (std::size_t n = 0; n != net.size(); ++n)
            if (auto const queue = on(n, "seat:redlock-queue"))
                found += queue->members.size();
        return found;
    }
    void forbid(std::string const& right, bool everywhere)
    {
        for (std::size_t n = 0; n != net.size(); ++n)
            net.at(n).redis.is.forbidden = everywhere || n == 0 ? std::set{right} : std::set<std::string>{};
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(polling, polling_fixture)

/// While a lease lasts, the next position hears that it is the first.
// rule Q18
BOOST_AUTO_TEST_CASE(polling_waiters_are_served_in_the_order_of_the_queue)
{
    for (kind_of_lock const& kind : kinds)
        BOOST_TEST_CONTEXT(kind.name)
        {
            polling_fixture its;
            its.check_order(its.alternate(kind, 7), longest_poll + time_to_poll);
            its.pass(1s);
            BOOST_TEST(its.positions() == 0U);
            its.check_that_no_key_is_left();
        }
}

// rule Q18
BOOST_AUTO_TEST_CASE(waiters_that_all_poll_are_served_in_order)
{
    for (kind_of_lock const& kind : kinds)
        BOOST_TEST_CONTEXT(kind.name)
        {
            polling_fixture its;
            wishes all_of_them;
            for (int i = 0; i != 5; ++i)
                all_of_them.push_back(its.want(kind.make(its.add_polling(), its.options)));
            its.check_order(all_of_them, longest_poll + time_to_poll);
        }
}

/// All that wait are called, whether they poll or not. A writer behind them waits for them.
// rule Q18
BOOST_AUTO_TEST_CASE(readers_that_poll_share_the_lock)
{
    contender& first = add();
    first.write();
    pass(100ms);
    BOOST_TEST_REQUIRE(first.holds());
    for (int i = 0; i != 2; ++i) {
        add_polling().read();
        add().read();
        pass(100ms);
    }
    contender& last = add_polling();
    last.write();
    pass(longest_poll + time_to_poll); // the first has asked as the first
    first.release();
    pass(2 * longest_poll + time_to_poll);
    for (std::size_t i = 1; i != 5; ++i)
        BOOST_TEST(all[i]->holds(), i);
    BOOST_TEST(!last.holds());
    for (std::size_t i = 1; i != 5; ++i)
        all[i]->release();
    BOOST_TEST((until_granted(last) <= longest_poll + time_to_poll));
}

// rule Q18
BOOST_AUTO_TEST_CASE(waiters_without_a_right_are_served_in_order)
{
    for (std::string const right : {"subscribe", "publish", "client|tracking"})
        for (kind_of_lock const& kind : kinds)
            for (bool const everywhere : {false, true})
                BOOST_TEST_CONTEXT(right << ", " << kind.name
                                         << (everywhere ? " everywhere" : " on one node"))
                {
                    polling_fixture its;
                    its.forbid(right, everywhere);
                    wishes all_of_them;
                    for (int i = 0; i != 4; ++i)
                        all_of_them.push_back(its.want(kind.make(its.add(), its.options)));
                    BOOST_TEST(its.positions() == 3U);
                    its.check_order(all_of_them, longest_poll + time_to_poll);
                }
}

/// The right was taken away after the dead waiter had entered.
// rule Q18
BOOST_AUTO_TEST_CASE(waiters_that_may_not_call_pass_one_that_was_killed)
{
    for (kind_of_lock const& kind : kinds)
        BOOST_TEST_CONTEXT(kind.name)
        {
            std::unique_ptr<wish_fixture::wish> killed; // has to outlive its client
            polling_fixture its;
            auto holder = its.want(kind.make(its.add(), its.options));
            killed = its.want(kind.make(its.add(), its.options));
            its.forbid("publish", true);
            auto behind = its.want(kind.make(its.add(), its.options));
            BOOST_TEST(its.positions() == 2U);
            its.kill(1);
            holder->held = {};
            (void)its.until([&] { return behind->held.valid(); }, longest_poll + time_to_poll);
        }
}

/// The lock would stand idle until the waiter asks the next time.
// rule Q18
BOOST_AUTO_TEST_CASE(lock_is_kept_for_a_polling_waiter_once_it_has_asked_as_the_first)
{
    line_up(2);
    contender& polls = add_polling();
    polls.acquire();
    pass(1s); // now it asks seldom
    contender& last = add();
    last.acquire();
    pass(100ms);
    all[0]->release();
    (void)until_granted(*all[1]);
    all[1]->release(); // the polling waiter does not know that it is the first
    (void)until([&] { return last.holds(); }, 4 * round_trip + a_tick);
    pass(longest_poll + time_to_poll);
    add().acquire();
    pass(100ms);
    last.release();
    BOOST_TEST((until_granted(polls) <= time_to_poll));
    BOOST_TEST(!all[4]->holds());
}

// rule Q18
BOOST_AUTO_TEST_CASE(polling_waiter_that_dies_as_the_first_is_removed_after_a_second)
{
    for (bool const called : {false, true})
        for (kind_of_lock const& kind : kinds)
            BOOST_TEST_CONTEXT(kind.name << (called ? ", kept for it" : ""))
            {
                std::unique_ptr<wish_fixture::wish> polls; // has to outlive its client
                polling_fixture its;
                auto holder = its.want(kind.make(its.add(), its.options));
                polls = its.want(kind.make(its.add_polling(), its.options));
                auto behind = its.want(kind.make(its.add(), its.options));
                its.pass(1s);
                BOOST_TEST(its.positions() == 2U);
                its.kill(1);
                its.pass(called ? 100ms : 1s);
                holder->held = {};
                auto const took = its.until([&] { return behind->held.valid(); }, 2s);
                auto const kept = called ? claim_window : 0ms;
                auto const asked = claim_window / 2; // the holder may know of nobody, and not serve the queue
                BOOST_TEST((took <= asked + kept + 4 * round_trip + 3 * a_tick));
            }
}

/// Nobody serves the queue while readers hold.
// rule Q18
BOOST_AUTO_TEST_CASE(dead_writer_that_polled_keeps_no_readers_out)
{
    add().read();
    pass(100ms);
    add_polling().write();
    pass(100ms);
    kill(1);
    pass(1s);
    add().read();
    pass(100ms);
    BOOST_TEST(all[2]->holds());
}

// rule Q18
BOOST_AUTO_TEST_CASE(polling_waiter_that_leaves_takes_its_position_along)
{
    line_up(1);
    contender& polls = add_polling();
    polls.acquire();
    pass(300ms); // its date has been renewed
    BOOST_TEST(positions() == 1U);
    polls.stop.emit(asio::cancellation_type::terminal);
    pass(10ms);
    BOOST_TEST(positions() == 0U);
}

/// If the lock was kept for it just then, the next one gets it.
// rule Q18
BOOST_AUTO_TEST_CASE(polling_waiter_that_leaves_passes_the_lock_on)
{
    line_up(1);
    contender& polls = add_polling();
    polls.acquire();
    pass(100ms);
    add().acquire();
    pass(100ms);
    all[0]->release();
    pass(one_way + 200us);
    polls.stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST((until_granted(*all[2]) <= 4 * round_trip + a_tick));
}

// rule Q18
BOOST_AUTO_TEST_CASE(position_of_a_polling_waiter_is_told)
{
    line_up(2);
    contender& polls = add_polling();
    polls.acquire();
    pass(100ms);
    BOOST_TEST(polls.told->before == std::vector<std::size_t>{1});
    all[0]->release();
    (void)until_granted(*all[1]);
    pass(longest_poll + time_to_poll);
    BOOST_TEST(polls.told->before == (std::vector<std::size_t>{1, 0}));
}

/// Their votes heed the queue in any case.
// rule Q19
BOOST_AUTO_TEST_CASE(readers_and_requests_for_permits_that_want_no_queue_poll)
{
    lock_options without = options;
    without.fair = false;
    line_up(1);
    contender& reads = add(without);
    reads.read();
    pass(100ms);
    contender& wants = add(without);
    auto const permit = want(semaphore(*wants.locks, "seat", 2, without));
    contender& writes = add(without);
    writes.write();
    pass(100ms);
    BOOST_TEST(positions() == 2U);
    BOOST_TEST(reads.told->before.size() == 1U);
    BOOST_TEST(wants.told->before.size() == 1U);
    BOOST_TEST(writes.told->before.empty());
    writes.stop.emit(asio::cancellation_type::terminal);
    pass(longest_poll);
    all[0]->release();
    BOOST_TEST((until_granted(reads) <= time_to_poll));
    pass(longest_poll + time_to_poll);
    reads.release();
    (void)until([&] { return permit->held.valid(); }, longest_poll + time_to_poll);
}

/// Tracking is asked for only when an owner is known.
// rule Q18
BOOST_AUTO_TEST_CASE(waiter_polls_on_the_same_node_when_tracking_is_refused)
{
    line_up(2);
    std::size_t const first = where();
    forbid("client|tracking", true);
    add().acquire();
    pass(100ms);
    BOOST_TEST(on(first, "seat:redlock-queue")->members.size() == 2U);
    serve_all(1s);
}

/// A try that the end of the time cuts off has heard less than the one before.
// rule A8
BOOST_AUTO_TEST_CASE(time_that_ends_amid_a_try_is_told_as_the_refusal_before)
{
    options.fair = false;
    occupy("3600000");
    contender& one = add();
    for (duration limit = 50ms; limit < 60ms; limit += 100us) {
        bool ended = false;
        one.lock->acquire_for(limit, [&](error_code ec, lease const&) { ended = ec == errc::timed_out; });
        pass(limit + a_tick);
        BOOST_TEST_REQUIRE(ended);
        BOOST_TEST(one.told->last_failure == errc::contended);
        auto const table = one.lock->last_attempt();
        BOOST_TEST(std::ranges::count(table, node_result::held_by_other, &node_outcome::result) != 0);
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

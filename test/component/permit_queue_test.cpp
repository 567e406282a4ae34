// SPDX-License-Identifier: BSL-1.0
// The operations of one client that ask for permits at the same time (docs/protocol.md, rules Q15 and M6).
#include "component/semaphore_fixture.hpp"
#include <redlock/multi_mutex.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace redlock::test {

namespace {

struct permit_queue_fixture : semaphore_fixture {
    /// How many of them get what they want when nobody else has it?
    unsigned serve(wishes const& some)
    {
        theirs->held = {};
        first->held = {};
        unsigned served = 0;
        for (std::size_t round = 0; round != 2 * some.size(); ++round) {
            pass(20s);
            for (auto const& each : some)
                if (each->held.valid()) {
                    ++served;
                    each->held = {};
                }
        }
        return served;
    }
    /// All connections are gone, and nobody can connect, for a while: attempts of their own end.
    void cut()
    {
        for (std::size_t n = 0; n != net.size(); ++n) {
            net.at(n).reachable = false;
            net.reset_connections(n);
        }
        pass(1s);
        for (std::size_t n = 0; n != net.size(); ++n)
            net.at(n).reachable = true;
    }
    /// The first operation gets the last free permit. The second, which asked at the same time, is queued by itself.
    void let_second_ask_beside()
    {
        theirs = want_some(other, 100, 99);
        BOOST_TEST_REQUIRE(theirs->held.valid());
        first = begin_to_want(pool(one, 100));
        second = begin_to_want(pool(one, 100));
        pass(100ms);
        BOOST_TEST_REQUIRE(first->held.valid());
        BOOST_TEST_REQUIRE(positions() == 1U);
    }
    /// The second comes back to the queue when the other, behind it, is the one that is asked for.
    template <class Lock>
    void check_that_both_are_served(Lock const& another)
    {
        let_second_ask_beside();
        wishes both;
        both.push_back(begin_to_want(another));
        pass(100ms);
        both.push_back(std::move(second));
        cut();
        BOOST_TEST(serve(both) == 2U);
        BOOST_TEST(want_some(one, 100)->held.valid());
    }

    contender& one = add();
    contender& other = add();
    std::unique_ptr<wish> theirs, first, second;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(permit_queues, permit_queue_fixture)

// rule Q10
BOOST_AUTO_TEST_CASE(late_grant_does_not_prolong_the_wait_for_the_queue_node)
{
    semaphore_fixture its(5);
    contender& asks = its.add();
    (void)its.want(its.pool(asks, 3));
    its.pass(100ms);
    std::size_t const queue_node = meeting_node(its.net, "seat");
    its.net.between(0, queue_node).latency = 50ms;
    its.net.between(0, queue_node == 0 ? 1 : 0).latency =
        one_way + 800us; // it grants while the queue node is awaited
    auto const wins = its.begin_to_want(its.pool(asks, 3));
    BOOST_TEST((its.until([&] { return wins->held.valid(); }) <= 3 * round_trip + 500us));
}

// rule Q15
BOOST_AUTO_TEST_CASE(client_has_no_more_than_sixteen_positions)
{
    theirs = want_some(other, 100, 100);
    BOOST_TEST_REQUIRE(theirs->held.valid());
    wishes some = want_at_once(one, 100, 2);
    for (unsigned i = 0; i != 200; ++i)
        some.push_back(begin_to_want(pool(one, 100, 60)));
    pass(1s);
    BOOST_TEST(positions() == 16U);
    some[3]->stop.emit(asio::cancellation_type::total);
    pass(1s);
    BOOST_TEST(positions() == 16U);
}

/// Sixteen ask at a time, and further ones as soon as one of them has a permit.
// rule Q15
BOOST_AUTO_TEST_CASE(many_operations_of_one_client_are_served_soon)
{
    auto const some = want_at_once(one, 1000, 48);
    BOOST_TEST((until([&] { return held_of(some) == 48; }) <= 8 * round_trip + a_tick));
}

// rule Q15
BOOST_AUTO_TEST_CASE(tries_of_one_client_ask_beside_each_other)
{
    wishes some;
    for (unsigned i = 0; i != 17; ++i)
        some.push_back(begin_to_try(pool(one, 1000)));
    pass(1s);
    BOOST_TEST(held_of(some) == 16); // and the last would have to wait
    BOOST_TEST((some.back()->ended == errc::contended));
}

// rule Q15
BOOST_AUTO_TEST_CASE(tries_that_are_refused_end)
{
    theirs = want_some(other, 100, 98);
    wishes some;
    for (unsigned i = 0; i != 8; ++i)
        some.push_back(begin_to_try(pool(one, 100)));
    pass(1s);
    BOOST_TEST(held_of(some) > 0);
    BOOST_TEST(held_of(some) <= 2);
    for (auto const& each : some)
        BOOST_TEST((each->ended == error_code() || each->ended == errc::contended));
    BOOST_TEST(positions() == 0U);
}

BOOST_AUTO_TEST_CASE(operation_that_came_back_is_not_taken_for_a_mutex_that_is_won)
{
    check_that_both_are_served(mutex(*one.locks, "seat", options));
}

BOOST_AUTO_TEST_CASE(operation_that_came_back_is_not_taken_for_a_reader_that_won)
{
    check_that_both_are_served(one.shared->shared());
}

BOOST_AUTO_TEST_CASE(operation_that_came_back_is_not_taken_for_several_names_that_are_won)
{
    check_that_both_are_served(multi_mutex(*one.locks, {"seat", "table"}, options));
}

BOOST_AUTO_TEST_CASE(operation_that_came_back_is_asked_for_when_several_names_are_not_wanted_any_more)
{
    let_second_ask_beside();
    auto const several = begin_to_want(multi_mutex(*one.locks, {"seat", "table"}, options));
    pass(100ms);
    cut();
    pass(25s);
    several->stop.emit(asio::cancellation_type::total);
    pass(1s);
    theirs->held = {};
    first->held = {};
    pass(30s);
    BOOST_TEST(second->held.valid());
}

/// Each by its own patience.
// rule Q15
BOOST_AUTO_TEST_CASE(outage_ends_waiters_that_came_back_in_time)
{
    let_second_ask_beside();
    auto const third = begin_to_want(pool(one, 100));
    pass(100ms);
    for (std::size_t n = 0; n != net.size(); ++n)
        net.kill(n);
    pass(options.retry.outage_patience + 2s);
    BOOST_TEST((third->ended == errc::no_quorum));
    BOOST_TEST((second->ended == errc::no_quorum));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

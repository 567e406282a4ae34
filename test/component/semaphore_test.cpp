// SPDX-License-Identifier: BSL-1.0
// Semaphores: several permits of one name (docs/protocol.md, rules P1 to P9).
#include "component/semaphore_fixture.hpp"
#include <redlock/fenced_semaphore.hpp>
#include <redlock/node_outcome.hpp>
#include <redlock/semaphore.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace redlock::test {

BOOST_FIXTURE_TEST_SUITE(semaphores, semaphore_fixture)

// rule P1
BOOST_AUTO_TEST_CASE(permit_is_taken_and_given_back_everywhere)
{
    contender& one = add();
    auto const permit = want_some(one, 3);
    BOOST_TEST_REQUIRE(permit->held.valid());
    BOOST_TEST(permit->held.permits().size() == 1U);
    BOOST_TEST(permit->held.votes() == 3U);
    BOOST_TEST(keys() == (std::set<std::string>{"seat"}));
    permit->held = {};
    check_that_nothing_is_left();
}

// rule P2
BOOST_AUTO_TEST_CASE(there_are_so_many_permits_and_no_more)
{
    contender& one = add();
    contender& other = add();
    auto const a = want_some(one, 3);
    auto const b = want_some(other, 3);
    auto const c = want_some(one, 3);
    BOOST_TEST_REQUIRE((a->held.valid() && b->held.valid() && c->held.valid()));
    std::set<std::uint16_t> const numbers{of(*a)[0], of(*b)[0], of(*c)[0]};
    BOOST_TEST(numbers == (std::set<std::uint16_t>{0, 1, 2}));
    BOOST_TEST((try_once(pool(other, 3)) == errc::contended));
    BOOST_TEST((try_once(pool(one, 3)) == errc::contended));
    b->held = {};
    pass(round_trip);
    BOOST_TEST((try_once(pool(one, 3)) == error_code()));
}

// rule P3
BOOST_AUTO_TEST_CASE(refusal_says_that_the_permits_are_taken)
{
    contender& one = add();
    auto const all_of_them = want_some(one, 2, 2);
    semaphore lock = pool(add(), 2);
    BOOST_TEST((try_once(lock) == errc::contended));
    auto const table = lock.last_attempt();
    BOOST_TEST(std::ranges::all_of(table, [](node_outcome const& row) {
        return row.result == node_result::pending || row.holder == holder_kind::permits;
    }));
    std::string const said = lock.explain(errc::contended).what();
    BOOST_TEST(said.find("its permits are taken") != said.npos, said);
}

// rule Q4
BOOST_AUTO_TEST_CASE(permit_that_is_given_back_goes_to_the_first_position)
{
    contender& one = add();
    contender& second = add();
    contender& third = add();
    auto const held = want_some(one, 1);
    auto const first_in_line = want_some(second, 1);
    auto const behind = want_some(third, 1);
    BOOST_TEST(!first_in_line->ended.has_value());
    held->held = {};
    BOOST_TEST((until([&] { return first_in_line->held.valid(); }) <= 4 * round_trip + a_tick));
    BOOST_TEST(!behind->ended.has_value());
    first_in_line->held = {};
    BOOST_TEST((until([&] { return behind->held.valid(); }) <= 4 * round_trip + a_tick));
    behind->held = {};
    check_that_nothing_is_left();
}

// rule Q15
BOOST_AUTO_TEST_CASE(operations_of_one_client_ask_at_the_same_time)
{
    contender& one = add();
    auto some = want_at_once(one, 1000, 16);
    BOOST_TEST((until([&] { return held_of(some) == 16; }) <= 2 * round_trip + a_tick));
    std::set<std::uint16_t> numbers;
    for (auto const& each : some)
        numbers.insert(each->held.permits().front());
    BOOST_TEST(numbers.size() == some.size());
    some.clear();
    check_that_nothing_is_left();
}

/// A refused operation keeps its position, and a cancelled one leaves nothing behind.
// rule Q15
BOOST_AUTO_TEST_CASE(operations_that_ask_at_the_same_time_are_served_in_order)
{
    contender& one = add();
    contender& other = add();
    auto const theirs = want_at_once(other, 32, 30);
    pass(1s);
    BOOST_TEST_REQUIRE(held_of(theirs) == 30);
    auto const mine = want_at_once(one, 32, 6); // it does not know yet
    mine[4]->stop.emit(asio::cancellation_type::terminal);
    pass(1s);
    BOOST_TEST(held_of(mine) == 2);
    BOOST_TEST((mine[4]->ended == asio::error::operation_aborted));
    for (auto const& each : theirs) {
        auto const before = held_of(mine);
        each->held = {};
        pass(100ms);
        BOOST_TEST(held_of(mine) == std::min<std::ptrdiff_t>(before + 1, 5));
    }
    for (auto const& each : mine)
        each->held = {};
    check_that_nothing_is_left();
}

// rule Q15
BOOST_AUTO_TEST_CASE(outage_while_several_ask_ends_each_of_them)
{
    contender& one = add();
    auto const some = want_at_once(one, 1000, 10);
    for (std::size_t n = 0; n != net.size(); ++n)
        net.kill(n);
    pass(options.retry.outage_patience + 1s);
    for (auto const& each : some)
        BOOST_TEST((each->ended == errc::no_quorum));
}

// rules P3 and P8
BOOST_AUTO_TEST_CASE(several_permits_come_all_at_once_or_not_at_all)
{
    contender& one = add();
    contender& other = add();
    auto const a = want_some(one, 3, 2);
    BOOST_TEST_REQUIRE(a->held.permits().size() == 2U);
    auto const b = want_some(other, 3, 2);
    pass(1s);
    BOOST_TEST(!b->ended.has_value());
    a->held = {};
    BOOST_TEST((until([&] { return b->held.valid(); }) <= 5 * round_trip + a_tick));
    BOOST_TEST(b->held.permits().size() == 2U);
}

/// Many at once would starve otherwise.
// rules Q7 and P8
BOOST_AUTO_TEST_CASE(nobody_passes_waiter_for_more_permits_than_are_free)
{
    contender& one = add();
    contender& second = add();
    contender& third = add();
    auto const a = want_some(one, 3);
    auto const b = want_some(one, 3);
    auto const all_of_them = want_some(second, 3, 3);
    auto const one_of_them = want_some(third, 3);
    pass(30s);
    BOOST_TEST(!one_of_them->ended.has_value());
    a->held = {};
    pass(1s);
    BOOST_TEST(!one_of_them->ended.has_value());
    b->held = {};
    BOOST_TEST((until([&] { return all_of_them->held.valid(); }) <= 5 * round_trip + a_tick));
    all_of_them->held = {};
    BOOST_TEST((until([&] { return one_of_them->held.valid(); }) <= 5 * round_trip + a_tick));
}

/// Other clients come and go, and never take more than half: each of them passes once at most, before it is told of the
/// queue.
// rule Q7
BOOST_AUTO_TEST_CASE(waiter_for_all_permits_gets_them_among_waiters_for_few)
{
    contender& greedy = add();
    std::vector<std::unique_ptr<wish>> others;
    for (unsigned i = 0; i != 4; ++i) {
        others.push_back(want_some(add(), 10));
        BOOST_TEST_REQUIRE(others.back()->held.valid());
    }
    auto const whole = want_some(greedy, 10, 10);
    auto const come_and_go = [&] {
        for (unsigned i = 0; i != 4; ++i)
            if (others[i]->held.valid() && !whole->held.valid()) {
                others[i]->held = {};
                others[i] = want_some(*all[i + 1], 10); // has it for 100 ms
            }
        return whole->held.valid();
    };
    BOOST_TEST((until(come_and_go) <= 2s));
}

/// From whichever permit on the nodes look.
// rules Q14 and P4
BOOST_AUTO_TEST_CASE(nodes_that_gave_other_permits_give_those_of_the_queue_node)
{
    contender& one = add();
    occupy(where_all_meet(), "0");
    for (unsigned i = 0; i != 8; ++i) {
        auto const permit = want_some(one, 2);
        BOOST_TEST_REQUIRE(permit->held.valid());
        BOOST_TEST(permit->held.votes() == 3U);
        for (std::size_t n = 0; n != 3; ++n)
            BOOST_TEST((permits_on(n, *permit) == std::set<std::string>{"1"}));
    }
}

/// The node refuses exactly the permits that the other nodes gave.
// rule P4
BOOST_AUTO_TEST_CASE(node_without_the_permits_of_the_queue_node_has_none_of_the_lease)
{
    contender& one = add();
    std::size_t const other = (where_all_meet() + 1) % 3;
    occupy(other, "0", "600000");
    std::size_t with_two_votes = 0;
    for (unsigned i = 0; i != 8; ++i) {
        auto const permit = want_some(one, 2);
        BOOST_TEST_REQUIRE(permit->held.valid());
        bool const taken = of(*permit)[0] == 0;
        BOOST_TEST(permits_on(other, *permit).size() == (taken ? 0U : 1U));
        BOOST_TEST(permit->held.votes() == (taken ? 2U : 3U));
        with_two_votes += taken ? 1 : 0;
    }
    BOOST_TEST(with_two_votes != 0U);
}

/// A majority gives permits, but no majority has the same.
// rules P2 and P4
BOOST_AUTO_TEST_CASE(different_permits_of_different_nodes_are_not_one)
{
    contender& one = add();
    for (std::size_t n = 0; n != 3; ++n)
        for (std::size_t permit = 0; permit != 3; ++permit)
            if (permit != n)
                occupy(n, std::to_string(permit));
    BOOST_TEST((try_once(pool(one, 3)) == errc::contended));
    pass(1s);
    for (std::size_t n = 0; n != 3; ++n)
        BOOST_TEST(on(n, "seat")->hash.size() == 3U); // two permits, and when the first may end
}

/// Their answers would belong to others otherwise: a connection has only so many places for answers.
// rules A4 and P4
BOOST_AUTO_TEST_CASE(many_questions_for_the_chosen_permits_leave_room_for_other_answers)
{
    contender& one = add();
    std::size_t const chooser = 0;
    net.kill(2);
    std::vector<std::string> names;
    for (unsigned i = 0; names.size() != 50; ++i)
        if (std::string const name = "pool" + std::to_string(i); meeting_node(net, name) == chooser) {
            for (char const* const permit : {"1", "2", "3", "4", "5", "6", "7"})
                occupy(chooser, permit, "60000", name); // another node is likely to give one of these
            names.push_back(name);
        }
    (void)want(mutex(*one.locks, "connects", options));
    net.between(0, chooser).latency = 20ms;
    wishes permits;
    for (std::string const& name : names)
        permits.push_back(begin_to_want(semaphore(*one.locks, name, 8, options)));
    pass(39ms + 800us); // the choices come before the answers to what follows
    bool connects_anew = false;
    net.at(1).overhear = [&](auto, std::string_view said) {
        connects_anew = connects_anew || said.find("HELLO") != said.npos;
    };
    wishes others;
    for (unsigned i = 0; i != 110; ++i)
        others.push_back(begin_to_want(mutex(*one.locks, "other" + std::to_string(i), options)));
    pass(1s);
    for (wishes const* some : {&permits, &others})
        BOOST_TEST(held_of(*some) == static_cast<std::ptrdiff_t>(some->size()));
    for (auto const& each : permits)
        BOOST_TEST((of(*each) == numbers{0}));
    BOOST_TEST(!connects_anew); // as after an answer too many
}

/// It has lost the permit that another client has on a majority.
// rules N4 and P4
BOOST_AUTO_TEST_CASE(node_that_restarts_after_its_answer_is_not_asked_for_the_chosen_permits)
{
    contender& one = add();
    std::size_t const chooser = where_all_meet();
    std::size_t const restarted = (chooser + 1) % 3;
    std::size_t const third = (chooser + 2) % 3;
    occupy(chooser, "1");
    occupy(restarted, "0"); // and on the third node, so its holder has a majority
    occupy(third, "0");
    occupy(third, "1");
    (void)want(mutex(*one.locks, "connects", options));
    net.between(0, chooser).latency = 200ms;
    options.node_timeout = 2s;
    auto const two = pool(one, 2);
    auto const permit = begin_to_try(two);
    pass(10ms);
    net.kill(restarted);
    net.start(restarted);
    auto const connects_anew = begin_to_want(mutex(*one.locks, "connects anew", options));
    pass(1s);
    BOOST_TEST((permit->ended == errc::contended));
    BOOST_TEST(!on(restarted, "seat").has_value());
    BOOST_TEST((two.last_attempt()[restarted].result == node_result::quarantined));
}

// rule P4
BOOST_AUTO_TEST_CASE(late_vote_for_other_permits_gives_those_of_the_lease)
{
    contender& one = add();
    std::size_t const late = (where_all_meet() + 1) % 3;
    occupy(where_all_meet(), "0");
    net.between(0, late).latency = 20ms;
    for (unsigned i = 0; i != 8; ++i) {
        auto const permit = begin_to_want(pool(one, 2));
        (void)until([&] { return permit->held.valid(); });
        BOOST_TEST(permit->held.votes() == 2U);
        pass(200ms);
        BOOST_TEST(permit->held.votes() == 3U);
        BOOST_TEST((permits_on(late, *permit) == std::set<std::string>{"1"}));
        permit->held = {};
        pass(200ms);
    }
}

// rule P4
BOOST_AUTO_TEST_CASE(late_vote_for_other_permits_is_given_back_with_the_lease)
{
    contender& one = add();
    std::size_t const late = (where_all_meet() + 1) % 3;
    occupy(where_all_meet(), "0");
    net.between(0, late).latency = 20ms;
    for (unsigned i = 0; i != 8; ++i) {
        auto const permit = begin_to_want(pool(one, 2));
        (void)until([&] { return permit->held.valid(); });
        permit->held = {};
        pass(1s);
        BOOST_TEST(!on(late, "seat").has_value());
    }
}

/// The release waits behind it.
// rule P4
BOOST_AUTO_TEST_CASE(vote_that_waits_for_a_connection_is_given_back_with_the_lease)
{
    std::size_t const late = (where_all_meet() + 1) % 3;
    occupy(where_all_meet(), "0");
    for (unsigned i = 0; i != 8; ++i) {
        contender& one = add();
        net.between(i, late).latency = 20ms;
        auto const permit = begin_to_want(pool(one, 2));
        (void)until([&] { return permit->held.valid(); });
        permit->held = {};
        pass(1s);
        BOOST_TEST(!on(late, "seat").has_value());
    }
}

/// And then for its answer.
// rule P4
BOOST_AUTO_TEST_CASE(vote_that_waited_for_a_connection_is_given_back_before_its_answer)
{
    std::size_t const late = (where_all_meet() + 1) % 3;
    options.renew = false;
    occupy(where_all_meet(), "0");
    for (unsigned i = 0; i != 8; ++i) {
        contender& one = add();
        net.between(i, late).latency = 20ms;
        auto const permit = begin_to_want(pool(one, 2));
        (void)until([&] { return one.locks->node_table()[late].state == node_state::ready; });
        BOOST_TEST_REQUIRE(permit->held.valid());
        permit->held = {};
        pass(1s);
        BOOST_TEST(!on(late, "seat").has_value());
    }
}

// rule Q14
BOOST_AUTO_TEST_CASE(first_answer_chooses_if_the_queue_node_is_silent)
{
    contender& one = add();
    BOOST_TEST_REQUIRE(want_some(one, 8)->held.valid()); // it is connected
    pass(1s);
    net.at(where_all_meet()).stalled_until = 1h;
    auto const permit = begin_to_want(pool(one, 8));
    BOOST_TEST((until([&] { return permit->held.valid(); }) <= 4 * round_trip + 2ms));
    BOOST_TEST(permit->held.votes() == 2U);
}

// rule Q10
BOOST_AUTO_TEST_CASE(refusal_of_the_queue_node_refuses_the_attempt)
{
    contender& one = add();
    occupy(where_all_meet(), "0", "400");
    auto lock = pool(one, 1);
    BOOST_TEST((try_once(lock) == errc::contended));
    for (std::size_t n = 0; n != 3; ++n)
        BOOST_TEST((n == where_all_meet() || !on(n, "seat")));
}

/// Other clients wait for the permits that are free on the queue node.
// rule Q10
BOOST_AUTO_TEST_CASE(vote_passes_nobody_in_the_queue)
{
    contender& one = add();
    contender& second = add();
    auto const held = want_some(one, 3, 2);
    auto const waits = want_some(second, 3, 2);
    BOOST_TEST((try_once(pool(add(), 3)) == errc::contended));
    BOOST_TEST((try_once(pool(one, 3)) == errc::contended));
    held->held = {};
    BOOST_TEST((until([&] { return waits->held.valid(); }) <= 5 * round_trip + a_tick));
}

// rule P1
BOOST_AUTO_TEST_CASE(locks_of_other_kinds_and_permits_exclude_each_other)
{
    contender& one = add();
    contender& other = add();
    {
        auto const permit = want_some(one, 3);
        BOOST_TEST((try_once(mutex(*other.locks, "seat", options)) == errc::contended));
        BOOST_TEST((try_once(*other.shared) == errc::contended));
        BOOST_TEST((try_once(other.shared->shared()) == errc::contended));
        BOOST_TEST((try_once(pool(other, 3)) == error_code()));
    }
    pass(round_trip);
    {
        auto const held = want(mutex(*one.locks, "seat", options));
        BOOST_TEST((try_once(pool(other, 3)) == errc::contended));
    }
    pass(round_trip);
    {
        auto const held = want(one.shared->shared());
        BOOST_TEST((try_once(pool(other, 3)) == errc::contended));
    }
    pass(round_trip);
    BOOST_TEST((try_once(pool(other, 3)) == error_code()));
}

// rule P5
BOOST_AUTO_TEST_CASE(permits_are_renewed_all_of_them)
{
    options.ttl = 3s;
    contender& one = add();
    auto const some = want_some(one, 5, 3);
    pass(30s);
    BOOST_TEST(some->held.valid());
    BOOST_TEST((try_once(pool(add(), 5, 3)) == errc::contended));
    BOOST_TEST((try_once(pool(add(), 5, 2)) == error_code()));
}

// rule P5
BOOST_AUTO_TEST_CASE(permit_that_a_majority_has_lost_is_lost)
{
    options.ttl = 3s;
    contender& one = add();
    auto const some = want_some(one, 5, 2);
    std::optional<lease_end> told;
    some->held.ended([&](error_code, lease_end end) { told = end; });
    say(0, {"DEL", "seat"});
    pass(5s);
    BOOST_TEST(some->held.valid());
    say(1, {"DEL", "seat"});
    pass(3s);
    BOOST_TEST_REQUIRE(told.has_value());
    BOOST_TEST((*told == lease_end::lost));
}

// rule P5
BOOST_AUTO_TEST_CASE(permit_of_crashed_holder_is_free_with_its_time)
{
    options.ttl = 3s;
    contender& one = add();
    contender& other = add();
    auto const lost = want_some(one, 1);
    auto const next = want_some(other, 1);
    kill(0);
    BOOST_TEST((until([&] { return next->held.valid(); }) <= 4s));
}

// rule Q3
BOOST_AUTO_TEST_CASE(position_of_crashed_client_is_passed)
{
    contender& one = add();
    contender& second = add();
    contender& third = add();
    auto const held = want_some(one, 1);
    auto const gone = want_some(second, 1);
    auto const next = want_some(third, 1);
    kill(1);
    held->held = {};
    BOOST_TEST((until([&] { return next->held.valid(); }) <= 4 * round_trip + claim_window + a_tick));
}

// rule Q15
BOOST_AUTO_TEST_CASE(waiter_that_gives_up_leaves_nothing)
{
    contender& one = add();
    contender& other = add();
    auto const held = want_some(one, 2, 2);
    auto const waits = want_some(other, 2, 2);
    waits->stop.emit(asio::cancellation_type::total);
    pass(1s);
    BOOST_TEST_REQUIRE(waits->ended.has_value());
    held->held = {};
    check_that_nothing_is_left();
}

// rule P9
BOOST_AUTO_TEST_CASE(number_of_permits_may_be_changed)
{
    contender& one = add();
    contender& other = add();
    auto const a = want_some(one, 2);
    auto const b = want_some(one, 2);
    auto const c = want_some(other, 3);
    BOOST_TEST_REQUIRE(c->held.valid());
    BOOST_TEST((try_once(pool(one, 2)) == errc::contended));
    a->held = {};
    pass(round_trip);
    BOOST_TEST((try_once(pool(one, 2)) == errc::contended)); // two are still held
    b->held = {};
    pass(round_trip);
    BOOST_TEST((try_once(pool(one, 2)) == error_code()));
}

/// Without a queue the clients hear of changes.
// rule Q15
BOOST_AUTO_TEST_CASE(unqueued_client_gets_a_permit_too)
{
    options.fair = false;
    contender& one = add();
    contender& other = add();
    auto const held = want_some(one, 1);
    auto const waits = want_some(other, 1);
    pass(1s);
    BOOST_TEST(!waits->ended.has_value());
    held->held = {};
    BOOST_TEST((until([&] { return waits->held.valid(); }) <= 50ms));
}

/// If the user may vote, and may not queue.
// rules W2 and Q23
BOOST_AUTO_TEST_CASE(each_polling_operation_of_a_client_hears_of_permits)
{
    options.retry.max_delay = 10s;
    for (std::size_t n = 0; n != net.size(); ++n)
        net.at(n).redis.is.forbidden.insert("zadd");
    contender& one = add();
    contender& other = add();
    auto const held = want_at_once(one, 3, 3);
    pass(1s);
    auto const for_two = begin_to_want(pool(other, 3, 2));
    auto const for_one = begin_to_want(pool(other, 3));
    pass(3s);
    BOOST_TEST_REQUIRE(!for_one->ended.has_value());
    held.front()->held = {};
    BOOST_TEST((until([&] { return for_one->held.valid(); }) <= 50ms));
    BOOST_TEST(!for_two->ended.has_value());
    for_one->held = {};
    held.back()->held = {};
    BOOST_TEST((until([&] { return for_two->held.valid(); }) <= 1s));
}

/// A permit that is freed while the lease is held is handed on without the lease's nonce.
// rules Q5 and P4
BOOST_AUTO_TEST_CASE(freed_permit_does_not_make_room_for_others_where_the_lease_is_held)
{
    contender& one = add();
    contender& other = add();
    std::size_t const meeting = where_all_meet();
    auto const blocked = want_some(other, 2, 2);
    blocked->held = {};
    pass(1s);
    occupy(meeting, "0", "400");
    auto const both = want_some(other, 2, 2); // is queued
    std::unique_ptr<wish> const permit = want_some(one, 2);
    pass(3s);
    std::size_t valid = 0;
    for (auto const* each : {both.get(), permit.get()})
        valid += each->held.permits().size() * (each->held.valid() ? 1 : 0);
    BOOST_TEST(valid <= 2U);
    BOOST_TEST(valid >= 1U);
}

// rule P1
BOOST_AUTO_TEST_CASE(numbers_that_make_no_sense_are_refused)
{
    contender& one = add();
    auto const is_misconfigured = [](lock_error const& e) { return e.code() == errc::misconfigured; };
    BOOST_CHECK_EXCEPTION(semaphore(*one.locks, "seat", 0), lock_error, is_misconfigured);
    BOOST_CHECK_EXCEPTION(semaphore(*one.locks, "seat", 1025), lock_error, is_misconfigured);
    semaphore const three(*one.locks, "seat", 3);
    BOOST_CHECK_EXCEPTION((void)three.taking(0), lock_error, is_misconfigured);
    BOOST_CHECK_EXCEPTION((void)three.taking(4), lock_error, is_misconfigured);
    BOOST_CHECK_EXCEPTION(semaphore(*one.locks, "x:redlock-queue", 3), lock_error, is_misconfigured);
    BOOST_TEST(three.permits() == 3U);
    BOOST_TEST(three.taking(2).count() == 2U);
}

// rule P2
BOOST_AUTO_TEST_CASE(as_many_permits_as_there_may_be)
{
    contender& one = add();
    auto const all_of_them = want_some(one, 1024, 1024);
    BOOST_TEST_REQUIRE(all_of_them->held.valid());
    BOOST_TEST(all_of_them->held.permits().size() == 1024U);
    BOOST_TEST((try_once(pool(add(), 1024)) == errc::contended));
    all_of_them->held = {};
    check_that_nothing_is_left();
}

// rules P5 and F1
BOOST_AUTO_TEST_CASE(token_is_above_those_of_all_earlier_leases_of_each_permit)
{
    contender& one = add();
    contender& other = add();
    auto const fenced = [&](contender& by, unsigned count) {
        return want(fenced_semaphore(*by.locks, "seat", 3, options).taking(count));
    };
    std::vector<std::uint64_t> highest(3, 0);
    for (unsigned i = 0; i != 8; ++i) {
        auto const held = fenced(i % 2 == 0 ? one : other, 1 + i % 3);
        pass(100ms);
        BOOST_TEST_REQUIRE(held->held.valid());
        for (auto const permit : held->held.permits()) {
            BOOST_TEST(held->held.fencing_token() > highest[permit]);
            highest[permit] = held->held.fencing_token();
        }
        held->held = {};
        pass(100ms);
    }
    check_that_nothing_is_left();
}

// rule P1
BOOST_AUTO_TEST_CASE(short_leases_do_not_bring_the_end_of_a_long_one_nearer)
{
    for (std::size_t n = 0; n != net.size(); ++n)
        net.at(n).redis.is.script_time = 1;
    options.ttl = 60s;
    options.renew = false;
    auto const long_one = want_some(add(), 10);
    auto const ends = on(0, "seat")->expires;
    options.ttl = 1s;
    contender& other = add();
    for (unsigned i = 0; i != 20; ++i) {
        auto const short_one = want_some(other, 10);
        short_one->held.extend([](error_code) {});
        pass(10ms);
    }
    BOOST_TEST((on(0, "seat")->expires >= ends));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

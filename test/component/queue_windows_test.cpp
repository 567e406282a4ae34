// SPDX-License-Identifier: BSL-1.0
// What a silent next owner, a waiter that leaves and an open window cost the positions behind (docs/protocol.md, rules Q12 to
// Q19).
#include "component/queue_fixture.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

namespace {

/// After leases longer than this, a lock goes to unqueued clients.
constexpr duration longer_than_a_passage = 400ms;

/// The later waiters have heard that the lock has passed on, and asked for their new positions.
constexpr duration until_places_are_known = 300ms;

/// The called waiter's answer, and its claim: the time of a hand-over without any trouble.
constexpr duration time_to_hand_over = 4 * round_trip + a_tick;

/// A further client waits, to which the node is silent at first.
void add_while_silent(queue_fixture& in, std::size_t node)
{
    auto const host = static_cast<unsigned>(in.all.size());
    contender& late = in.add();
    late.lock->try_acquire([&](error_code ec, lease) { late.ended = ec; }); // connects
    in.pass(100ms);
    in.net.between(host, node).latency = 2 * claim_window;
    late.acquire();
    in.pass(claim_window + 10 * one_way);
    in.net.between(host, node).latency = one_way;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(queue_windows, queue_fixture)

// rule T3
BOOST_AUTO_TEST_CASE(silent_next_owners_cost_their_windows)
{
    for (int const silent : {1, 4})
        BOOST_TEST_CONTEXT(silent << " of them")
        {
            queue_fixture its;
            its.line_up_and_pass(static_cast<std::size_t>(silent) + 3);
            its.pass(until_places_are_known);
            for (std::size_t i = 2; i + 1 != its.all.size(); ++i)
                its.all[i]->process.pause_until(its.time.now() + 1h);
            its.all[1]->release();
            auto const took = its.until_granted(*its.all.back());
            BOOST_TEST((took >= silent * claim_window));
            BOOST_TEST((took <= (2 * silent - 1) * (claim_window + silent * a_tick) + time_to_hand_over));
        }
}

/// They are behind a silent waiter: a live one comes right behind it.
// rule T3
BOOST_AUTO_TEST_CASE(dead_waiters_behind_silent_next_owner_cost_nothing)
{
    line_up_and_pass(9);
    pass(until_places_are_known);
    all[2]->process.pause_until(time.now() + 1h);
    for (std::size_t i = 3; i != 8; ++i)
        kill(i);
    all[1]->release();
    BOOST_TEST((until([&] { return all.back()->holds(); }) <= claim_window + time_to_hand_over));
}

/// The queue's node is silent once. The waiter goes back to the queue of the other clients.
// rule Q17
BOOST_AUTO_TEST_CASE(node_that_was_silent_once_is_asked_again)
{
    line_up(2);
    std::size_t const first = where();
    add_while_silent(*this, first);
    pass(1s);
    BOOST_TEST(on(first, "seat:redlock-queue")->members.size() == 1U);
    pass(45s);
    BOOST_TEST(on(first, "seat:redlock-queue")->members.size() == 2U);
}

/// Also if the next node refuses the queue, which is not asked again.
// rule Q17
BOOST_AUTO_TEST_CASE(node_that_was_silent_once_is_asked_again_after_another_has_refused)
{
    line_up(2);
    std::size_t const first = where();
    say(node_after(first), {"SET", "seat:redlock-queue", "other data"});
    add_while_silent(*this, first);
    pass(46s);
    BOOST_TEST(on(first, "seat:redlock-queue")->members.size() == 2U);
}

/// If nobody handed the lock on, the next waiter waits for half a window before it asks.
// rule T3
BOOST_AUTO_TEST_CASE(silent_waiter_costs_half_as_much_again_when_lock_is_released_without_queue)
{
    line_up_and_pass(4);
    pass(until_places_are_known);
    all[2]->process.pause_until(time.now() + 1h);
    say_everywhere({"DEL", "seat"});
    auto const took = until_granted(*all[3]);
    BOOST_TEST((took >= claim_window));
    BOOST_TEST((took <= claim_window * 3 / 2 + time_to_hand_over + a_tick));
}

/// The previous owner is near, and its claim window ends long before that of a distant waiter.
// rule Q19
BOOST_AUTO_TEST_CASE(distant_waiter_lets_others_in_for_window_of_previous_owner)
{
    line_up(2);
    contender& far = add_far(70ms);
    far.acquire();
    pass(1s);
    all[0]->release();
    (void)until_granted(*all[1]);
    pass(longer_than_a_passage);
    all[1]->release();
    BOOST_TEST((until_granted(far) <= 3 * 70ms + 2 * 70ms + a_tick + time_to_hand_over));
}

// rule Q19
BOOST_AUTO_TEST_CASE(first_position_lets_the_window_pass)
{
    line_up_and_pass(3);
    pass(longer_than_a_passage);
    all[1]->release();
    BOOST_TEST((until_granted(*all[2]) >= 5 * round_trip)); // without a window it takes three
}

// rule Q12
BOOST_AUTO_TEST_CASE(waiter_that_leaves_while_lock_is_left_free_costs_nothing)
{
    line_up_and_pass(4);
    pass(longer_than_a_passage);
    all[1]->release();
    pass(one_way + 300us);
    all[2]->stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST((until_granted(*all[3]) <= time_to_hand_over));
}

/// The waiter asks when the holder's key would be gone, and not before.
// rule Q12
BOOST_AUTO_TEST_CASE(waiter_that_becomes_first_behind_leaver_asks_no_sooner)
{
    line_up_and_pass(4);
    pass(2 * claim_window);
    std::size_t const before = line_words;
    all[2]->stop.emit(asio::cancellation_type::terminal);
    pass(2 * claim_window);
    BOOST_TEST(line_words - before == 1U);
    all[1]->release();
    BOOST_TEST((until_granted(*all[3]) <= time_to_hand_over));
}

// rule Q19
BOOST_AUTO_TEST_CASE(operation_without_time_for_a_window_asks_at_once)
{
    contender& alone = add_far(5ms);
    for (duration const held : {duration(1s), duration(4s)}) { // the first connects, and measures
        alone.acquire();
        (void)until_granted(alone);
        pass(held);
        alone.release();
    }
    alone.lock->acquire_for(35ms, [&](error_code ec, lease got) {
        alone.ended = ec;
        alone.held = std::move(got);
    });
    (void)until_granted(alone);
}

/// Each release would pay for it ever after.
// rule Q13
BOOST_AUTO_TEST_CASE(unused_window_costs_no_tracking)
{
    contender& alone = add();
    for (auto const began = time.now(); time.now() - began < 2s; alone.release()) {
        alone.acquire();
        (void)until_granted(alone);
        pass(10ms);
    }
    BOOST_TEST(line_words > 2U);
    BOOST_TEST(!tracked);
    alone.acquire();
    add().acquire();
    pass(100ms);
    BOOST_TEST(tracked);
}

/// It was held when the client asked, and free when it asked again. So the client goes on letting others go first (rule W5).
BOOST_AUTO_TEST_CASE(lock_that_was_held_for_a_moment_was_held)
{
    contender& alone = add();
    auto const turn = [&] {
        alone.acquire();
        (void)until_granted(alone);
        pass(10ms);
        alone.release();
    };
    std::size_t asked = 0;
    auto const first_word = [&](std::string_view bytes) {
        if (bytes.find("redlock-queue") != bytes.npos && ++asked <= 2)
            asked == 1 ? occupy("60000") : say_everywhere({"DEL", "seat"});
    };
    for (std::size_t n = 0; n != net.size(); ++n)
        net.at(n).overhear = [=](auto, std::string_view bytes) { first_word(bytes); };
    while (asked == 0)
        turn();
    BOOST_TEST(asked >= 2U);
    std::size_t const before = asked;
    turn();
    BOOST_TEST(asked != before);
}

/// The connection tracks only after the answer to the first question; the other ones have been sent by then.
// rule Q13
BOOST_AUTO_TEST_CASE(waiter_for_many_locks_at_once_hears_of_each)
{
    for (bool const line : {true, false})
        BOOST_TEST_CONTEXT((line ? "in line" : "by turns"))
        {
            queue_fixture its;
            contender& holder = its.add();
            contender& waiter = its.add();
            lock_options terms = its.options;
            terms.fair = line;
            std::vector<fenced_mutex> locks;
            std::vector<lease> held(8);
            std::vector<lease> got(held.size());
            for (std::size_t i = 0; i != held.size(); ++i) {
                locks.emplace_back(*holder.locks, "seat" + std::to_string(i), terms);
                locks.back().acquire([&, i](error_code, lease one) { held[i] = std::move(one); });
            }
            its.pass(100ms);
            for (std::size_t i = 0; i != held.size(); ++i) {
                locks.emplace_back(*waiter.locks, "seat" + std::to_string(i), terms);
                locks.back().acquire([&, i](error_code, lease one) { got[i] = std::move(one); });
            }
            its.pass(100ms);
            held.clear();
            auto const served = [&] {
                return std::ranges::all_of(got, [](lease const& l) { return l.valid(); });
            };
            BOOST_TEST((its.until(served) <= 10 * round_trip));
        }
}

/// The node tells of no change meanwhile.
// rule Q13
BOOST_AUTO_TEST_CASE(waiter_asks_for_tracking_again_if_the_node_was_too_busy)
{
    unsigned asked = 0;
    for (std::size_t n = 0; n != net.size(); ++n)
        net.at(n).garble = [&](auto, std::string said) {
            if (said.starts_with("+OK\r\n+LINE") && ++asked == 1)
                return "-BUSY Redis is busy running a script.\r\n" + said.substr(5);
            return asked == 1 && said.find("invalidate") != said.npos ? std::string() : said;
        };
    occupy("3600000");
    contender& one = add();
    one.acquire();
    pass(1s);
    BOOST_TEST(asked == 2U);
    for (std::size_t n = 0; n != net.size(); ++n)
        say(n, {"DEL", "seat"});
    BOOST_TEST((until_granted(one) <= 4 * round_trip + a_tick));
}

/// Each of the two questions has its own time.
// rule Q13
BOOST_AUTO_TEST_CASE(distant_waiter_enters_queue_of_a_node_that_does_not_track_yet)
{
    options.ttl = 1s;
    add().acquire();
    pass(100ms);
    contender& far = add_far(18ms);
    far.acquire();
    pass(1s);
    BOOST_TEST((far.told->before == std::vector<std::size_t>{0}));
}

/// Called waiters that leave pass on for how long the lock has been in the queue.
// rule Q19
BOOST_AUTO_TEST_CASE(next_owners_that_leave_do_not_keep_others_out)
{
    line_up_and_pass(4);
    lock_options without = options;
    without.fair = false;
    contender& outside = add(without);
    outside.acquire();
    auto last = time.now();
    auto const pass_on = [&](std::size_t i) {
        all[i]->release();
        all[i]->acquire();
        if (time.now() - last < 100ms)
            return;
        last = time.now();
        pass(one_way + 200us); // it is called
        contender& next = *all[(i + 1) % 4];
        next.stop.emit(asio::cancellation_type::terminal);
        pass(2ms);
        next.acquire();
    };
    auto const let_in = [&] {
        for (std::size_t i = 0; i != 4; ++i)
            if (all[i]->holds())
                pass_on(i);
        return outside.holds();
    };
    BOOST_TEST((until(let_in, 10s) <= 1s));
}

/// It is not the first before the other queue has answered.
// rule Q17
BOOST_AUTO_TEST_CASE(position_in_other_queue_is_told_anew)
{
    line_up(4);
    BOOST_TEST(all[3]->told->before.size() == 1U);
    net.kill(where());
    pass(1s);
    BOOST_TEST((all[3]->told->before == std::vector<std::size_t>{2, 2}));
}

// rule Q15
BOOST_AUTO_TEST_CASE(next_waiter_is_told_the_position_it_takes_over)
{
    line_up(2);
    lease next;
    all[1]->lock->acquire([&](error_code, lease got) { next = std::move(got); });
    pass(10ms);
    BOOST_TEST((all[1]->told->before == std::vector<std::size_t>{0}));
    all[1]->stop.emit(asio::cancellation_type::terminal);
    pass(10ms);
    BOOST_TEST((all[1]->told->before == std::vector<std::size_t>{0, 0}));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

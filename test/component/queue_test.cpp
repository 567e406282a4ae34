// SPDX-License-Identifier: BSL-1.0
// Queued with other clients: servers and processes are simulated, and so is their time.
#include "component/queue_fixture.hpp"

namespace redlock::test {

BOOST_FIXTURE_TEST_SUITE(client_queues, queue_fixture)

// rule Q4
BOOST_AUTO_TEST_CASE(waiters_are_served_as_they_came)
{
    line_up(5);
    for (std::size_t i = 0; i + 1 != all.size(); ++i) {
        all[i]->release();
        (void)until_granted(*all[i + 1]);
        for (std::size_t later = i + 2; later != all.size(); ++later)
            BOOST_TEST(!all[later]->holds());
    }
}

/// From the second hand-over on the releasing client knows of other clients.
// rule Q4
BOOST_AUTO_TEST_CASE(lock_passes_in_two_round_trips)
{
    line_up_and_pass(6);
    for (std::size_t i = 1; i + 1 != all.size(); ++i) {
        pass(20ms);
        all[i]->release();
        BOOST_TEST((until_granted(*all[i + 1]) <= 2 * round_trip + 200us));
    }
}

// rule Q23
BOOST_AUTO_TEST_CASE(commands_of_a_lease_do_not_depend_on_how_many_wait)
{
    line_up_and_pass(20);
    std::size_t const before = commands;
    constexpr unsigned leases = 17;
    for (std::size_t i = 1; i != leases + 1; ++i) {
        pass(5ms);
        all[i]->release();
        (void)until_granted(*all[i + 1]);
        all[i]->acquire();
    }
    std::size_t const each = 2 * net.size() + 2;
    BOOST_TEST(commands - before <= leases * each + each); // and what was on its way then
}

// rule Q11
BOOST_AUTO_TEST_CASE(lone_client_sends_no_queue_requests)
{
    contender& alone = add();
    unsigned const batch = options.handover.batch; // then it asks whether other clients are queued
    for (unsigned i = 0; i != batch; ++i) {
        alone.acquire();
        (void)until_granted(alone);
        alone.release();
    }
    pass(1s);
    BOOST_TEST(line_words == 0U);
}

/// A queue that has ended leaves no trace: a client that knows of others asks the queue first, once.
// rule Q11
BOOST_AUTO_TEST_CASE(client_that_is_alone_again_sends_no_queue_requests)
{
    line_up_and_pass(2);
    for (int i = 0; i != 3; ++i) {
        all[1]->release();
        pass(10ms);
        all[1]->acquire();
        (void)until_granted(*all[1]);
    }
    line_words = 0;
    for (int i = 0; i != 10; ++i) {
        all[1]->release();
        pass(10ms);
        all[1]->acquire();
        BOOST_TEST((until_granted(*all[1]) <= round_trip + 200us));
    }
    BOOST_TEST(line_words == 0U);
}

// rule T3
BOOST_AUTO_TEST_CASE(killed_waiter_costs_nothing)
{
    line_up_and_pass(4);
    kill(2);
    all[1]->release();
    BOOST_TEST((until_granted(*all[3]) <= 2 * round_trip + 200us));
}

// rule Q16
BOOST_AUTO_TEST_CASE(paused_waiter_costs_its_time_once)
{
    line_up_and_pass(5);
    all[2]->process.pause_until(time.now() + 1h);
    all[1]->release();
    BOOST_TEST((until_granted(*all[3]) <= claim_window + 3 * round_trip + a_tick));
    all[3]->release();
    BOOST_TEST((until_granted(*all[4]) <= 2 * round_trip + 200us));
}

/// The lock was handed to it, and it came too late to take it.
// rule Q16
BOOST_AUTO_TEST_CASE(paused_waiter_enters_queue_again)
{
    line_up_and_pass(4);
    all[2]->process.pause_until(time.now() + 1s);
    all[1]->release();
    (void)until_granted(*all[3]);
    pass(2s);
    BOOST_TEST(all[3]->holds());
    BOOST_TEST(!all[2]->holds());
    all[3]->release();
    BOOST_TEST((until_granted(*all[2]) <= 1s));
}

// rule Q12
BOOST_AUTO_TEST_CASE(waiter_that_leaves_is_left_out)
{
    line_up_and_pass(4);
    all[2]->stop.emit(asio::cancellation_type::terminal);
    pass(10ms);
    BOOST_TEST((*all[2]->ended == asio::error::operation_aborted));
    all[1]->release();
    BOOST_TEST((until_granted(*all[3]) <= 2 * round_trip + 200us));
}

/// The lock is on its way to the waiter, which passes it on.
// rule Q12
BOOST_AUTO_TEST_CASE(waiter_that_leaves_when_it_is_called_passes_lock_on)
{
    line_up_and_pass(4);
    all[1]->release();
    pass(one_way + 200us); // handed over, and not heard of yet
    all[2]->stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST((until_granted(*all[3]) <= 4 * round_trip));
}

// rule T3
BOOST_AUTO_TEST_CASE(holder_that_is_killed_is_waited_out)
{
    line_up_and_pass(3);
    kill(1);
    duration const longest = options.ttl + options.ttl / 10;
    BOOST_TEST((until_granted(*all[2]) <= longest + 20ms));
}

// rule Q13
BOOST_AUTO_TEST_CASE(lock_that_is_released_by_other_library_goes_to_first_position)
{
    occupy("600000");
    for (int i = 0; i != 3; ++i) {
        add().acquire();
        pass(100ms);
    }
    say_everywhere({"DEL", "seat"});
    BOOST_TEST((until_granted(*all[0]) <= 3 * round_trip + a_tick));
    BOOST_TEST(!all[1]->holds());
}

/// An unqueued client was faster on the other nodes.
// rule Q19
BOOST_AUTO_TEST_CASE(overtaken_next_owner_waits_and_is_served)
{
    overtake_next_owner("700");
    pass(600ms);
    BOOST_TEST(!all[2]->holds());
    BOOST_TEST((until_granted(*all[2]) <= 400ms));
}

/// The lock is kept for the claim on the queue node until its window ends.
// rule Q8
BOOST_AUTO_TEST_CASE(claim_is_sent_again_to_nodes_that_refused_it)
{
    std::size_t const first = overtake_next_owner("10000");
    pass(2 * round_trip);
    BOOST_TEST_REQUIRE(!all[2]->holds());
    std::size_t const before = commands;
    vacate_all_but(first);
    BOOST_TEST((until_granted(*all[2]) <= claim_window - 3 * round_trip));
    BOOST_TEST(all[2]->held.attempts() == 2U); // the vote before it entered the queue, and one claim
    BOOST_TEST(commands - before <= 6U);       // two nodes, at most three times
}

/// The validity counts from the first sending, as the keys of the nodes that granted it do.
// rule Q8
BOOST_AUTO_TEST_CASE(claim_that_is_sent_again_has_the_deadline_of_the_first_sending)
{
    std::size_t const first = overtake_next_owner("10000");
    duration const sent = time.now();
    pass(20ms);
    vacate_all_but(first);
    (void)until_granted(*all[2]);
    auto const drift = options.ttl / 100 + 2ms;
    BOOST_TEST((all[2]->held.remaining() <= options.ttl - drift - (time.now() - sent) + 4 * one_way));
}

/// Otherwise a waiter that pauses between two sendings would have a longer claim window from then on.
BOOST_AUTO_TEST_CASE(pauses_of_a_claim_are_no_round_trips)
{
    line_up(2);
    contender& far = add_far(10ms);
    far.acquire();
    pass(1s);
    std::size_t const first = where();
    all[0]->release();
    (void)until_granted(*all[1]);
    all[1]->release();
    pass(one_way + 200us);
    for_all_but(first, [&](std::size_t n) { say(n, {"SET", "seat", std::string(32, 'f'), "PX", "70"}); });
    (void)until_granted(far);
    BOOST_TEST((far.held.attempts() == 2U));
    far.release();
    all[1]->acquire();
    (void)until_granted(*all[1]);
    far.acquire();
    pass(1s);
    auto const place = on(where(), "seat:redlock-queue")->members.range(0, 0)[0].name;
    BOOST_TEST(place.substr(33, 7) <= "0000165");
}

/// Otherwise each wait would make the next one longer, up to the far node's time.
// rule Q10
BOOST_AUTO_TEST_CASE(wait_for_the_queue_node_is_no_round_trip)
{
    contender& one = add();
    one.read();
    (void)until_granted(one);
    one.release();
    net.between(0, meeting_node(net, "seat")).latency = 50ms;
    for (unsigned i = 0; i != 40; ++i) {
        one.read();
        BOOST_TEST((until_granted(one) <= 3 * round_trip + 2 * a_tick));
        one.release();
        pass(200ms);
    }
}

/// Clients outside the queue that are quicker do not cost a waiter its whole wait.
// rule Q9
BOOST_AUTO_TEST_CASE(waiter_whose_claim_was_refused_comes_back_in_front)
{
    line_up_and_pass(5);
    std::size_t const first = where();
    all[1]->release();
    pass(one_way + 200us);
    for_all_but(first, [&](std::size_t n) {
        say(n, {"SET", "seat", std::string(32, 'f'), "PX", std::to_string(2 * claim_window / 1ms)});
    });
    (void)until([&] { return all[2]->holds() || all[3]->holds() || all[4]->holds(); });
    BOOST_TEST(all[2]->holds());
    all[2]->release();
    (void)until([&] { return all[3]->holds() || all[4]->holds(); });
    BOOST_TEST(all[3]->holds());
}

/// The answer to a question that was executed after the call says that the call is over.
// rule Q3
BOOST_AUTO_TEST_CASE(call_that_arrives_before_an_answer_does_not_count_by_itself)
{
    line_up(2);
    std::size_t const first = where();
    std::string const position = on(first, "seat:redlock-queue")->members.range(0, 0)[0].name;
    std::string const owner(32, 'f');
    net.between(1, static_cast<unsigned>(first)).latency = 10ms;
    say(first, {"SET", "seat", owner, "PX", "10000"}); // The waiter hears of it, and asks again.
    pass(15ms);
    std::size_t const before = commands;
    say(first, {"PUBLISH", position.substr(48), "take " + position.substr(0, 32) + " 0 " + owner});
    pass(30ms);
    BOOST_TEST(commands - before <= 1U);
    BOOST_TEST(on(first, "seat:redlock-queue")->members.size() == 1U);
}

/// An immediate second try would be overtaken again. Between its votes are pauses of 100 ms on average.
// rule Q9
BOOST_AUTO_TEST_CASE(overtaken_next_owner_does_not_ask_early)
{
    overtake_next_owner("10000");
    pass(100ms);
    std::size_t const before = commands;
    pass(5s);
    BOOST_TEST(!all[2]->holds());
    BOOST_TEST(commands - before <= 50U * 20U);
}

/// A client that comes just when the lock passes on finds no node free.
// rule Q11
BOOST_AUTO_TEST_CASE(newcomer_does_not_come_between)
{
    line_up(3);
    contender& newcomer = add();
    newcomer.lock->try_acquire([&](error_code ec, lease) { newcomer.ended = ec; }); // connects
    pass(100ms);
    all[0]->release();
    (void)until_granted(*all[1]);
    for (std::size_t n = 0; n != net.size(); ++n)
        net.between(2, n).latency = 5ms; // the next owner claims late
    all[1]->release();
    pass(one_way + 100us);
    newcomer.ended.reset();
    newcomer.lock->try_acquire([&](error_code ec, lease) { newcomer.ended = ec; });
    pass(round_trip + 200us);
    BOOST_TEST_REQUIRE(newcomer.ended.has_value());
    BOOST_TEST((*newcomer.ended == errc::contended));
    BOOST_TEST((until_granted(*all[2]) <= 50ms));
}

// rule Q17
BOOST_AUTO_TEST_CASE(next_node_keeps_queue_when_first_is_gone)
{
    line_up_and_pass(4);
    net.kill(where());
    pass(100ms);
    all[1]->release();
    (void)until([&] { return all[2]->holds() || all[3]->holds(); }, 1s);
    contender& next = all[2]->holds() ? *all[2] : *all[3];
    contender& last = all[2]->holds() ? *all[3] : *all[2];
    next.release();
    BOOST_TEST((until_granted(last) <= 1s));
}

// rule Q17
BOOST_AUTO_TEST_CASE(waiter_whose_connection_is_reset_enters_again)
{
    line_up_and_pass(3);
    net.reset_connections(where());
    pass(500ms);
    all[1]->release();
    BOOST_TEST((until_granted(*all[2]) <= 100ms));
}

/// A right that one node denies exists on the next one. A right that all nodes deny makes the waiters ask in sequence.
// rule Q15
BOOST_AUTO_TEST_CASE(without_rights_waiters_ask_meeting_node_first)
{
    for (std::string const right : {"zadd", "zrange"})
        for (bool const everywhere : {false, true}) {
            BOOST_TEST_CONTEXT(right << (everywhere ? " everywhere" : " on one node"))
            {
                all.clear();
                for (std::size_t n = 0; n != net.size(); ++n)
                    net.at(n).redis.is.forbidden =
                        everywhere || n == 0 ? std::set{right} : std::set<std::string>{};
                line_up(3);
                serve_all(1s);
            }
        }
}

// rule Q15
BOOST_AUTO_TEST_CASE(unqueued_waiter_asks_meeting_node_first)
{
    options.fair = false;
    line_up(2);
    all[0]->release();
    BOOST_TEST((until_granted(*all[1]) <= 1s));
    BOOST_TEST(line_words == 0U);
}

BOOST_AUTO_TEST_CASE(full_queue_lets_nobody_in)
{
    line_up(2);
    std::size_t const first = where();
    crowd(first);
    add().acquire();
    pass(100ms);
    BOOST_TEST(all[2]->told->before.empty());
    serve_all(1s);
}

/// The next node keeps a queue, where there is one (rule Q17).
BOOST_AUTO_TEST_CASE(foreign_data_under_name_of_queue_are_left_alone)
{
    line_up(2);
    std::size_t const first = where();
    say(first, {"SET", "seat:redlock-queue", "theirs"});
    add().acquire();
    pass(100ms);
    BOOST_TEST(all[2]->told->before.size() == 1U);
    BOOST_TEST((on((first + 1) % net.size(), "seat:redlock-queue") ||
                on((first + 2) % net.size(), "seat:redlock-queue")));
    say_everywhere({"SET", "seat:redlock-queue", "theirs"});
    add().acquire();
    pass(100ms);
    BOOST_TEST(all[3]->told->before.empty());
    serve_all(1s);
    for (std::size_t n = 0; n != net.size(); ++n)
        if (auto const line = on(n, "seat:redlock-queue"); line && line->is == world::keyspace::type::string)
            BOOST_TEST(line->text == "theirs");
}

// rule Q15
BOOST_AUTO_TEST_CASE(key_without_expiry_is_waited_for_without_queue)
{
    say_everywhere({"SET", "seat", "theirs"});
    add().acquire();
    pass(1s);
    for (std::size_t n = 0; n != net.size(); ++n)
        BOOST_TEST(!on(n, "seat:redlock-queue"));
    say_everywhere({"DEL", "seat"});
    BOOST_TEST((until_granted(*all[0]) <= 1s));
}

/// The key lives for longer than the waiters' own keys would, and one node alone has lost it.
// rule Q13
BOOST_AUTO_TEST_CASE(doubting_waiter_keeps_its_position_while_other_nodes_are_held)
{
    say_everywhere({"SET", "seat", std::string(32, 'f'), "PX", "600000"});
    lock_options brief = options;
    brief.ttl = 500ms;
    add(brief).acquire();
    pass(100ms);
    add().acquire();
    pass(100ms);
    say((where() + 1) % net.size(), {"DEL", "seat"});
    pass(5s);
    say_everywhere({"DEL", "seat"});
    (void)until([&] { return all[0]->holds() || all[1]->holds(); }, 1s);
    BOOST_TEST(all[0]->holds());
}

// rule Q13
BOOST_AUTO_TEST_CASE(key_that_only_queue_node_still_has_is_passed_by)
{
    say_everywhere({"SET", "seat", std::string(32, 'f'), "PX", "600000"});
    add().acquire();
    pass(100ms);
    std::size_t const first = where();
    for (std::size_t n = 0; n != net.size(); ++n)
        if (n != first)
            say(n, {"DEL", "seat"});
    duration const lifetime = options.ttl + options.ttl / 10;
    BOOST_TEST((until_granted(*all[0]) <= lifetime + 3 * round_trip + a_tick));
}

// rule Q15
BOOST_AUTO_TEST_CASE(try_acquire_never_enters_queue)
{
    line_up(1);
    contender& impatient = add();
    impatient.lock->try_acquire([&](error_code ec, lease) { impatient.ended = ec; });
    pass(100ms);
    BOOST_TEST((*impatient.ended == errc::contended));
    BOOST_TEST(line_words == 0U);
}

/// Its one vote would be the claim of an operation that waited.
// rule Q15
BOOST_AUTO_TEST_CASE(operation_of_one_attempt_never_enters_queue)
{
    line_up_and_pass(2);
    all[0]->acquire();
    pass(10ms);
    all[0]->stop.emit(asio::cancellation_type::terminal); // it knows of other clients now
    pass(10ms);
    std::optional<error_code> ended;
    all[0]->lock->try_acquire([&](error_code ec, lease) { ended = ec; });
    pass(100ms);
    BOOST_TEST_REQUIRE(ended.has_value());
    BOOST_TEST((*ended == errc::contended));
}

// rule Q15
BOOST_AUTO_TEST_CASE(next_waiter_that_wants_no_queue_leaves_it)
{
    line_up(1);
    contender& other = add();
    other.acquire();
    lock_options without = options;
    without.fair = false;
    mutex unqueued(*other.locks, "seat", without);
    lease got;
    unqueued.acquire([&](error_code, lease one) { got = std::move(one); });
    pass(100ms);
    (void)where();
    other.stop.emit(asio::cancellation_type::terminal);
    pass(10ms);
    for (std::size_t n = 0; n != net.size(); ++n)
        BOOST_TEST(!on(n, "seat:redlock-queue"));
    all[0]->release();
    (void)until([&] { return got.valid(); }, 1s);
}

/// Any holder leaves the lock free for a moment in time.
// rule Q19
BOOST_AUTO_TEST_CASE(unqueued_client_is_let_in)
{
    for (std::size_t const standing : {2U, 4U}) {
        all.clear();
        line_up_and_pass(standing);
        lock_options without = options;
        without.fair = false;
        contender& outside = add(without);
        outside.acquire();
        BOOST_TEST((until_let_in(outside, 10s) <= 600ms), standing << " stand in line");
    }
}

// rule Q19
BOOST_AUTO_TEST_CASE(many_operations_of_one_client_let_unqueued_client_in)
{
    contender& crowd = add();
    lock_options without = options;
    without.fair = false;
    contender& outside = add(without);
    std::deque<lease> held;
    auto const join = [&] {
        crowd.lock->acquire([&](error_code, lease one) { held.push_back(std::move(one)); });
    };
    for (int i = 0; i != 20; ++i)
        join();
    pass(20ms);
    outside.acquire();
    auto const took = until(
        [&] {
            while (!held.empty()) {
                held.pop_front();
                join();
            }
            return outside.holds();
        },
        10s);
    BOOST_TEST((took <= 600ms));
}

/// No client came, and queued waiters go on in their order.
// rule Q19
BOOST_AUTO_TEST_CASE(unused_window_goes_to_first_position)
{
    line_up_and_pass(3);
    all[0]->acquire();
    pass(10ms);
    duration longest{};
    for (std::size_t i = 1; i != 301; ++i) {
        contender& holder = *all[i % 3];
        BOOST_TEST_REQUIRE(holder.holds());
        holder.release();
        holder.acquire();
        longest = std::max(longest, until_granted(*all[(i + 1) % 3]));
    }
    duration const turn = 3 * round_trip;
    BOOST_TEST((longest > turn)); // there was one
    BOOST_TEST((longest <= turn + 3 * round_trip + a_tick));
}

/// The lock is kept for as long as the next owner needs, not the releasing client.
// rule Q16
BOOST_AUTO_TEST_CASE(lock_is_kept_for_distant_waiter)
{
    line_up(2);
    contender& far = add_far(70ms);
    far.acquire();
    pass(1s);
    add().acquire();
    pass(100ms);
    all[0]->release();
    (void)until_granted(*all[1]);
    all[1]->release();
    BOOST_TEST((until_granted(far) <= 220ms));
    far.release();
    BOOST_TEST((until_granted(*all[3]) <= 100ms));
}

/// The servers are in two places, and the queue is not where the majority is.
// rules Q16 and Q17
BOOST_AUTO_TEST_CASE(distant_queue_node_keeps_the_order)
{
    std::size_t const distant = meeting_node(net, "seat");
    for (unsigned host = 0; host != 4; ++host) {
        (void)add();
        net.between(host, distant).latency = 35ms;
    }
    pass(5s); // they measure
    for (auto const& one : all) {
        one->acquire();
        pass(200ms);
    }
    BOOST_TEST(on(distant, "seat:redlock-queue")->members.size() == 3U);
    for (auto const& one : all) {
        BOOST_TEST((until_granted(*one) <= 180ms));
        one->release();
    }
}

/// A next owner has waited: it does not wait for a node that has never answered.
// rule Q15
BOOST_AUTO_TEST_CASE(next_owner_of_fenced_lock_claims_at_once)
{
    contender& holder = add();
    holder.acquire(*holder.fenced);
    (void)until_granted(holder);
    settings.nodes.back() = "redis://127.78.0.1"; // nobody ever answers there
    settings.reconnect.connect_timeout = 1h;
    contender& next_owner = add();
    next_owner.acquire(*next_owner.fenced);
    pass(3s);
    BOOST_TEST((next_owner.told->before == std::vector<std::size_t>{0}));
    holder.release();
    BOOST_TEST((until_granted(next_owner) <= 20ms));
}

BOOST_AUTO_TEST_CASE(position_is_told_when_it_is_known_and_when_it_is_the_first)
{
    line_up(4);
    BOOST_TEST((all[1]->told->before == std::vector<std::size_t>{0}));
    BOOST_TEST((all[2]->told->before == std::vector<std::size_t>{1}));
    BOOST_TEST((all[3]->told->before == std::vector<std::size_t>{2}));
    all[0]->release();
    (void)until_granted(*all[1]);
    pass(10ms);
    BOOST_TEST((all[2]->told->before == std::vector<std::size_t>{1, 0}));
    BOOST_TEST((all[3]->told->before == std::vector<std::size_t>{2}));
}

// rule Q6
BOOST_AUTO_TEST_CASE(tokens_rise_along_the_queue)
{
    for (int i = 0; i != 4; ++i) {
        contender& one = add();
        one.acquire(*one.fenced);
        pass(100ms);
    }
    std::uint64_t last = 0;
    for (auto const& one : all) {
        (void)until_granted(*one);
        BOOST_TEST(one->held.fencing_token() > last);
        last = one->held.fencing_token();
        one->release();
    }
}

/// A client has one position, for the first of its waiters.
// rule Q15
BOOST_AUTO_TEST_CASE(client_has_one_position_for_all_of_its_operations)
{
    line_up(1);
    contender& other = add();
    std::vector<lease> got;
    for (int i = 0; i != 3; ++i)
        other.lock->acquire([&](error_code, lease one) { got.push_back(std::move(one)); });
    pass(100ms);
    say(where(), {"PERSIST", "seat:redlock-queue"});
    BOOST_TEST((other.told->before == std::vector<std::size_t>{0}));
    all[0]->release();
    for (std::size_t served = 1; served != 4; ++served) {
        (void)until([&] { return got.size() == served; }, 1s);
        got.back() = {};
    }
}

/// The other nodes are told of a release when the queue has answered: behind the votes of the next unqueued client.
BOOST_AUTO_TEST_CASE(own_release_behind_votes_of_next_operation_is_heard_of)
{
    line_up_and_pass(2);
    fenced_mutex other(*all[1]->locks, "seat"); // nothing is handed over to it; its refused votes listen
    lease next;
    other.acquire([&](error_code, lease got) { next = std::move(got); });
    pass(10ms);
    net.kill(2); // both other nodes are needed
    pass(10ms);
    all[1]->release();
    BOOST_TEST((until([&] { return next.valid(); }, 5s) <= 100ms));
}

/// The other nodes have lost the key.
// rule R2
BOOST_AUTO_TEST_CASE(queue_node_that_refuses_hands_nothing_on)
{
    line_up_and_pass(3);
    std::size_t const first = where();
    net.at(first).redis.is.forbidden = {"mget"}; // a plain release has none
    for_all_but(first, [&](std::size_t n) { say(n, {"DEL", "seat"}); });
    all[1]->release();
    pass(one_way + 200us); // the refusal is on its way back
    net.between(1, first).cut_back_until = time.now() + 20ms;
    pass(100ms);
    BOOST_TEST_REQUIRE(all[1]->told->released.has_value());
    BOOST_TEST(*all[1]->told->released == errc::lease_lost);
}

BOOST_AUTO_TEST_CASE(client_that_ends_amid_release_leaves_no_key)
{
    std::ranges::reverse(settings.nodes); // the one where they meet ends last
    line_up_and_pass(2);
    all[1]->release();
    pass(100us);
    all[1]->locks.reset();
    pass(1s);
    check_that_no_key_is_left();
}

// rule Q16
BOOST_AUTO_TEST_CASE(window_is_eight_round_trips)
{
    line_up(1);
    contender& one = add_far(10ms);
    one.acquire();
    pass(1s);
    auto const place = on(where(), "seat:redlock-queue")->members.range(0, 0)[0].name;
    BOOST_TEST(place.substr(33, 7) >= "0000160");
    BOOST_TEST(place.substr(33, 7) <= "0000162");
}

BOOST_AUTO_TEST_CASE(waiter_that_doubted_in_vain_finds_other_nodes_free_the_next_time)
{
    occupy("600000");
    add().acquire();
    pass(100ms);
    std::size_t const first = where();
    duration const lifetime = options.ttl + options.ttl / 10;
    pass(lifetime + 1s);
    BOOST_TEST(!all[0]->holds());
    vacate_all_but(first);
    BOOST_TEST((until_granted(*all[0]) <= lifetime));
}

BOOST_AUTO_TEST_CASE(nodes_that_were_free_at_different_times_are_no_majority)
{
    say_everywhere({"SET", "seat", std::string(32, 'f'), "PX", "600000"});
    lock_options brief = options;
    brief.ttl = 500ms;
    add(brief).acquire();
    pass(100ms);
    add().acquire();
    pass(100ms);
    std::size_t const first = where();
    for (std::size_t i = 1; i != net.size(); ++i) {
        std::size_t const n = (first + i) % net.size();
        say(n, {"DEL", "seat"});
        pass(1200ms);
        say(n, {"SET", "seat", std::string(32, 'f'), "PX", "600000"});
    }
    pass(2s);
    say_everywhere({"DEL", "seat"});
    (void)until([&] { return all[0]->holds() || all[1]->holds(); }, 1s);
    BOOST_TEST(all[0]->holds());
}

BOOST_AUTO_TEST_CASE(release_that_leaves_free_waits_for_late_answers)
{
    line_up_and_pass(3);
    pass(500ms);
    for (std::size_t n = 0; n != net.size(); ++n)
        net.between(1, n).latency = 60ms;
    all[1]->release();
    pass(300ms);
    BOOST_TEST_REQUIRE(all[1]->told->released.has_value());
    BOOST_TEST((*all[1]->told->released == error_code()));
}

// rule Q17
BOOST_AUTO_TEST_CASE(refused_queue_is_asked_again_in_next_connection)
{
    line_up(2);
    std::size_t const first = where();
    contender& other = add();
    net.at(first).redis.is.forbidden = {"zadd"};
    other.acquire();
    pass(100ms);
    other.stop.emit(asio::cancellation_type::terminal);
    pass(10ms);
    net.at(first).redis.is.forbidden = {};
    net.reset_connections(first, 2);
    other.lock->try_acquire([](error_code, lease) {}); // connects
    pass(500ms);
    other.acquire();
    pass(100ms);
    BOOST_TEST(on(first, "seat:redlock-queue")->members.size() == 2U);
}

/// The right was given after an operation was refused: to a command, or to the queue's key.
// rule Q17
BOOST_AUTO_TEST_CASE(refused_queue_is_asked_again_in_the_same_connection)
{
    for (bool const of_key : {false, true}) {
        queue_fixture its;
        its.add().acquire();
        its.add().acquire();
        its.pass(100ms);
        std::size_t const first = its.where();
        contender& other = its.add();
        auto& is = its.net.at(first).redis.is;
        of_key ? void(is.forbidden_key = "seat:redlock-queue") : void(is.forbidden = {"zadd"});
        other.acquire();
        its.pass(100ms);
        BOOST_TEST(its.on(first, "seat:redlock-queue")->members.size() == 1U);
        is.forbidden = {};
        is.forbidden_key.clear();
        other.stop.emit(asio::cancellation_type::terminal);
        its.pass(21s);
        other.acquire();
        its.pass(100ms);
        BOOST_TEST(its.on(first, "seat:redlock-queue")->members.size() == 2U);
    }
}

/// Redis 8 does not even subscribe without memory.
// rule Q15
BOOST_AUTO_TEST_CASE(queue_without_memory_is_asked_again_in_the_same_connection)
{
    line_up(2);
    std::size_t const first = where();
    contender& other = add();
    auto& is = net.at(first).redis.is;
    is.version = world::server::release::redis_8_6;
    is.out_of_memory = true;
    std::size_t const before = line_words;
    other.acquire();
    pass(100ms);
    BOOST_TEST(line_words - before < 20U); // in a hundred round trips
    other.stop.emit(asio::cancellation_type::terminal);
    pass(10ms);
    BOOST_TEST(on(first, "seat:redlock-queue")->members.size() == 1U);
    is.out_of_memory = false;
    other.acquire();
    pass(100ms);
    BOOST_TEST(on(first, "seat:redlock-queue")->members.size() == 2U);
}

/// Releases go to the node that keeps the queue.
// rule Q17
BOOST_AUTO_TEST_CASE(full_node_slows_no_hand_over)
{
    line_up(2);
    net.at(where()).redis.is.out_of_memory = true;
    for (int i = 0; i != 2; ++i)
        add().acquire();
    pass(1s);
    auto const holder = [this] {
        return std::ranges::find_if(all, [](auto const& one) { return one->holds(); });
    };
    unsigned slow = 0;
    for (unsigned served = 0; served != 100; ++served) {
        duration const took = until([&] { return holder() != all.end(); });
        BOOST_TEST_REQUIRE((holder() != all.end()));
        slow += took > 2 * round_trip + 200us;
        contender& its = **holder();
        pass(5ms);
        its.release();
        its.acquire();
    }
    BOOST_TEST(slow <= 10U); // each finds out that the node is full, and windows are opened (rule Q19)
}

/// A waiter for which all nodes were full enters the queue as soon as a vote shows that they are not.
// rule Q17
BOOST_AUTO_TEST_CASE(all_nodes_that_were_full_keep_queue_again_soon)
{
    auto const everywhere = [this](bool full) {
        for (std::size_t n = 0; n != net.size(); ++n)
            net.at(n).redis.is.out_of_memory = full;
    };
    line_up(1);
    for (int i = 0; i != 4; ++i)
        add().acquire();
    pass(3ms); // their votes are refused, and they are on the way into the queue
    everywhere(true);
    pass(500ms);
    for (std::size_t n = 0; n != net.size(); ++n)
        BOOST_TEST(!on(n, "seat:redlock-queue").has_value());
    everywhere(false);
    pass(1s);
    BOOST_TEST(on(where(), "seat:redlock-queue")->members.size() == 4U);
}

/// Nodes that do not vote for a fenced lock yet vote for a plain one.
// rule W1
BOOST_AUTO_TEST_CASE(next_operation_does_not_wait_for_the_quarantine_of_the_one_before_it)
{
    settings.admission.assume_fresh = false;
    time.after(1h, [] {}); // the servers are old, and have no marker
    pass(1h);
    contender& one = add();
    std::optional<error_code> ended;
    one.fenced->acquire_for(1s, [&](error_code ec, lease) { ended = ec; });
    one.acquire();
    BOOST_TEST((until_granted(one) < 1500ms));
    BOOST_TEST((ended == errc::timed_out));
}

/// A script reads a lock that others hold, which needs no memory.
// rule Q17
BOOST_AUTO_TEST_CASE(refusal_by_a_script_is_no_sign_of_memory)
{
    contender& holder = add();
    holder.acquire(*holder.fenced);
    (void)until_granted(holder);
    for (std::size_t n = 0; n != net.size(); ++n)
        net.at(n).redis.is.out_of_memory = true;
    add().acquire(*all.back()->fenced);
    pass(100ms);
    std::size_t const before = line_words;
    pass(2s);
    BOOST_TEST(line_words - before == 0U);
}

/// The other clients are queued where it can enter again.
// rule Q17
BOOST_AUTO_TEST_CASE(waiter_goes_back_to_queue_of_others_when_it_is_connected_again)
{
    line_up_and_pass(4);
    std::size_t const first = where();
    contender& far = add_far(5ms);
    far.acquire();
    pass(1s);
    net.reset_connections(first, 4);
    pass(1s);
    for (std::size_t n = 0; n != net.size(); ++n)
        BOOST_TEST(on(n, "seat:redlock-queue").has_value() == (n == first));
}

// rule Q17
BOOST_AUTO_TEST_CASE(new_client_enters_queue_of_others_though_it_is_connected_there_last)
{
    line_up_and_pass(4);
    std::size_t const first = where();
    contender& fresh = add();
    net.between(4, first).latency = 10ms;
    fresh.acquire();
    pass(200ms);
    for (std::size_t n = 0; n != net.size(); ++n)
        BOOST_TEST(on(n, "seat:redlock-queue").has_value() == (n == first));
}

/// A node is known by what it says it is.
// rule W3
BOOST_AUTO_TEST_CASE(clients_with_other_urls_of_the_nodes_share_one_queue)
{
    line_up(2);
    for (bool const by_path : {true, false}) {
        for (std::size_t n = 0; n != net.size(); ++n)
            settings.nodes[n] =
                by_path ? "unix://" + world::network::path_of(n) : "redis://" + world::network::name(n);
        add().acquire();
        pass(100ms);
    }
    for (std::size_t n = 0; n != net.size(); ++n)
        BOOST_TEST(on(n, "seat:redlock-queue").has_value() == (n == where()));
}

// rule K7
BOOST_AUTO_TEST_CASE(lock_must_not_have_the_name_of_a_second_key)
{
    contender& one = add();
    for (std::string const name :
         {"seat:redlock-queue", "seat:redlock-leader", "seat:redlock-fence", "redlock-marker"})
        BOOST_CHECK_EXCEPTION(mutex(*one.locks, name), lock_error,
                              [](lock_error const& e) { return e.code() == errc::misconfigured; });
}

/// Nothing is left of a queue that no waiter enters.
BOOST_AUTO_TEST_CASE(queue_expires)
{
    line_up(2);
    std::size_t const first = where();
    BOOST_TEST_REQUIRE(on(first, "seat:redlock-queue")->expires.has_value());
    kill(1);
    pass(61s);
    say(first, {"GET", "other"});
    std::int64_t const now = net.at(first).wall_us(time.now()) / 1000;
    BOOST_TEST(!net.at(first).redis.keys().shows("seat:redlock-queue", now));
}

/// The previous owner then finds the next owner's keys on the other nodes, as if its own had been lost (rules Q6 and
/// Q11).
// rule Q11
BOOST_AUTO_TEST_CASE(release_that_comes_behind_claims_of_next_owner_succeeds)
{
    for (unsigned const nodes : {2U, 3U, 4U})
        BOOST_TEST_CONTEXT(nodes << " nodes")
        {
            queue_fixture its(nodes);
            its.line_up_and_pass(3);
            its.delay_all_but(its.where(), 1, 10ms);
            its.all[1]->release();
            BOOST_TEST((its.until_granted(*its.all[2]) <= 2 * round_trip));
            its.pass(50ms);
            BOOST_TEST((its.all[1]->told->released == error_code()));
            BOOST_TEST(its.all[2]->holds());
        }
}

/// Whether it handed the lock on is not known then: what the other nodes answer counts (rule R2).
// rule Q11
BOOST_AUTO_TEST_CASE(queue_node_that_does_not_answer_release_loses_no_lease)
{
    struct fault {
        char const* name;
        void (*begin)(queue_fixture&, std::size_t node);
    };
    constexpr unsigned previous_owner = 1;
    for (auto const& [name, begin] :
         {fault{"silent", [](auto& its, auto node) { its.net.at(node).stalled_until = 1h; }},
          fault{"answer lost",
                [](auto& its, auto node) { its.net.between(previous_owner, node).cut_back_until = 1h; }},
          fault{"unreachable", [](auto& its, auto node) { its.net.at(node).reachable = false; }},
          fault{"down", [](auto& its, auto node) { its.net.kill(node); }}})
        for (bool const majority : {true, false})
            BOOST_TEST_CONTEXT(name << (majority ? "" : ", and another node silent"))
            {
                queue_fixture its;
                its.line_up_and_pass(3);
                std::size_t const first = its.where();
                begin(its, first);
                if (!majority)
                    its.net.at((first + 1) % its.net.size()).stalled_until = 1h;
                its.all[previous_owner]->release();
                its.pass(1s);
                BOOST_TEST((its.all[previous_owner]->told->released ==
                            (majority ? error_code() : make_error_code(errc::no_quorum))));
            }
}

/// Until the next refusal the client waits unqueued, and asks in sequence (rule Q9).
// rule Q15
BOOST_AUTO_TEST_CASE(waiter_that_found_queue_full_asks_it_again)
{
    line_up_and_pass(3);
    std::size_t const first = where();
    crowd(first);
    add().acquire();
    pass(100ms);
    BOOST_TEST(all[3]->told->before.empty());
    say(first, {"ZREM", "seat:redlock-queue", dead_position(0)});
    all[1]->release();
    (void)until_granted(*all[2]); // and none of those behind it lives
    pass(100ms);
    BOOST_TEST((all[3]->told->before == std::vector<std::size_t>{0}));
}

/// No node tells of own changes (rules Q13 and W2).
// rule Q13
BOOST_AUTO_TEST_CASE(release_of_adopted_lease_makes_position_ask_again)
{
    occupy("3600000");
    contender& one = add();
    one.acquire();
    pass(100ms);
    lock_options without = options;
    without.fair = false; // the release does not call the position
    lease adopted = mutex(*one.locks, "seat", without).adopt(std::string(32, 'f'));
    adopted.release([](error_code) {});
    BOOST_TEST((until_granted(one) <= 1s));
}

/// The nodes are asked for the operation already.
// rule W1
BOOST_AUTO_TEST_CASE(adopted_lease_is_not_handed_over_to_a_position)
{
    occupy("3600000");
    contender& one = add();
    one.acquire();
    pass(100ms);
    lease adopted = one.lock->adopt(std::string(32, 'f'));
    adopted.extend([](error_code) {});
    pass(100ms);
    BOOST_TEST_REQUIRE(adopted.valid());
    adopted.release([](error_code) {});
    (void)until_granted(one);
    BOOST_TEST(one.held.nonce() != std::string(32, 'f'));
}

/// Every other client cannot reach the node where the rest stands.
// rule Q17
BOOST_AUTO_TEST_CASE(two_queues_exclude_each_other_and_are_both_served)
{
    line_up(2);
    std::size_t const first = where();
    for (unsigned host = 2; host != 6; ++host) {
        if (host % 2 == 0)
            net.between(host, first).cut_there_until = 1h;
        add().acquire();
        pass(100ms);
    }
    for (std::size_t const n : {first, node_after(first)})
        BOOST_TEST(on(n, "seat:redlock-queue").has_value());
    for (unsigned host = 0; host != all.size(); ++host)
        for (std::size_t n = 0; n != net.size(); ++n)
            net.between(host, n).jitter = 2ms;
    auto const holds = [](auto const& one) { return one->holds(); };
    for (std::size_t left = 20 * all.size(); left != 0; --left) {
        (void)until([&] { return std::ranges::any_of(all, holds); }, 1s);
        pass(5 * round_trip);
        BOOST_TEST_REQUIRE(std::ranges::count_if(all, holds) == 1);
        (*std::ranges::find_if(all, holds))->release();
        if (left % all.size() == 1) // all have been served
            for (auto const& one : all)
                one->acquire();
    }
}

/// The queue's node grants a vote of an attempt that loses, in time or late. The first waiter hears of the rollback as
/// of any change, and is not called.
// rule Q5
BOOST_AUTO_TEST_CASE(votes_that_are_taken_back_are_not_handed_on)
{
    for (duration const latency : {one_way, 10 * one_way})
        BOOST_TEST_CONTEXT("vote after " << latency / 1us << " us")
        {
            bool called = false;
            queue_fixture its;
            its.occupy("8000");
            its.add().acquire();
            its.pass(100ms);
            std::size_t const first = its.where();
            contender& loser = its.add();
            auto const try_once = [&] {
                loser.lock->try_acquire([&](error_code ec, lease) { loser.ended = ec; });
            };
            try_once(); // connects
            its.pass(100ms);
            its.net.at(first).garble = [&](auto, std::string said) {
                called = called || said.find("take ") != said.npos;
                return said;
            };
            its.net.between(1, first).latency = latency;
            try_once();
            its.pass(latency - 300us);
            its.say(first, {"DEL", "seat"});
            its.pass(500us);
            BOOST_TEST_REQUIRE(its.on(first, "seat").has_value()); // the loser's
            its.pass(500us);
            its.vacate_all_but(first);
            BOOST_TEST((its.until_granted(*its.all[0]) <= 5 * round_trip));
            BOOST_TEST((loser.ended == errc::contended));
            BOOST_TEST(!called);
        }
}

/// Votes it had answered. For the claim window it is waited for.
// rule Q17
BOOST_AUTO_TEST_CASE(node_that_is_silent_to_entries_keeps_no_queue)
{
    line_up(2);
    std::size_t const first = where();
    std::set<world::server::connection_id> unheard;
    net.at(first).garble = [&](auto id, std::string said) {
        if (said.find("LINE ") != said.npos)
            unheard.insert(id);
        return unheard.contains(id) ? std::string() : said;
    };
    contender& late = add();
    late.lock->try_acquire([&](error_code ec, lease) { late.ended = ec; }); // connects
    pass(100ms);
    late.acquire();
    auto const placed = [&] { return !late.told->before.empty(); };
    BOOST_TEST((until(placed, 1s) <= claim_window + 4 * round_trip + a_tick));
    BOOST_TEST(on(node_after(first), "seat:redlock-queue").has_value());
    serve_all(1s);
}

/// No node would tell them of a release that bypasses the queue (rule Q13).
BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

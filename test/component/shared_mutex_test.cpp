// SPDX-License-Identifier: BSL-1.0
// Readers and writers as their clients see them (docs/protocol.md, rules S1 to S18), in simulated time.
#include "component/shared_fixture.hpp"
#include "kit/text.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::test {

BOOST_FIXTURE_TEST_SUITE(shared_mutexes, shared_fixture)

BOOST_AUTO_TEST_CASE(readers_hold_it_together)
{
    for (int i = 0; i != 3; ++i)
        add_reader();
    for (auto const& one : all) {
        BOOST_TEST(one->holds());
        BOOST_TEST(one->held.shared());
    }
    BOOST_TEST(members(0) == 3U);
    for (auto const& one : all)
        one->release();
    pass(100ms);
    check_that_no_key_is_left();
}

// rules S5 and S10
BOOST_AUTO_TEST_CASE(writer_excludes_everybody)
{
    contender& writer = add();
    writer.write();
    (void)until_granted(writer);
    BOOST_TEST(!writer.held.shared());
    contender& reader = add();
    contender& another = add();
    contender& plain = add();
    reader.read();
    another.write();
    plain.acquire();
    pass(5s);
    BOOST_TEST(!reader.holds());
    BOOST_TEST(!another.holds());
    BOOST_TEST(!plain.holds());
}

// rules S1 and S10
BOOST_AUTO_TEST_CASE(plain_lock_excludes_readers_and_writers)
{
    contender& plain = add();
    plain.acquire();
    (void)until_granted(plain);
    contender& reader = add();
    reader.read();
    pass(2s);
    BOOST_TEST(!reader.holds());
    plain.release();
    BOOST_TEST((until_granted(reader) <= hand_over));
    plain.acquire();
    pass(2s);
    BOOST_TEST(!plain.holds());
    reader.release();
    (void)until_granted(plain);
}

BOOST_AUTO_TEST_CASE(writer_follows_last_reader_at_once)
{
    contender& first = add_reader();
    contender& second = add_reader();
    contender& writer = add();
    writer.write();
    pass(1s);
    first.release();
    pass(1s);
    BOOST_TEST(!writer.holds());
    second.release();
    BOOST_TEST((until_granted(writer) <= hand_over));
}

/// A server does not tell a client of what that client has changed itself.
BOOST_AUTO_TEST_CASE(writer_follows_reader_of_its_client_that_leaves_while_it_votes)
{
    contender& one = add();
    for (int times = 0; times != 2; ++times) { // the first vote is said again anyway
        auto held = read_often(one, 1);
        one.write();
        pass(round_trip / 4);
        held.clear();
        BOOST_TEST((until_granted(one) <= hand_over));
        one.release();
        pass(100ms);
    }
}

BOOST_AUTO_TEST_CASE(readers_follow_writer_at_once)
{
    contender& writer = add();
    writer.write();
    (void)until_granted(writer);
    for (int i = 0; i != 4; ++i)
        add().read();
    pass(1s);
    writer.release();
    auto const all_read = [&] {
        return std::ranges::count_if(all, [](auto const& one) { return one->holds(); }) == 4;
    };
    BOOST_TEST((until(all_read) <= hand_over));
}

BOOST_AUTO_TEST_CASE(attempts_are_counted_with_the_pauses_between_them)
{
    contender& reader = add_reader();
    contender& writer = add();
    writer.write();
    pass(50ms);
    reader.release();
    BOOST_TEST((until_granted(writer) <= hand_over));
    BOOST_TEST(writer.held.attempts() == 2U);
}

/// New readers wait behind it (rules Q4 and Q10).
BOOST_AUTO_TEST_CASE(writer_that_waits_is_not_overtaken_by_readers)
{
    contender& first = add_reader();
    contender& writer = add();
    writer.write();
    pass(1s);
    contender& late = add();
    late.read();
    pass(5s);
    BOOST_TEST(!late.holds());
    first.release();
    BOOST_TEST((until_granted(writer) <= hand_over));
    writer.release();
    BOOST_TEST((until_granted(late) <= hand_over));
}

/// The readers entered before the writer (rule Q4).
BOOST_AUTO_TEST_CASE(readers_that_wait_are_not_overtaken_by_writers)
{
    contender& first = add();
    first.write();
    (void)until_granted(first);
    contender& reader = add();
    reader.read();
    pass(100ms);
    contender& second = add();
    second.write();
    pass(1s);
    first.release();
    BOOST_TEST((until_granted(reader) <= hand_over));
    BOOST_TEST(!second.holds());
    reader.release();
    BOOST_TEST((until_granted(second) <= hand_over));
}

BOOST_AUTO_TEST_CASE(writer_that_gives_up_keeps_nobody_out)
{
    contender& first = add_reader();
    contender& writer = add();
    writer.write();
    pass(1s);
    writer.stop.emit(asio::cancellation_type::terminal);
    contender& late = add();
    late.read();
    BOOST_TEST((until_granted(late) <= hand_over));
    BOOST_TEST(first.holds());
}

BOOST_AUTO_TEST_CASE(try_keeps_nobody_out)
{
    contender& first = add_reader();
    contender& writer = add();
    writer.shared->try_acquire([&](error_code ec, lease) { writer.ended = ec; });
    pass(100ms);
    BOOST_TEST((writer.ended == errc::contended));
    for (std::size_t n = 0; n != net.size(); ++n)
        BOOST_TEST(!on(n, "seat:redlock-queue"));
    contender& late = add();
    late.read();
    BOOST_TEST((until_granted(late) <= hand_over));
    BOOST_TEST(first.holds());
}

/// Waiters do not ask without a pause, and do not wake other waiters.
BOOST_AUTO_TEST_CASE(waiting_costs_few_commands)
{
    add_reader();
    for (int i = 0; i != 16; ++i)
        add().write();
    pass(2s);
    std::size_t const before = commands;
    pass(10s);
    BOOST_TEST_MESSAGE(commands - before);
    BOOST_TEST(commands - before <= 16 * 10 * 2); // two a second of each at most
}

/// Each renewal changes the key.
BOOST_AUTO_TEST_CASE(readers_that_renew_wake_nobody)
{
    contender& reader = add_reader();
    contender& writer = add();
    writer.write();
    pass(1s);
    std::size_t const before = commands;
    pass(1s);
    std::size_t const in_peace = commands - before;
    constexpr std::size_t times = 100;
    for (std::size_t i = 0; i != times; ++i) {
        reader.held.extend([](error_code) {});
        pass(10ms);
    }
    BOOST_TEST(commands - before <= net.size() * times + 3 * in_peace);
    BOOST_TEST(!writer.holds());
}

/// A majority would grant, but the queue node refuses.
// rule Q10
BOOST_AUTO_TEST_CASE(reader_heeds_the_queue_node)
{
    contender& first = add_reader();
    contender& writer = add();
    writer.write();
    pass(1s);
    contender& late = add();
    late.shared->try_acquire_shared([&](error_code ec, lease) { late.ended = ec; });
    pass(100ms);
    BOOST_TEST((late.ended == errc::contended));
    auto const table = late.shared->last_attempt();
    BOOST_TEST(std::ranges::count(table, holder_kind::waiting, &node_outcome::holder) == 1);
    for (std::size_t n = 0; n != net.size(); ++n) // granted votes are released
        BOOST_TEST(members(n) == 1U);
    first.release();
    BOOST_TEST((until_granted(writer) <= hand_over));
}

/// The answer of the queue node is not worth a whole timeout.
// rule Q10
BOOST_AUTO_TEST_CASE(reader_does_not_wait_for_a_silent_queue_node)
{
    contender& first = add_reader();
    contender& late = add_reader();
    late.release();
    contender& writer = add();
    writer.write();
    pass(1s);
    auto const queue_node = static_cast<unsigned>(where());
    writer.stop.emit(asio::cancellation_type::terminal);
    pass(1s);
    net.between(1, queue_node).latency = 1s;
    late.read();
    BOOST_TEST((until_granted(late) <= 2 * round_trip + 2ms + a_tick));
    BOOST_TEST(first.holds());
}

/// The reader has a position all the same, and polls (rule Q18).
BOOST_AUTO_TEST_CASE(unqueued_reader_passes_no_writer_that_waits)
{
    contender& first = add_reader();
    contender& writer = add();
    writer.write();
    pass(1s);
    lock_options without = options;
    without.fair = false;
    contender& outside = add(without);
    outside.read();
    for (int i = 0; i != 20; ++i) {
        pass(100ms);
        BOOST_TEST(!outside.ended.has_value());
    }
    for (std::size_t n = 0; n != net.size(); ++n)
        BOOST_TEST(members(n) == 1U);
    BOOST_TEST(on(where(), "seat:redlock-queue")->members.size() == 2U);
    first.release();
    BOOST_TEST((until_granted(writer) <= hand_over));
    pass(1s);
    BOOST_TEST(!outside.ended.has_value());
    writer.release();
    BOOST_TEST((until_granted(outside) <= options.retry.max_delay + hand_over));
}

/// The lock was free when it was voted for: no open window is owed for the time before (rule Q19).
BOOST_AUTO_TEST_CASE(reader_that_wins_a_vote_ends_the_passage)
{
    bool left_free = false;
    for (std::size_t n = 0; n != net.size(); ++n)
        net.at(n).overhear = [&](auto, std::string_view said) {
            left_free = left_free || said.find("\r\nfree\r\n") != said.npos;
        };
    contender& one = add();
    for (auto const began = time.now(); time.now() - began < 1s;) {
        one.write();
        (void)until_granted(one);
        one.release();
    }
    one.read();
    (void)until_granted(one);
    contender& writer = add();
    writer.write();
    pass(1s);
    one.release();
    (void)until_granted(writer);
    BOOST_TEST(!left_free);
}

// rule S18
BOOST_AUTO_TEST_CASE(readers_that_leave_during_an_extension_start_no_others)
{
    contender& one = add();
    auto held = read_often(one, 100);
    auto const before = commands;
    held.front().extend([](error_code) {});
    pass(one_way);
    held.clear();
    pass(1s);
    BOOST_TEST(commands - before <= 6U); // the extension, and the release
    check_that_no_key_is_left();
}

/// The round that one of them began for another goes on with the last.
// rule S18
BOOST_AUTO_TEST_CASE(extension_outlasts_readers_that_leave_in_one_turn)
{
    contender& one = add();
    auto held = read_often(one, 4);
    std::optional<error_code> extended;
    held.back().extend([&](error_code ec) { extended = ec; });
    pass(one_way);
    held.erase(held.begin(), held.begin() + 3);
    pass(100ms);
    BOOST_TEST((extended == error_code()));
}

/// Each of them knows why the key was lost.
// rule S18
BOOST_AUTO_TEST_CASE(readers_are_told_that_their_thread_was_late)
{
    options.ttl = 1s;
    contender& one = add();
    auto held = read_often(one, 3);
    one.process.pause_until(time.now() + 3s);
    pass(3s);
    pass(100ms);
    for (lease const& each : held)
        BOOST_TEST(contains(each.explain(errc::lease_lost).what(), "this client's thread was late by"),
                   each.explain(errc::lease_lost).what());
}

// rule S18
BOOST_AUTO_TEST_CASE(votes_of_readers_fall_with_the_nodes)
{
    contender& one = add();
    auto held = read_often(one, 2);
    net.kill(1);
    net.kill(2);
    std::optional<error_code> extended;
    held[1].extend([&](error_code ec) { extended = ec; });
    pass(2s);
    BOOST_TEST((extended == errc::no_quorum));
    BOOST_TEST(held[1].votes() == held[0].votes());
    BOOST_TEST(held[1].votes() == 1U);
}

// rule S18
BOOST_AUTO_TEST_CASE(readers_of_one_client_share_a_key)
{
    contender& one = add();
    auto held = read_often(one, 10'000);
    BOOST_TEST(all_valid(held));
    BOOST_TEST(members(0) == 1U);
    BOOST_TEST(commands <= 50U); // handshakes, and three votes
    contender& writer = add();
    writer.write();
    pass(1s);
    while (held.size() > 1)
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(held.size() / 2), held.end());
    pass(1s);
    BOOST_TEST(all_valid(held));
    BOOST_TEST(!writer.holds());
    held.clear();
    BOOST_TEST((until_granted(writer) <= hand_over));
}

// rule S18
BOOST_AUTO_TEST_CASE(shared_key_is_renewed_if_any_reader_leaves)
{
    options.ttl = 3s;
    contender& one = add();
    auto held = read_often(one, 4);
    for (std::size_t which : {0U, 1U, 1U}) {
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
        pass(20s);
        BOOST_TEST(all_valid(held));
    }
    BOOST_TEST(members(0) == 1U);
    held.clear();
    pass(100ms);
    check_that_no_key_is_left();
}

/// One reader renews the common key, whichever reader asks.
BOOST_AUTO_TEST_CASE(extension_of_one_renews_for_all)
{
    contender& one = add();
    auto held = read_often(one, 3);
    pass(5s);
    std::size_t done = 0;
    for (lease& each : held)
        each.extend([&](error_code ec) { done += ec ? 0U : 1U; });
    pass(100ms);
    BOOST_TEST(done == 3U);
    for (lease const& each : held)
        BOOST_TEST((each.remaining() > options.ttl - 1s));
}

// rule S18
BOOST_AUTO_TEST_CASE(lost_key_is_lost_to_all)
{
    contender& one = add();
    auto held = read_often(one, 5);
    std::size_t told = 0;
    for (lease& each : held)
        each.ended([&](error_code, lease_end end) { told += end == lease_end::lost ? 1U : 0U; });
    say_everywhere({"DEL", "seat"});
    held[2].extend([](error_code) {});
    pass(100ms);
    BOOST_TEST(told == 5U);
    for (lease const& each : held)
        BOOST_TEST((each.cause() == loss_cause::refused));
}

/// One of them asks the nodes, and all are told the answers.
BOOST_AUTO_TEST_CASE(loss_of_each_is_explained)
{
    options.ttl = 3s;
    contender& one = add();
    auto held = read_often(one, 3);
    net.kill(0);
    net.kill(1);
    pass(options.ttl);
    for (lease const& each : held) {
        auto const why = each.explain(errc::lease_lost);
        BOOST_TEST(why.outcomes().size() == net.size());
        BOOST_TEST(std::string_view(why.what()).find("unreachable") != std::string_view::npos);
    }
}

/// Also by those that notice it before the one that asked.
BOOST_AUTO_TEST_CASE(loss_of_each_names_silent_nodes)
{
    options.ttl = 1s + 200ms;
    options.node_timeout = 900ms;
    contender& one = add();
    auto held = read_often(one, 3);
    pass(10ms);
    for (unsigned i : {0U, 1U})
        net.at(i).stalled_until = time.now() + 10s;
    pass(options.ttl);
    for (lease const& each : held)
        BOOST_TEST(contains(each.explain(errc::lease_lost).what(), "silent for "),
                   each.explain(errc::lease_lost).what());
}

// rule S10
BOOST_AUTO_TEST_CASE(all_lose_it_in_time_without_a_majority)
{
    options.ttl = 3s;
    contender& one = add();
    auto held = read_often(one, 5);
    net.kill(0);
    net.kill(1);
    pass(3s);
    for (lease const& each : held) {
        BOOST_TEST(!each.valid());
        BOOST_TEST((each.state() == lease_state::lost));
    }
}

/// Each has a time of its own.
// rule S18
BOOST_AUTO_TEST_CASE(reader_whose_time_is_over_leaves_the_key_to_others)
{
    options.ttl = 3s;
    contender& one = add();
    lease first = read_for(one, 5s);
    auto held = read_often(one, 2);
    BOOST_TEST(members(0) == 1U);
    pass(6s);
    BOOST_TEST((first.cause() == loss_cause::max_hold));
    first = {};
    pass(20s);
    BOOST_TEST(all_valid(held));
}

/// The reader that goes on with its key has a table of its own.
BOOST_AUTO_TEST_CASE(table_of_reader_whose_time_is_over_stays_as_it_is)
{
    options.ttl = 3s;
    contender& one = add();
    lease first = read_for(one, 5s);
    auto const held = read_often(one, 1);
    net.kill(0);
    pass(6s);
    BOOST_TEST((first.cause() == loss_cause::max_hold));
    std::string const at_the_end = first.explain(errc::lease_lost).what();
    pass(10s);
    BOOST_TEST(first.explain(errc::lease_lost).what() == at_the_end);
    BOOST_TEST(held[0].explain(errc::no_quorum).what() != at_the_end);
}

/// The new leader of the key has one chance less to be renewed otherwise.
BOOST_AUTO_TEST_CASE(reader_without_time_left_passes_the_lead)
{
    options.ttl = 3s;
    contender& one = add();
    lease first = read_for(one, 4s);
    auto const held = read_often(one, 2);
    pass(2500ms); // renewed once, and for the last time by the first
    BOOST_TEST((held[0].remaining() > 1s));
    pass(1s);
    BOOST_TEST((held[0].remaining() > 1500ms));
}

/// One hangs, and renews for nobody.
// rule H8
BOOST_AUTO_TEST_CASE(active_reader_renews_for_stalled_ones)
{
    options.ttl = 3s;
    options.progress_within = 1s;
    contender& one = add();
    auto held = read_often(one, 6);
    for (int i = 0; i != 40; ++i) {
        held[3].progress();
        pass(500ms);
    }
    BOOST_TEST(held[3].valid());
    for (int i = 0; i != 10; ++i)
        pass(500ms);
    BOOST_TEST(!held[3].valid());
}

/// A reader that renews does not join one that does not.
BOOST_AUTO_TEST_CASE(reader_joins_no_lease_that_is_not_renewed)
{
    options.ttl = 3s;
    contender& one = add();
    lock_options brief = options;
    brief.renew = false;
    shared_mutex short_one(*one.locks, "seat", brief);
    lease first;
    short_one.acquire_shared([&](error_code, lease got) { first = std::move(got); });
    (void)until([&] { return first.valid(); });
    auto const held = read_often(one, 2);
    BOOST_TEST(members(0) == 2U);
    pass(10s);
    BOOST_TEST(!first.valid());
    BOOST_TEST(all_valid(held));
}

/// The next operation does not wait for the pause after another operation's refusal.
BOOST_AUTO_TEST_CASE(writer_behind_a_reader_that_leaves_asks_at_once)
{
    contender& other = add_reader();
    contender& rival = add();
    rival.write(); // new readers wait behind it
    pass(1s);
    contender& one = add();
    one.read();
    pass(100ms);
    bool granted = false;
    lease writes;
    one.lock->acquire([&](error_code, lease got) {
        granted = true;
        writes = std::move(got);
    });
    pass(10ms);
    other.release();
    rival.stop.emit(asio::cancellation_type::terminal);
    one.stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST((until([&] { return granted; }) <= hand_over));
}

/// The nodes know of writers of other clients.
// rule S18
BOOST_AUTO_TEST_CASE(readers_ask_again_after_the_period)
{
    contender& one = add();
    auto const held = read_often(one, 2);
    pass(options.handover.period);
    contender& writer = add();
    writer.write();
    pass(100ms);
    lease late;
    one.shared->acquire_shared([&](error_code, lease got) { late = std::move(got); });
    pass(2s);
    BOOST_TEST(!late.valid());
    BOOST_TEST(all_valid(held));
}

/// None overtakes a writer of its own client.
// rules W1 and S18
BOOST_AUTO_TEST_CASE(operations_of_one_client_are_served_in_order)
{
    contender& one = add();
    auto held = read_often(one, 2);
    std::vector<int> order;
    lease writes;
    lease reads;
    one.shared->acquire([&](error_code, lease got) {
        order.push_back(1);
        writes = std::move(got);
    });
    one.shared->acquire_shared([&](error_code, lease got) {
        order.push_back(2);
        reads = std::move(got);
    });
    pass(1s);
    BOOST_TEST(order.empty());
    held.clear();
    pass(100ms);
    BOOST_TEST((order == std::vector<int>{1}));
    writes = {};
    pass(100ms);
    BOOST_TEST((order == std::vector<int>{1, 2}));
}

BOOST_AUTO_TEST_CASE(writer_of_a_client_with_readers_keeps_others_out)
{
    contender& one = add();
    auto held = read_often(one, 2);
    lease writes;
    one.shared->acquire([&](error_code, lease got) { writes = std::move(got); });
    pass(1s);
    contender& other = add();
    other.read();
    pass(2s);
    BOOST_TEST(!other.holds());
    held.clear();
    BOOST_TEST((until([&] { return writes.valid(); }) <= hand_over));
    writes = {};
    BOOST_TEST((until_granted(other) <= hand_over));
}

/// Without messages from the servers the waiter asks again.
BOOST_AUTO_TEST_CASE(waiter_that_is_told_nothing_asks_again)
{
    for (std::string& url : settings.nodes)
        url += "?protocol=2";
    contender& first = add_reader();
    contender& writer = add();
    writer.write();
    pass(1s);
    first.release();
    BOOST_TEST((until_granted(writer) <= 2s));
}

/// Readers and writers wait without a position then.
// rule Q1
BOOST_AUTO_TEST_CASE(other_data_under_the_queues_key_keep_no_reader_out)
{
    say_everywhere({"SET", "seat:redlock-queue", "theirs"});
    contender& reader = add_reader();
    contender& writer = add();
    writer.write();
    pass(1s);
    BOOST_TEST((!writer.holds()));
    reader.release();
    BOOST_TEST((until_granted(writer) <= 1s));
}

BOOST_AUTO_TEST_CASE(writer_is_adopted_and_reader_is_not)
{
    contender& one = add();
    one.write();
    (void)until_granted(one);
    std::string nonce(one.held.nonce());
    one.held.detach();
    contender& adopter = add();
    adopter.held = adopter.shared->adopt(nonce);
    adopter.held.extend([&](error_code ec) { adopter.ended = ec; });
    (void)until_granted(adopter);
    adopter.release();
    auto const held = read_often(one, 2);
    adopter.held = adopter.shared->adopt(held[0].nonce());
    adopter.held.extend([](error_code) {});
    pass(1s);
    BOOST_TEST(!adopter.holds());
    adopter.release();
    pass(1s);
    BOOST_TEST(members(0) == 1U);
}

/// The key stays for the other readers, is renewed and released: it cannot be adopted.
BOOST_AUTO_TEST_CASE(reader_that_detaches_from_others_is_told_as_released)
{
    contender& one = add();
    auto held = read_often(one, 2);
    using enum lease_event::kind;
    held[0].detach();
    pass(1s);
    BOOST_TEST((one.told->leases.back() == positions::lease_change{released, true}));
    BOOST_TEST(held[1].valid());
    held[1].detach();
    pass(1s);
    BOOST_TEST((one.told->leases.back() == positions::lease_change{detached, true}));
    BOOST_TEST(members(0) == 1U);
}

// rule S4
BOOST_AUTO_TEST_CASE(inspection_of_any_lock_names_readers)
{
    contender& one = add_reader();
    auto const check = [&](auto& lock, holder_kind who) {
        inspection told;
        lock.inspect([&](error_code, inspection found) { told = std::move(found); });
        pass(100ms);
        BOOST_TEST(told.held());
        BOOST_TEST((told.holder == who));
        BOOST_TEST((told.node_table.at(0).holder == who));
        BOOST_TEST(told.node_table[0].remaining.has_value());
        BOOST_TEST(told.owner.empty() == (who == holder_kind::readers));
    };
    contender& other = add();
    check(*one.shared, holder_kind::readers);
    check(*other.shared, holder_kind::readers);
    check(*other.lock, holder_kind::readers);
    check(*other.fenced, holder_kind::readers);
    one.release();
    other.write();
    (void)until_granted(other);
    check(*one.shared, holder_kind::owner);
}

BOOST_AUTO_TEST_CASE(rows_of_an_attempt_name_the_holder)
{
    contender& reader = add_reader();
    auto const rows_say = [](auto const& lock, holder_kind who) {
        auto const table = lock.last_attempt();
        return std::ranges::count(table, who, &node_outcome::holder) >= 1;
    };
    contender& writer = add();
    writer.write();
    (void)until([&] { return rows_say(*writer.shared, holder_kind::readers); });
    reader.release();
    (void)until_granted(writer);
    contender& late = add();
    late.read();
    (void)until([&] { return rows_say(*late.shared, holder_kind::owner); });
}

/// GET and PTTL prove no more; and a queued waiter asks one node.
BOOST_AUTO_TEST_CASE(plain_lock_says_that_readers_may_keep_it_out)
{
    for (bool const in_line : {true, false}) {
        options.fair = in_line;
        contender& reader = add_reader();
        contender& plain = add();
        plain.acquire();
        auto const expected = in_line ? holder_kind::readers : holder_kind::maybe_readers;
        auto const is_told = [&] {
            auto const table = plain.lock->last_attempt();
            return std::ranges::any_of(
                table, [&](node_outcome const& row) { return row.holder == expected && row.remaining; });
        };
        (void)until(is_told);
        auto const told = plain.lock->explain(errc::contended);
        BOOST_TEST(std::string(told.what())
                           .find(in_line
                                     ? "held by readers for "
                                     : "held by readers or permits, or by another program's data, for ") !=
                       std::string::npos,
                   told.what());
        reader.release();
        (void)until_granted(plain);
        plain.release();
        pass(100ms);
    }
}

BOOST_AUTO_TEST_CASE(plain_lock_says_that_key_without_expiry_is_no_lock)
{
    say_everywhere({"ZADD", "seat", "1", "theirs"});
    for (bool const in_line : {true, false}) {
        options.fair = in_line;
        contender& plain = add();
        plain.acquire();
        (void)until([&] {
            auto const table = plain.lock->last_attempt();
            return std::ranges::any_of(table, [](node_outcome const& row) {
                return row.holder == holder_kind::no_lock &&
                       row.detail == "its key is no lock: it has no expiry";
            });
        });
    }
}

BOOST_AUTO_TEST_CASE(lease_event_tells_readers_from_writers)
{
    contender& one = add_reader();
    one.release();
    pass(100ms);
    one.write();
    (void)until_granted(one);
    one.release();
    pass(100ms);
    using enum lease_event::kind;
    std::vector<positions::lease_change> const all_of_them{
        {acquired, true}, {released, true}, {acquired, false}, {released, false}};
    BOOST_TEST((one.told->leases == all_of_them));
}

BOOST_AUTO_TEST_CASE(shutdown_gives_the_key_of_all_back)
{
    contender& one = add();
    auto const held = read_often(one, 5);
    one.locks->shutdown([](error_code) {});
    pass(100ms);
    check_that_no_key_is_left();
    for (lease const& each : held)
        BOOST_TEST(!each.valid());
}

/// An attempt that waits for the queue node alone is decided when the time of the operation is up.
// rules Q10 and V4
BOOST_AUTO_TEST_CASE(majority_at_the_end_of_the_limit_counts)
{
    contender& one = add_reader();
    one.release();
    pass(100ms);
    net.between(0, meeting_node(net, "seat")).latency = 1h;
    std::optional<error_code> ended;
    lease held;
    one.shared->shared().acquire_for(2ms, [&](error_code ec, lease got) {
        ended = ec;
        held = std::move(got);
    });
    pass(1s);
    BOOST_TEST_REQUIRE(ended.has_value());
    BOOST_TEST(*ended == error_code());
    BOOST_TEST(held.valid());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"
#include "kit/reserved_port.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/test/data/test_case.hpp>

#include <string>
#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

struct observer_fixture : cluster {
    observer_fixture() : cluster(3) {}
    std::string const& url(std::size_t node) const { return settings.nodes[node]; }
};

/// Hands the lock to another operation of the same client, without a message to the nodes.
asio::awaitable<lease> handed_over(mutex seat, lease held)
{
    lease next;
    seat.acquire([&](error_code ec, lease got) {
        BOOST_TEST(ec == error_code{});
        next = std::move(got);
    });
    co_await held.release();
    co_await until([&] { return next.valid(); });
    BOOST_TEST(next.attempts() == 0U);
    co_return next;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(observers, observer_fixture)

BOOST_AUTO_TEST_CASE(observer_receives_every_vote_with_its_time)
{
    run([&]() -> asio::awaitable<void> {
        mutex lock = this->lock("lock", unrenewed);
        lease held = co_await lock.acquire();
        co_await until([&] { return told->votes.size() == 3; }); // also those that decide nothing any more
        for (std::size_t i = 0; i != 3; ++i)
            BOOST_TEST(told->count(recorder::vote{url(i), false, node_result::granted, true}) == 1);
        BOOST_TEST(told->validities.size() == 1U);
        BOOST_TEST((told->validities.at(0) > 0ns && told->validities.at(0) < 10min));

        told->votes.clear();
        ask(1).command({"DEL", "lock"});
        co_await held.extend();
        co_await until([&] { return told->votes.size() == 3; });
        BOOST_TEST(told->count(recorder::vote{url(0), true, node_result::granted, true}) == 1);
        BOOST_TEST(told->count(recorder::vote{url(1), true, node_result::held_by_other, true}) == 1);
        BOOST_TEST(told->count(recorder::vote{url(2), true, node_result::granted, true}) == 1);
        lease_event const& renewed = told->leases.back();
        BOOST_TEST((renewed.what == lease_event::kind::renewed));
        BOOST_TEST((renewed.spare > 0ns && renewed.spare < renewed.remaining));
        BOOST_TEST((renewed.held > 0ns));
        co_await held.release();
    });
}

BOOST_AUTO_TEST_CASE(observer_receives_votes_of_unreachable_nodes)
{
    kill(0);
    settings.reconnect.min_delay = settings.reconnect.max_delay = 20s;
    client here(context.get_executor(), settings);
    run([&]() -> asio::awaitable<void> {
        lease const warm = co_await mutex(here, "warm", unrenewed).acquire();
        // A vote that waits for a connection when the other nodes have decided is not reported.
        co_await until([&] { return here.node_table()[0].state == node_state::down; });
        co_await until([&] { return warm.votes() == 2; });
        told->votes.clear();
        mutex lock(here, "lock", unrenewed);
        lease held = co_await lock.acquire();
        co_await until([&] { return told->votes.size() == 3; });
        BOOST_TEST(told->count(recorder::vote{url(0), false, node_result::unreachable, false}) == 1);
        BOOST_TEST(told->count(recorder::vote{url(1), false, node_result::granted, true}) == 1);
        told->votes.clear();
        told->errors.clear();
        co_await held.extend();
        co_await until([&] { return told->votes.size() == 3; });
        BOOST_TEST(told->count(recorder::vote{url(0), true, node_result::unreachable, false}) == 1);
        BOOST_TEST_REQUIRE(told->errors.size() == 1U);
        BOOST_TEST(contains(told->errors.front().second, "Connection re")); // refused, or reset before
        co_await held.release();
    });
}

BOOST_AUTO_TEST_CASE(observer_receives_error_text_of_refused_votes)
{
    run([&]() -> asio::awaitable<void> {
        mutex lock = this->lock("lock", unrenewed);
        ask(1).command({"CONFIG", "SET", "maxmemory", "1"});
        lease held = co_await lock.acquire();
        co_await until([&] { return told->votes.size() == 3; });
        BOOST_TEST(told->count(recorder::vote{url(1), false, node_result::refused, true}) == 1);
        BOOST_TEST_REQUIRE(told->errors.size() == 1U);
        BOOST_TEST((told->errors.front().first == server_error::oom));
        BOOST_TEST(told->errors.front().second.starts_with("OOM "));

        co_await held.release();
    });
}

/// A key of another type is not ours: readers or holders of permits may have it.
BOOST_AUTO_TEST_CASE(observer_is_told_that_data_of_another_type_is_not_ours)
{
    run([&]() -> asio::awaitable<void> {
        lease held = co_await lock("lock", unrenewed).acquire();
        co_await until([&] { return told->votes.size() == 3; });
        told->votes.clear();
        for (std::size_t const node : {1U, 2U}) {
            ask(node).command({"DEL", "lock"});
            ask(node).command({"LPUSH", "lock", "x"});
        }
        BOOST_TEST(co_await error_of(held.extend(asio::use_awaitable)) == errc::lease_lost);
        co_await until([&] { return told->votes.size() == 3; });
        BOOST_TEST(told->count(recorder::vote{url(2), true, node_result::held_by_other, true}) == 1);
        BOOST_TEST(told->errors.empty());
    });
}

BOOST_AUTO_TEST_CASE(observer_receives_result_of_every_release)
{
    run([&]() -> asio::awaitable<void> {
        mutex lock = this->lock();
        lease held = co_await lock.acquire();
        co_await held.release();
        BOOST_TEST_REQUIRE(told->releases.size() == 1U);
        BOOST_TEST((told->releases.back() == recorder::end{"lock", {}, 2}));
        static_cast<void>(co_await lock.acquire()); // nobody waits for this one's
        co_await until([&] { return told->releases.size() == 2; });
        BOOST_TEST((told->releases.back() == recorder::end{"lock", {}, 2}));
        held = co_await lock.acquire();
        kill(0);
        kill(2);
        BOOST_TEST(co_await error_of(held.release(asio::use_awaitable)) == errc::no_quorum);
        BOOST_TEST_REQUIRE(told->releases.size() == 3U);
        BOOST_TEST((told->releases.back() == recorder::end{"lock", errc::no_quorum, 1}));
    });
}

BOOST_AUTO_TEST_CASE(observer_receives_result_of_every_acquire)
{
    run([&]() -> asio::awaitable<void> {
        mutex lock = this->lock();
        lease held = co_await lock.acquire();
        BOOST_TEST(co_await error_of(lock.try_acquire(asio::use_awaitable)) == errc::contended);
        BOOST_TEST(co_await error_of(lock.acquire_for(1ms, asio::use_awaitable)) == errc::timed_out);
        asio::cancellation_signal stop;
        bool stopped = false;
        lock.acquire(asio::bind_cancellation_slot(stop.slot(), [&](error_code, lease) { stopped = true; }));
        stop.emit(asio::cancellation_type::total);
        co_await until([&] { return stopped; });
        std::vector<recorder::end> const expected{
            {"lock", {}, 1},
            {"lock", errc::contended, 0},
            {"lock", errc::timed_out, 0},
            {"lock", asio::error::operation_aborted, 0},
        };
        BOOST_TEST((told->ends == expected));
        std::vector<error_code> const failures{{}, errc::contended, {}, {}};
        BOOST_TEST(told->last_failures == failures, boost::test_tools::per_element());
        co_await held.release();
    });
}

BOOST_AUTO_TEST_CASE(observer_tells_timeout_in_outage_from_contention)
{
    run([&]() -> asio::awaitable<void> {
        lease warm = co_await this->lock("warm").acquire();
        told->last_failures.clear();
        // After its first refusal the next attempt comes later than its time is over.
        mutex lock = this->lock("lock", {.ttl = 10min, .retry = {.min_delay = 20h, .max_delay = 20h}});
        std::vector<error_code> failures;
        auto const time_out = [&]() -> asio::awaitable<void> {
            try {
                (void)co_await lock.acquire_for(1s);
            } catch (lock_error const& e) {
                BOOST_TEST(e.code() == errc::timed_out);
                failures.push_back(e.last_failure());
            }
        };
        everywhere({"SET", "lock", "stranger"});
        co_await time_out();
        ask(1).command({"DEL", "lock"}); // nobody has it there
        kill(0);
        kill(2);
        co_await time_out();
        std::vector<error_code> const expected{errc::contended, errc::no_quorum};
        BOOST_TEST(failures == expected, boost::test_tools::per_element());
        BOOST_TEST(told->last_failures == expected, boost::test_tools::per_element());
    });
}

/// Also waiters behind the first, for which the nodes have not been asked yet.
BOOST_AUTO_TEST_CASE(observer_receives_outage_of_undecided_attempt)
{
    run([&]() -> asio::awaitable<void> {
        lease warm = co_await this->lock("warm").acquire();
        co_await until([&] { return warm.votes() == 3; });
        told->last_failures.clear();
        servers[0].pause();
        servers[2].pause();
        mutex lock = this->lock("lock", {.ttl = 10min, .node_timeout = 4s});
        std::vector<error_code> ends;
        for (int i = 0; i != 3; ++i)
            lock.acquire_for(1s, [&](error_code ec, lease) { ends.push_back(ec); });
        co_await until([&] { return ends.size() == 3; });
        servers[0].resume();
        servers[2].resume();
        std::vector<error_code> const timed_out(3, errc::timed_out);
        BOOST_TEST(ends == timed_out, boost::test_tools::per_element());
        std::vector<error_code> const outage(3, errc::no_quorum);
        BOOST_TEST(told->last_failures == outage, boost::test_tools::per_element());
    });
}

/// An attempt that goes on for the next one says nothing of the one whose time was over.
BOOST_AUTO_TEST_CASE(undecided_attempt_is_not_reported_as_success)
{
    run([&]() -> asio::awaitable<void> {
        lease warm = co_await this->lock("warm").acquire();
        co_await until([&] { return warm.votes() == 3; });
        servers[0].pause();
        servers[2].pause();
        mutex lock = this->lock("lock", {.ttl = 10min, .node_timeout = 10min / 2});
        std::string said;
        std::vector<error_code> ends;
        auto const first = [&]() -> asio::awaitable<void> {
            try {
                (void)co_await lock.acquire_for(20ms);
            } catch (lock_error const& e) {
                said = e.what();
            }
        };
        asio::co_spawn(co_await asio::this_coro::executor, first(), asio::detached);
        lock.acquire([&](error_code ec, lease) { ends.push_back(ec); });
        co_await until([&] { return !said.empty(); });
        servers[0].resume();
        servers[2].resume();
        BOOST_TEST(said.find("and 1 attempt") != said.npos, said);
        BOOST_TEST(said.find("Success") == said.npos, said);
        BOOST_TEST(said.find("granted") == said.npos, said);
        co_await until([&] { return ends.size() == 1; });
        BOOST_TEST(!ends.front());
    });
}

/// Servers that do not even refuse the connection, which takes longer than the caller has.
BOOST_AUTO_TEST_CASE(observer_receives_outage_without_time_for_an_attempt)
{
    servers[0].pause();
    servers[2].pause();
    run([&]() -> asio::awaitable<void> {
        mutex lock = this->lock();
        BOOST_TEST(co_await error_of(lock.acquire_for(50ms, asio::use_awaitable)) == errc::timed_out);
        asio::cancellation_signal stop;
        bool stopped = false;
        lock.acquire(asio::bind_cancellation_slot(stop.slot(), [&](error_code, lease) { stopped = true; }));
        stop.emit(asio::cancellation_type::total);
        co_await until([&] { return stopped; });
        std::vector<recorder::end> const expected{{"lock", errc::timed_out, 0},
                                                  {"lock", asio::error::operation_aborted, 0}};
        BOOST_TEST((told->ends == expected));
        std::vector<error_code> const failures{errc::no_quorum, errc::no_quorum};
        BOOST_TEST(told->last_failures == failures, boost::test_tools::per_element());
    });
    servers[0].resume();
    servers[2].resume();
}

/// The node has not answered yet, and its last answer came on a closed connection.
BOOST_AUTO_TEST_CASE(renewal_does_not_count_node_that_is_being_connected)
{
    run([&]() -> asio::awaitable<void> {
        mutex lock = this->lock("lock", unrenewed);
        lease held = co_await voted_everywhere(lock);
        proxy(2).black_hole();
        proxy(2).reset_all();
        co_await until([&] { return status(*locks, 2).state == node_state::connecting; });
        co_await held.extend();
        BOOST_TEST((told->leases.back().what == lease_event::kind::renewed));
        BOOST_TEST(told->leases.back().votes == 2U);
        BOOST_TEST(held.votes() == 2U);
        proxy(2).accept();
        co_await held.release();
    });
}

BOOST_AUTO_TEST_CASE(observer_receives_keys_lingering_after_loss_once)
{
    // A release to a node that is just reconnecting would still be on its way.
    settings.reconnect.min_delay = settings.reconnect.max_delay = 20s;
    client here(context.get_executor(), settings);
    run([&]() -> asio::awaitable<void> {
        mutex seat(here, "lock", {.ttl = 1s, .slack = 10min, .node_timeout = 300ms});
        lease held = co_await seat.acquire();
        co_await until([&] { return held.votes() == 3 || !held.valid(); });
        kill(0);
        kill(1);
        co_await until([&] { return !held.valid(); });
        BOOST_TEST(co_await error_of(held.release(asio::use_awaitable)) == errc::lease_lost);
        co_await until([&] { return told->lingering.size() == 2; }); // the end was unnoticed there before
        held = lease();
        BOOST_TEST(told->lingering.size() == 2U);
    });
}

BOOST_AUTO_TEST_CASE(observer_receives_lingering_keys)
{
    run([&]() -> asio::awaitable<void> {
        mutex lock = this->lock();
        lease held = co_await lock.acquire();
        co_await until([&] { return held.votes() == 3; });
        BOOST_TEST(told->lingering.empty());
        kill(2);
        co_await held.release();
        co_await until([&] { return !told->lingering.empty(); });
        auto const& [node, remaining] = told->lingering.front();
        BOOST_TEST(node == url(2));
        BOOST_TEST((remaining > 1min && remaining <= 20min));
    });
}

/// Neither to one that was connected once nor to one that never was, nor by a lease that was handed over here.
BOOST_DATA_TEST_CASE(observer_receives_no_keys_lingering_where_nothing_was_sent, either, never_stood)
{
    settings.reconnect.min_delay = settings.reconnect.max_delay = 20s;
    reserved_port const nobody(0);
    if (never_stood)
        settings.nodes[2] = "redis://127.0.0.1:" + std::to_string(nobody.number());
    client here(context.get_executor(), settings);
    run([&]() -> asio::awaitable<void> {
        mutex warm(here, "warm", long_lived);
        lease const other = co_await warm.acquire(); // while it is held, the end of a connection is noticed
        co_await until([&] { return other.votes() == (never_stood ? 2U : 3U); });
        kill(2);
        co_await until([&] { return here.node_table()[2].state == node_state::down; });
        mutex seat(here, "lock", long_lived);
        lease held = co_await seat.acquire();
        for (int i = 0; i != 20; ++i)
            held = co_await handed_over(seat, std::move(held));
        co_await held.release();
        co_await until([&] { return !ask(0).exists("lock") && !ask(1).exists("lock"); });
        BOOST_TEST(told->lingering.empty());
    });
}

BOOST_AUTO_TEST_CASE(observer_receives_key_lingering_of_lease_that_was_handed_over)
{
    settings.reconnect.min_delay = settings.reconnect.max_delay = 20s;
    client here(context.get_executor(), settings);
    run([&]() -> asio::awaitable<void> {
        mutex seat(here, "lock", long_lived);
        lease held = co_await seat.acquire();
        co_await until([&] { return held.votes() == 3; });
        kill(2);
        co_await until([&] { return here.node_table()[2].state == node_state::down; });
        for (int i = 0; i != 3; ++i)
            held = co_await handed_over(seat, std::move(held));
        BOOST_TEST(told->lingering.empty());
        co_await held.release();
        co_await until([&] { return !told->lingering.empty(); });
        BOOST_TEST(told->lingering.size() == 1U);
        BOOST_TEST(told->lingering.front().first == url(2));
    });
}

BOOST_AUTO_TEST_SUITE_END()

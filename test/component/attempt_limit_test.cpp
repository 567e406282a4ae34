// SPDX-License-Identifier: BSL-1.0
#include "component/held_clock.hpp"
#include "component/separate_node.hpp"
#include "engine/attempt_limit.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using redlock::detail::attempt_limit;

namespace {

struct attempt_limit_fixture : held_clock, separate_node {};

} // namespace

BOOST_AUTO_TEST_SUITE(attempt_limits)

BOOST_FIXTURE_TEST_CASE(attempts_above_limit_wait_before_their_timeout_starts, attempt_limit_fixture)
{
    constexpr unsigned more = 3;
    asio::cancellation_signal cancel;
    std::vector<outcome_ptr> results;
    node.expect("SET", late(canned::ok)); // and all that follows on the connection
    for (unsigned i = 0; i != attempt_limit::most + more; ++i) {
        results.push_back(std::make_shared<outcome>());
        mutex lock(locks, "lock " + std::to_string(i), long_lived);
        if (i == attempt_limit::most + 1)
            lock.acquire(asio::bind_cancellation_slot(cancel.slot(), keeps_outcome{results.back()}));
        else
            lock.acquire(keeps_outcome{results.back()});
    }
    run_both([&] { return node.count("SET") >= attempt_limit::most; });
    while (context.poll() + outside.poll() != 0)
        ;
    BOOST_TEST(node.count("SET") == attempt_limit::most);

    cancel.emit(asio::cancellation_type::terminal);
    outcome const& cancelled = *results[attempt_limit::most + 1];
    run_both([&] { return cancelled.done(); });
    BOOST_TEST(cancelled.ec == asio::error::operation_aborted);

    node.deliver_late();
    auto const is_done = [](outcome_ptr const& result) { return result->done(); };
    run_both([&] { return std::ranges::all_of(results, is_done); });
    BOOST_TEST(node.count("SET") == attempt_limit::most + more - 1);
    BOOST_TEST(std::ranges::count_if(results, [](outcome_ptr const& result) { return bool(result->ec); }) ==
               1);
    BOOST_TEST(results.back()->granted.attempts() == 1U);
}

/// Otherwise all queued attempts would be answered too late, and so would all later ones.
BOOST_FIXTURE_TEST_CASE(attempt_limit_shrinks_when_attempts_time_out, attempt_limit_fixture)
{
    auto const rest = [this] {
        context.restart();
        while (context.poll() + outside.poll() != 0)
            ;
    };
    auto const attempt = [this](std::string name, lock_options const& options) {
        auto result = std::make_shared<outcome>();
        mutex(locks, std::move(name), options).try_acquire(keeps_outcome{result});
        return result;
    };
    auto const first = attempt("first", long_lived); // brings the connection
    run_both([&] { return first->done(); });
    first->granted = lease();
    come_to_rest();
    auto hasty = long_lived;
    hasty.node_timeout = 20ms;
    for (unsigned now = attempt_limit::most; now != attempt_limit::least; now /= 2) {
        advance(1ms);
        node.expect("SET", reply("+")); // it has begun to speak
        auto const missed = attempt("missed", hasty);
        context.restart();
        context.poll(); // the vote has been sent
        advance(1ms);
        rest();
        advance(20ms);
        run_both([&] { return missed->done(); });
        BOOST_TEST(missed->ec == errc::no_quorum);
        node.say("OK\r\n");
        come_to_rest();
    }
    BOOST_TEST_REQUIRE(node.surprises().empty());

    auto const before = node.count("SET");
    node.expect("SET", late(canned::ok));
    std::vector<outcome_ptr> results;
    for (unsigned i = 0; i != 3 * attempt_limit::least; ++i)
        results.push_back(attempt("lock " + std::to_string(i), long_lived));
    run_both([&] { return node.count("SET") >= before + attempt_limit::least; });
    rest();
    BOOST_TEST(node.count("SET") == before + attempt_limit::least);

    // A granted attempt makes room for more.
    node.expect("SET", late(canned::ok));
    node.deliver_late();
    run_both([&] { return node.count("SET") == before + 3 * attempt_limit::least; });
    node.deliver_late();
    auto const is_granted = [](outcome_ptr const& result) { return result->done() && !result->ec; };
    run_both([&] { return std::ranges::all_of(results, is_granted); });
}

BOOST_AUTO_TEST_SUITE_END()

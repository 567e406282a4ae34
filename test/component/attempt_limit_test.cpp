#include "component/apart.hpp"
#include "lock/attempt_limit.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using redlock::lock::attempt_limit;

BOOST_AUTO_TEST_SUITE(attempt_limits)

BOOST_FIXTURE_TEST_CASE(more_than_a_server_can_answer_in_time_wait_before_their_time_begins, apart)
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

BOOST_AUTO_TEST_SUITE_END()

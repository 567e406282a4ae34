// SPDX-License-Identifier: BSL-1.0
#include "component/scripted_cluster.hpp"
#include "component/separate_node.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <string>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Two locks are won in one turn. The handler that is called first cancels the other operation, which has its grant and
/// does not know yet.
struct cancelled_winner_fixture : separate_node {
    asio::cancellation_signal cancel;
    lease other;
    outcome_ptr wanted = std::make_shared<outcome>();
    outcome_ptr next = std::make_shared<outcome>();
    mutex lock{locks, "resource", long_lived};

    void begin()
    {
        node.expect("SET", late(canned::ok)).expect("SET", late(canned::ok));
        mutex(locks, "other", long_lived).acquire([this](error_code, lease got) {
            other = std::move(got);
            cancel.emit(asio::cancellation_type::terminal);
        });
        run_both([&] { return node.count("SET") == 1; });
        lock.acquire(asio::bind_cancellation_slot(cancel.slot(), keeps_outcome{wanted}));
        run_both([&] { return node.count("SET") == 2; });
    }
    void win_both()
    {
        node.deliver_late();
        run_both([&] { return wanted->done(); });
        BOOST_TEST(wanted->ec == asio::error::operation_aborted);
    }
    [[nodiscard]] std::string vote(std::size_t number) const
    {
        auto words = node.heard();
        std::erase_if(words, [](auto const& w) { return w[0] != "SET" || w[1] != "resource"; });
        return words.at(number).at(2);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(stale_answers)

/// The grant is of another nonce, and is being taken back.
// rule A5
BOOST_FIXTURE_TEST_CASE(answer_to_previous_attempt_is_no_vote, scripted_cluster)
{
    warm_up();
    std::string_view const first[] = {canned::misconf, canned::misconf, canned::ok};
    std::string_view const then[] = {canned::ok, canned::misconf, canned::misconf};
    for (std::size_t i = 0; i != 3; ++i)
        nodes[i]
            ->expect("SET", i == 2 ? late(first[i]) : reply(first[i]))
            .expect("EVALSHA", reply(canned::one))
            .expect("SET", reply(then[i]))
            .expect("EVALSHA", reply(canned::one));
    auto const result = std::make_shared<outcome>();
    lock().acquire(keeps_outcome{result});
    run_until(context, [&] { return nodes[2]->count("SET") == 4; });
    nodes[2]->deliver_late();
    run_until(context, [&] { return result->done(); });
    BOOST_TEST(result->granted.attempts() == 3U);
}

// rule H4
BOOST_FIXTURE_TEST_CASE(answer_to_previous_extension_confirms_nothing, scripted_cluster)
{
    auto const got = try_acquire(lock());
    run_until(context, [&] { return got->granted.votes() == 3; });
    nodes[0]->expect("EVAL", reply(canned::misconf)).expect("EVAL", reply(canned::one));
    nodes[1]->expect("EVAL", reply(canned::misconf)).expect("EVAL", reply(canned::misconf));
    nodes[2]->expect("EVAL", late(canned::one)).expect("EVAL", reply(canned::zero));
    BOOST_TEST(extend(got->granted) == errc::no_quorum);
    auto const result = std::make_shared<outcome>();
    got->granted.extend(keeps_outcome{result});
    run_until_heard(3);
    nodes[2]->deliver_late();
    run_until(context, [&] { return result->done(); });
    BOOST_TEST(result->ec == errc::no_quorum);
}

// rule A6
BOOST_FIXTURE_TEST_CASE(vote_for_cancelled_operation_is_undone, cancelled_winner_fixture)
{
    begin();
    win_both();
    run_both([&] { return node.count("EVAL") == 1; });
    BOOST_TEST(node.heard().back().at(4) == vote(0));
}

// rule W1
BOOST_FIXTURE_TEST_CASE(votes_for_cancelled_operation_are_not_used_with_other_options,
                        cancelled_winner_fixture)
{
    begin();
    mutex(locks, "resource", lock_options{.ttl = 60min, .node_timeout = 20s}).acquire(keeps_outcome{next});
    win_both();
    run_both([&] { return next->done(); });
    BOOST_TEST(node.count("SET") == 3U);
    BOOST_TEST(next->granted.nonce() == vote(1));
}

BOOST_FIXTURE_TEST_CASE(votes_for_cancelled_operation_are_used_with_same_options, cancelled_winner_fixture)
{
    begin();
    lock.acquire(keeps_outcome{next});
    win_both();
    run_both([&] { return next->done(); });
    BOOST_TEST(node.count("SET") == 2U);
    BOOST_TEST(next->granted.nonce() == vote(0));
}

BOOST_AUTO_TEST_SUITE_END()

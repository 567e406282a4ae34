// SPDX-License-Identifier: BSL-1.0
#include "component/held_clock.hpp"
#include "component/scripted_cluster.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <string>

using namespace redlock;
using namespace redlock::test;

namespace {

/// A holder, and one that waits behind it for the same lock.
struct hand_over_fixture : cleared_servers, held_clock_base {
    lone_client s{servers.settings()};
    outcome_ptr first = std::make_shared<outcome>();
    outcome_ptr second = std::make_shared<outcome>();
    std::string nonce;

    void hold_and_wait(lock_options const& options)
    {
        auto lock = s.lock("resource", options);
        lock.acquire(keeps_outcome{first});
        run_until(s.context, [&] { return first->done(); });
        nonce = first->granted.nonce();
        lock.acquire(keeps_outcome{second});
    }
    void let_go()
    {
        first->granted = {};
        run_until(s.context, [&] {
            clock.advance(50us); // an open window ends
            return second->done();
        });
        BOOST_TEST(second->granted.valid());
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(hand_overs, hand_over_fixture)

// rule W4
BOOST_AUTO_TEST_CASE(hand_over_keeps_the_keys)
{
    hold_and_wait(long_lived);
    let_go();
    BOOST_TEST(second->granted.nonce() == nonce);
}

// rule W4
BOOST_AUTO_TEST_CASE(hand_over_needs_enough_remaining_validity)
{
    auto long_row = long_lived;
    long_row.handover.period = 1h;
    hold_and_wait(long_row);
    clock.advance(long_row.ttl * 6 / 10);
    let_go();
    BOOST_TEST(second->granted.nonce() != nonce);
}

// rule W5
BOOST_AUTO_TEST_CASE(hand_over_ends_with_the_batch)
{
    auto one_in_a_row = long_lived;
    one_in_a_row.handover.batch = 1;
    hold_and_wait(one_in_a_row);
    let_go();
    BOOST_TEST(second->granted.nonce() != nonce);
}

// rule W1
BOOST_FIXTURE_TEST_CASE(try_acquire_while_this_client_holds_is_contended_without_vote, scripted_cluster)
{
    auto const got = try_acquire(lock());
    run_until(context, [&] { return got->granted.votes() == 3; });
    BOOST_TEST(try_acquire(lock())->ec == errc::contended);
    BOOST_TEST(try_acquire(lock("behind whatever was said"))->ec == error_code());
    for (auto const& node : nodes)
        BOOST_TEST(std::ranges::count_if(node->heard(), [](auto const& w) {
                       return w[0] == "SET" && w[1] == "resource";
                   }) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

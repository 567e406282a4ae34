// SPDX-License-Identifier: BSL-1.0
#include "component/held_clock.hpp"
#include "component/scripted_cluster.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>

using namespace redlock;
using namespace redlock::test;

namespace {

/// A lease whose deadline has passed, and whose loss has not been reported yet: no timer has expired meanwhile.
struct overdue_lease_fixture : held_clock_base, scripted_cluster {
    static constexpr lock_options terms{.ttl = 10min, .slack = 10min, .node_timeout = 20s};

    lease held;

    void acquire(lock_options const& options = terms)
    {
        auto const got = try_acquire(lock("resource", options));
        run_until_heard(1);
        run_until(context, [&] { return got->granted.votes() == 3; });
        held = std::move(got->granted);
    }
    outcome_ptr extend_later()
    {
        auto result = std::make_shared<outcome>();
        held.extend(keeps_outcome{result});
        return result;
    }
    [[nodiscard]] std::size_t extensions() const
    {
        std::size_t sum = 0;
        for (auto const& node : nodes)
            sum += node->count("EVAL") + node->count("EVALSHA");
        return sum;
    }
    /// Waits for everything that was sent.
    void settle()
    {
        for (auto const& node : nodes)
            node->expect("SET", reply(canned::nil));
        try_acquire(lock("other", terms));
        run_until_each([](auto const& n) { return n.count("SET") == 2; });
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(overdue_leases, overdue_lease_fixture)

// rule H7
BOOST_AUTO_TEST_CASE(overdue_lease_is_not_extended_by_hand)
{
    acquire();
    clock.advance(terms.ttl);
    BOOST_TEST(extend(held) == errc::lease_lost);
    BOOST_TEST((held.cause() == loss_cause::expired));
    settle();
    BOOST_TEST(extensions() == 0U);
}

/// Both timers are due in one turn, and an observer lets the time of the second lease pass.
// rule H7
BOOST_AUTO_TEST_CASE(overdue_lease_is_not_renewed_after_slow_observer)
{
    struct slow_observer : observer {
        held_clock& clock;
        explicit slow_observer(held_clock& those) : clock(those) {}
        void on_lease(lease_event const& event) noexcept override
        {
            if (event.resource == "sooner" && event.what == lease_event::kind::lost)
                clock.advance(30s);
        }
    };
    connect_with(std::make_shared<slow_observer>(clock));
    auto const sooner = try_acquire(lock("sooner", {.ttl = 80ms, .renew = false, .node_timeout = 20ms}));
    run_until(context, [&] { return sooner->granted.votes() == 3; });
    auto const renewed = try_acquire(lock("resource", {.ttl = 3s, .node_timeout = 100ms}));
    held = std::move(renewed->granted);
    run_until(context, [&] { return held.votes() == 3; });
    auto const told = std::make_shared<outcome>();
    held.ended(keeps_outcome{told});
    clock.advance(1100ms); // a third of its lifetime
    run_until(context, [&] { return told->done(); });
    BOOST_TEST((told->end == lease_end::lost));
    BOOST_TEST(extensions() == 0U);
}

/// The turn began before that.
BOOST_AUTO_TEST_CASE(overdue_lease_is_not_extended_by_slow_handler)
{
    acquire();
    expect_everywhere("SET", reply(canned::nil));
    outcome_ptr extended;
    lock("another", terms).try_acquire([&](error_code, lease const&) {
        clock.advance(terms.ttl);
        extended = extend_later();
    });
    run_until(context, [&] { return extended && extended->done(); });
    BOOST_TEST(extended->ec == errc::lease_lost);
    run_until_each([](auto const& n) { return n.count("SET") == 2; });
    BOOST_TEST(extensions() == 0U);
}

BOOST_AUTO_TEST_CASE(overdue_lease_is_extended_if_suspect_is_tolerated)
{
    auto tolerant = terms;
    tolerant.tolerate_suspect = true;
    acquire(tolerant);
    clock.advance(terms.ttl);
    BOOST_TEST(extend(held) == error_code());
    BOOST_TEST(held.valid());
    clock.advance(terms.ttl + terms.slack.value());
    BOOST_TEST(extend(held) == errc::lease_lost);
}

// rule H7
BOOST_AUTO_TEST_CASE(overdue_lease_is_not_extended_after_invalidation)
{
    acquire();
    expect_everywhere("GET", reply("-ERR not now\r\n"));
    clock.advance(100ms); // it asks for its keys
    run_until_all_is_said();
    clock.advance(terms.ttl);
    nodes[0]->say(canned::invalidation);
    auto const told = std::make_shared<outcome>();
    held.ended(keeps_outcome{told});
    run_until(context, [&] { return told->done(); });
    BOOST_TEST((told->end == lease_end::lost));
    settle();
    BOOST_TEST(extensions() == 0U);
}

// rule H7
BOOST_AUTO_TEST_CASE(overdue_lease_is_not_extended_again_after_noscript)
{
    acquire();
    BOOST_TEST(extend(held) == error_code()); // by its text, until it has worked once
    run_until_heard(2);
    expect_everywhere("EVALSHA", late(canned::noscript));
    auto const result = extend_later();
    run_until_heard(3);
    clock.advance(terms.ttl);
    for (auto const& node : nodes)
        node->deliver_late();
    run_until(context, [&] { return result->done(); });
    BOOST_TEST(result->ec == errc::lease_lost);
    settle();
    BOOST_TEST(extensions() == 6U);
}

/// The end is no clean release, and the keys are released all the same.
// rules H7 and R1
BOOST_AUTO_TEST_CASE(overdue_lease_is_lost_when_released)
{
    acquire();
    clock.advance(terms.ttl);
    BOOST_TEST(release(held) == errc::lease_lost);
    BOOST_TEST((held.cause() == loss_cause::expired));
    run_until_heard(2);
    for (auto const& node : nodes)
        BOOST_TEST(node->heard().back()[0] == "EVAL");
}

// rule H7
BOOST_AUTO_TEST_CASE(overdue_lease_is_lost_when_its_handle_is_destroyed)
{
    acquire();
    auto const told = std::make_shared<outcome>();
    held.ended(keeps_outcome{told});
    settle();
    clock.advance(terms.ttl);
    held = {};
    run_until(context, [&] { return told->done(); });
    BOOST_TEST((told->end == lease_end::lost));
    run_until(context, [&] { return extensions() == 3; }); // compare-and-delete
}

/// Other clients may have come and gone on that node before the vote was executed.
// rule H5
BOOST_AUTO_TEST_CASE(overdue_lease_is_not_proven_by_late_vote)
{
    auto tolerant = terms;
    tolerant.tolerate_suspect = true;
    nodes[2]->expect("SET", late(canned::ok));
    held = std::move(try_acquire(lock("resource", tolerant))->granted);
    run_until_heard(1);
    clock.advance(terms.ttl);
    nodes[2]->deliver_late();
    settle();
    nodes[0]->expect("EVAL", reply(canned::one));
    nodes[1]->expect("EVAL", reply(canned::loading));
    nodes[2]->expect("EVAL", reply(canned::one));
    BOOST_TEST(extend(held) == errc::no_quorum);
    BOOST_TEST(held.state() == lease_state::suspect);
}

/// The lease was adopted by a client that is not connected, and waits for the connection.
// rule H7
BOOST_AUTO_TEST_CASE(overdue_adopted_lease_is_not_extended_after_connecting)
{
    expect_everywhere("HELLO", late(canned::hello));
    lock_options const shorter_than_connecting{.ttl = 1s, .node_timeout = 500ms};
    held = lock("resource", shorter_than_connecting).adopt("0123456789abcdef0123456789abcdef");
    auto const result = extend_later();
    run_until_each([](auto const& n) { return n.count("TIME") == 1; });
    clock.advance(shorter_than_connecting.ttl);
    run_until(context, [&] { return result->done(); });
    BOOST_TEST(result->ec == errc::lease_lost);
    for (auto const& node : nodes)
        node->deliver_late();
    run_until(context, [&] {
        return std::ranges::all_of(locks->node_table(),
                                   [](auto const& n) { return n.state == node_state::ready; });
    });
    BOOST_TEST(extensions() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

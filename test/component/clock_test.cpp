// SPDX-License-Identifier: BSL-1.0
#include "component/held_clock.hpp"
#include "component/scripted_cluster.hpp"
#include "core/validity.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr lock_options terms{.ttl = 10min, .node_timeout = 20s};
constexpr auto nearly_all = terms.ttl * 98 / 100; ///< part of the validity
constexpr auto too_much = terms.ttl;

struct clock_fixture : held_clock_base, scripted_cluster {
    lease held;

    void acquire() { held = std::move(try_acquire(lock("resource", terms))->granted); }
    void expect_the_end()
    {
        BOOST_TEST(!held.valid());
        BOOST_TEST((held.remaining() == 0ns));
        BOOST_TEST(held.state() == lease_state::lost);
        BOOST_TEST(extend(held) == errc::lease_lost);
    }
    void expect_end_after(void (held_clock::*pass)(std::chrono::nanoseconds))
    {
        acquire();
        (clock.*pass)(nearly_all);
        BOOST_TEST(held.valid());
        (clock.*pass)(too_much - nearly_all);
        expect_the_end();
    }
};

/// Is told of each answer, and takes its time over the last of a majority.
struct slow_observer final : observer {
    explicit slow_observer(held_clock& c) : clock(c) {}
    void on_vote(vote_event const& v) noexcept override
    {
        if (v.extension == slow_in_extensions && v.result == node_result::granted && ++grants == 2)
            clock.advance(too_much);
    }
    held_clock& clock;
    bool slow_in_extensions = false;
    unsigned grants = 0;
};

struct slow_observer_fixture : clock_fixture {
    std::shared_ptr<slow_observer> const watcher = std::make_shared<slow_observer>(clock);

    slow_observer_fixture() { connect_with(watcher); }
    [[nodiscard]] static std::size_t deletions(scripted_node const& node)
    {
        auto const& all = node.heard();
        auto const vote = std::ranges::find(all, std::string("SET"), [](auto const& w) { return w[0]; });
        return static_cast<std::size_t>(std::ranges::count_if(
            all, [&](auto const& w) { return w[0] == "EVAL" && w[3] == "resource" && w[4] == vote->at(2); }));
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(clocks, clock_fixture)

// rule H2
BOOST_AUTO_TEST_CASE(lease_ends_when_machine_was_suspended_past_deadline)
{
    expect_end_after(&held_clock::suspend);
}

/// The turn began before that.
// rule H1
BOOST_AUTO_TEST_CASE(lease_ends_inside_handler_that_runs_past_deadline)
{
    acquire();
    bool done = false;
    lock("another", terms).try_acquire([&](error_code, lease const&) {
        BOOST_TEST(held.valid());
        clock.advance(too_much);
        BOOST_TEST(!held.valid());
        done = true;
    });
    run_until(context, [&] { return done; });
}

/// The time of the attempt and of its nodes counts from there.
BOOST_AUTO_TEST_CASE(attempt_begun_inside_handler_that_took_long_has_its_whole_time)
{
    mutex next = lock("another", terms);
    std::optional<error_code> ended;
    lock("resource", terms).try_acquire([&](error_code, lease const&) {
        clock.advance(2 * *terms.node_timeout);
        next.try_acquire([&](error_code ec, lease const& got) {
            ended = ec;
            BOOST_TEST((got.remaining() >= nearly_all));
        });
    });
    run_until(context, [&] { return ended.has_value(); });
    BOOST_TEST(!*ended, ended->message());
}

// rule H2
BOOST_AUTO_TEST_CASE(lease_ends_in_time_although_clocks_are_slewed)
{
    expect_end_after(&held_clock::advance_while_others_are_slewed);
}

/// The advances of the two clocks do not add up.
// rule H2
BOOST_AUTO_TEST_CASE(lease_lasts_until_one_clock_reaches_its_deadline)
{
    acquire();
    clock.suspend(nearly_all);
    clock.advance_while_others_are_slewed(nearly_all);
    BOOST_TEST(held.valid());
}

/// The deadline was reckoned before the suspension, the time that an extension has after it.
BOOST_AUTO_TEST_CASE(loss_after_suspension_is_reported_in_time_during_extension)
{
    constexpr lock_options patient{.ttl = 10min, .renew = false, .node_timeout = 5min};
    held = std::move(try_acquire(lock("resource", patient))->granted);
    auto const told = std::make_shared<outcome>();
    held.ended(keeps_outcome{told});
    constexpr auto rest = 20ms;
    clock.suspend(held.remaining() - rest);
    expect_everywhere("EVAL", silence());
    held.extend([](error_code) {});
    run_until_all_is_said();
    clock.advance(rest);
    run_until(context, [&] { return told->done(); });
    BOOST_TEST((told->end == lease_end::lost));
}

/// The clock that stands still while the machine sleeps had run further before.
BOOST_AUTO_TEST_CASE(timers_are_due_after_suspension_although_clocks_were_slewed)
{
    clock.advance_while_others_are_slewed(2 * terms.ttl);
    constexpr lock_options patient{.ttl = 10min, .renew = false, .node_timeout = 20s};
    held = std::move(try_acquire(lock("resource", patient))->granted);
    auto const told = std::make_shared<outcome>();
    held.ended(keeps_outcome{told});
    clock.suspend(held.remaining());
    constexpr lock_options hasty{.ttl = 10min, .node_timeout = 20ms};
    expect_everywhere("SET", silence());
    auto const timed_out = std::make_shared<outcome>();
    lock("another", hasty).try_acquire(keeps_outcome{timed_out});
    run_until_all_is_said();
    clock.advance(30ms);
    run_until(context, [&] { return timed_out->done(); });
    run_until(context, [&] { return told->done(); });
    BOOST_TEST((told->end == lease_end::lost));
}

// rule V5
BOOST_AUTO_TEST_CASE(votes_from_before_a_suspension_are_too_slow)
{
    expect_everywhere("SET", late(canned::ok));
    auto const result = std::make_shared<outcome>();
    lock("resource", terms).try_acquire(keeps_outcome{result});
    run_until_heard(1);
    clock.suspend(too_much);
    for (auto const& node : nodes)
        node->deliver_late();
    run_until(context, [&] { return result->done(); });
    BOOST_TEST(result->ec == errc::too_slow);
}

// rule V1
BOOST_AUTO_TEST_CASE(lease_validity_counts_from_before_its_votes)
{
    expect_everywhere("SET", late(canned::ok));
    auto const result = std::make_shared<outcome>();
    lock("resource", terms).try_acquire(keeps_outcome{result});
    run_until_heard(1);
    clock.advance(1min);
    for (auto const& node : nodes)
        node->deliver_late();
    run_until(context, [&] { return result->done(); });
    BOOST_TEST((result->granted.remaining() == core::validity(terms.ttl) - 1min));
}

// rule V1
BOOST_AUTO_TEST_CASE(lease_validity_does_not_include_connecting)
{
    expect_everywhere("HELLO", late(canned::hello));
    auto const result = std::make_shared<outcome>();
    lock("resource", terms).try_acquire(keeps_outcome{result});
    run_until_each([](auto const& n) { return n.count("TIME") == 1; });
    clock.advance(10s);
    for (auto const& node : nodes)
        node->deliver_late();
    run_until(context, [&] { return result->done(); });
    BOOST_TEST((result->granted.remaining() == core::validity(terms.ttl)));
}

// rule H4
BOOST_AUTO_TEST_CASE(extended_validity_counts_from_before_the_extension)
{
    acquire();
    clock.advance(1min);
    expect_everywhere("EVAL", late(canned::one));
    auto const result = std::make_shared<outcome>();
    held.extend(keeps_outcome{result});
    run_until_heard(2);
    clock.advance(2min);
    for (auto const& node : nodes)
        node->deliver_late();
    run_until(context, [&] { return result->done(); });
    BOOST_TEST(result->ec == error_code());
    BOOST_TEST((held.remaining() == core::validity(terms.ttl) - 2min));
}

// rule H7
BOOST_FIXTURE_TEST_CASE(extension_counted_after_deadline_fails_with_lease_lost, slow_observer_fixture)
{
    watcher->slow_in_extensions = true;
    acquire();
    BOOST_TEST(extend(held) == errc::lease_lost);
    BOOST_TEST(watcher->grants >= 2U);
}

// rule V5
BOOST_FIXTURE_TEST_CASE(grant_expired_before_delivery_is_undone, slow_observer_fixture)
{
    auto const got = try_acquire(lock("resource", terms));
    BOOST_TEST(watcher->grants >= 2U);
    BOOST_TEST(got->ec == errc::too_slow);
    BOOST_TEST(got->granted.empty());
    run_until_heard(2);
    for (auto const& node : nodes)
        BOOST_TEST(deletions(*node) == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "component/lone_client.hpp"
#include "component/scripted_cluster.hpp"
#include "core/fencing.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr lock_options with(std::chrono::milliseconds ttl, std::chrono::milliseconds slack)
{
    return {.ttl = ttl, .slack = slack, .node_timeout = 20s};
}

constexpr auto usual = with(20min, 2min);

/// A holder and one that waits behind it, for the same name and with other terms.
struct two_locks_fixture : cleared_servers {
    lone_client s{servers.settings()};
    outcome_ptr first = std::make_shared<outcome>();
    outcome_ptr second = std::make_shared<outcome>();

    template <class Lock>
    [[nodiscard]] Lock lock(lock_options const& options)
    {
        return {*s.locks, "resource", options};
    }

    /// The holder's keys as they were, and the next one's lease.
    template <class Holder, class Next>
    std::string pass_on(Holder holder, Next next)
    {
        holder.acquire(keeps_outcome{first});
        run_until(s.context, [&] { return first->granted.votes() == 3; });
        auto const nonce = servers.ask(0).get("resource").value_or("");
        next.acquire(keeps_outcome{second});
        first->granted = {};
        run_until(s.context, [&] { return second->granted.votes() == 3; });
        return nonce;
    }

    /// The lease was acquired anew, and its keys live for as long as its own lock says.
    void expect_own_keys(std::string const& before, lock_options const& options)
    {
        auto const life = (options.ttl + *options.slack).count();
        for (std::size_t i = 0; i != 3; ++i) {
            BOOST_TEST(servers.ask(i).get("resource").value_or(before) != before);
            auto const left = servers.ask(i).pttl("resource");
            BOOST_TEST(left <= life);
            BOOST_TEST(left > life - 60'000); // all terms here differ by more
        }
        BOOST_TEST((second->granted.remaining() < options.ttl));
        BOOST_TEST((second->granted.remaining() > options.ttl - 1min));
    }
};

/// The first of a queue leaves while its votes are under way, and the next one has other terms.
struct votes_under_way_fixture : scripted_cluster {
    asio::cancellation_signal cancel;
    outcome_ptr first = std::make_shared<outcome>();
    outcome_ptr second = std::make_shared<outcome>();

    template <class Lock>
    void leave_to(Lock next)
    {
        expect_everywhere("SET", late(canned::ok));
        lock("resource", with(20min, 2min))
            .acquire(asio::bind_cancellation_slot(cancel.slot(), keeps_outcome{first}));
        run_until_heard(1);
        next.acquire(keeps_outcome{second});
        cancel.emit(asio::cancellation_type::terminal);
        run_until(context, [&] { return first->done(); });
    }
    void deliver_all()
    {
        for (auto const& node : nodes)
            node->deliver_late();
    }
    [[nodiscard]] static std::vector<scripted_node::words> about_the_lock(scripted_node const& node)
    {
        auto words = node.heard();
        std::erase_if(words, [](auto const& w) { return w[0] != "SET" && !w[0].starts_with("EVAL"); });
        return words;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(locks_with_one_name, two_locks_fixture)

// rule W4
BOOST_AUTO_TEST_CASE(lease_is_not_handed_over_to_lock_with_longer_ttl)
{
    auto const longer = with(60min, 2min);
    expect_own_keys(pass_on(lock<mutex>(usual), lock<mutex>(longer)), longer);
}

BOOST_AUTO_TEST_CASE(lease_is_not_handed_over_to_lock_with_shorter_ttl)
{
    auto const shorter = with(10min, 2min);
    expect_own_keys(pass_on(lock<mutex>(usual), lock<mutex>(shorter)), shorter);
}

// rule W4
BOOST_AUTO_TEST_CASE(lease_is_not_handed_over_to_lock_with_other_slack)
{
    auto const more = with(20min, 6min);
    expect_own_keys(pass_on(lock<mutex>(usual), lock<mutex>(more)), more);
}

/// The keys would live as long; what its holder may rely on would not.
// rule W4
BOOST_AUTO_TEST_CASE(lease_is_not_handed_over_to_other_ttl_with_equal_key_lifetime)
{
    auto const other = with(17min, 5min);
    expect_own_keys(pass_on(lock<mutex>(usual), lock<mutex>(other)), other);
}

// rule W4
BOOST_AUTO_TEST_CASE(plain_lease_is_not_handed_over_to_fenced_lock)
{
    expect_own_keys(pass_on(lock<mutex>(usual), lock<fenced_mutex>(usual)), usual);
    BOOST_TEST(second->granted.fencing_token() != 0U);
}

// rule W4
BOOST_AUTO_TEST_CASE(fenced_lease_is_not_handed_over_to_plain_lock)
{
    expect_own_keys(pass_on(lock<fenced_mutex>(usual), lock<mutex>(usual)), usual);
    BOOST_TEST(second->granted.fencing_token() == 0U);
}

// rule W4
BOOST_AUTO_TEST_CASE(lease_is_not_handed_over_to_lock_with_renew_off)
{
    auto without_renewal = usual;
    without_renewal.renew = false;
    expect_own_keys(pass_on(lock<mutex>(usual), lock<mutex>(without_renewal)), without_renewal);
}

/// There are numbers for a limited row of holders; a further one would have a token that the nodes may give to another
/// client.
// rule W4
BOOST_AUTO_TEST_CASE(fenced_lease_is_handed_over_only_while_tokens_are_left)
{
    auto all_the_time = usual;
    all_the_time.handover.batch = 100'000;
    all_the_time.handover.period = 1h;
    auto fenced = lock<fenced_mutex>(all_the_time);
    fenced.acquire(keeps_outcome{first});
    auto const count = [&] { return servers.ask(0).get("resource:redlock-fence").value_or(""); };
    run_until(s.context, [&] { return first->done() && !count().empty(); }); // two others are a majority
    std::string const counted_on = count();
    for (unsigned i = 1; i != core::max_hand_offs + 2; ++i) {
        auto const token = first->granted.fencing_token();
        second = std::make_shared<outcome>();
        fenced.acquire(keeps_outcome{second});
        first->granted = {};
        run_until(s.context, [&] { return second->done(); });
        BOOST_REQUIRE(second->granted.fencing_token() > token);
        first = second;
        if (i == core::max_hand_offs)
            BOOST_TEST(count() == counted_on);
    }
    auto const last = std::to_string(first->granted.fencing_token() >> core::hand_off_bits);
    run_until(s.context, [&] { return count() == last; });
}

/// The operation got the lease, and was cancelled before it could be told.
// rule W4
BOOST_AUTO_TEST_CASE(lease_handed_over_to_cancelled_operation_is_released)
{
    auto plain = lock<mutex>(usual);
    plain.acquire(keeps_outcome{first});
    run_until(s.context, [&] { return first->done(); });
    plain.acquire(asio::bind_cancellation_slot(s.cancel.slot(), keeps_outcome{second}));
    first->granted = {};
    s.cancel.emit(asio::cancellation_type::terminal);
    run_until(s.context, [&] { return second->done(); });
    BOOST_TEST(second->ec == asio::error::operation_aborted);
    run_until(s.context, [&] { return !servers.ask(0).exists("resource"); });
}

// rule W1
BOOST_FIXTURE_TEST_CASE(operation_with_other_options_votes_anew_after_cancelled_one, votes_under_way_fixture)
{
    leave_to(lock("resource", with(60min, 2min)));
    run_until_heard(3);
    deliver_all();
    run_until(context, [&] { return second->granted.votes() == 3; });
    BOOST_TEST((second->granted.remaining() > 50min));
    for (auto const& node : nodes) {
        auto const said = about_the_lock(*node);
        auto const& [vote, release, anew] = std::tie(said[0], said[1], said[2]);
        BOOST_TEST(vote[5] == std::to_string((22min / 1ms)));
        BOOST_TEST(release[4] == vote[2]);
        BOOST_TEST(anew[0] == "SET");
        BOOST_TEST(anew[2] != vote[2]);
        BOOST_TEST(anew[5] == std::to_string((62min / 1ms)));
    }
}

// rule W1
BOOST_FIXTURE_TEST_CASE(operation_with_same_options_uses_votes_of_cancelled_one, votes_under_way_fixture)
{
    leave_to(lock("resource", usual));
    deliver_all();
    run_until(context, [&] { return second->granted.votes() == 3; });
    for (auto const& node : nodes)
        BOOST_TEST(about_the_lock(*node).size() == 1U);
}

// rule W1
BOOST_FIXTURE_TEST_CASE(lease_has_the_options_of_its_operation, votes_under_way_fixture)
{
    lock_options brief = usual;
    brief.max_hold = 1min;
    leave_to(lock("resource", brief));
    deliver_all();
    run_until(context, [&] { return second->granted.votes() == 3; });
    BOOST_TEST((second->granted.remaining() <= 1min));
    for (auto const& node : nodes)
        BOOST_TEST(about_the_lock(*node).size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

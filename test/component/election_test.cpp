// SPDX-License-Identifier: BSL-1.0
// Leaders as they and observers see them (docs/protocol.md, rules EL1, EL2, EL4 and EL6), in simulated time.
#include "component/election_fixture.hpp"
#include "component/meeting_node.hpp"
#include "kind/election.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <string>

namespace redlock::test {

BOOST_FIXTURE_TEST_SUITE(elections, election_fixture)

// rule EL2
BOOST_AUTO_TEST_CASE(campaign_announces_leader_on_every_node)
{
    participant& leader = add_leader("host:80");
    BOOST_TEST(leader.held.term() != 0U);
    BOOST_TEST(leader.held.term() == leader.held.lease().fencing_token());
    pass(round_trip);
    BOOST_TEST(proclaiming(announcement_of(leader.held, "host:80")) == 3U);
}

// rule EL3
BOOST_AUTO_TEST_CASE(leader_is_known_to_others_once_its_campaign_has_completed)
{
    participant& other = add();
    BOOST_TEST(ask(other).vacant);
    participant& leader = add_leader("host:80");
    leader_info const found = ask(other);
    BOOST_TEST(!found.vacant);
    BOOST_TEST(found.confirmed);
    BOOST_TEST(found.term == leader.held.term());
    BOOST_TEST(found.revision == 1U);
    BOOST_TEST(found.value == "host:80");
}

// rule EL2
BOOST_AUTO_TEST_CASE(announcement_lives_as_long_as_its_lock)
{
    participant& leader = add_leader();
    pass(60s);
    BOOST_TEST(leader.leads());
    BOOST_TEST(proclaiming(announcement_of(leader.held, "a:1")) == 3U);
    BOOST_TEST_REQUIRE(on(0, "seat").has_value());
    BOOST_TEST((on(0, "seat")->expires == on(0, "seat:redlock-leader")->expires));
}

BOOST_AUTO_TEST_CASE(value_of_any_bytes_is_told_as_it_is)
{
    std::string value("\0 \r\n$\xff", 6);
    value.resize(kind::longest_value, 'v');
    add_leader(value);
    BOOST_TEST((ask(add()).value == value));
}

BOOST_AUTO_TEST_CASE(value_that_is_too_long_is_misconfigured_at_once)
{
    participant& one = add();
    one.campaign(std::string(kind::longest_value + 1, 'v'));
    BOOST_TEST(!one.ended);
    (void)until([&] { return one.ended.has_value(); });
    BOOST_TEST(*one.ended == errc::misconfigured);
    BOOST_TEST(!on(0, "seat"));
    participant& leader = add_leader("old");
    leader.proclaim(std::string(kind::longest_value + 1, 'v'));
    (void)until([&] { return leader.proclaimed.has_value(); });
    BOOST_TEST(*leader.proclaimed == errc::misconfigured);
    BOOST_TEST(ask(one).value == "old");
}

// rule EL1
BOOST_AUTO_TEST_CASE(next_leader_has_a_later_term)
{
    participant& first = add_leader("a");
    std::uint64_t const term = first.held.term();
    participant& second = add();
    second.campaign("b");
    pass(1s);
    BOOST_TEST(!second.ended);
    first.resign();
    (void)until([&] { return second.leads(); });
    BOOST_TEST(*first.resigned == error_code());
    BOOST_TEST(second.held.term() > term);
    BOOST_TEST(ask(first).value == "b");
    pass(round_trip);
    BOOST_TEST(proclaiming(announcement_of(second.held, "b")) == 3U);
}

/// Each leader is voted for.
// rule EL1
BOOST_AUTO_TEST_CASE(leadership_is_not_handed_over_within_a_client)
{
    participant& one = add_leader("a");
    std::uint64_t const term = one.held.term();
    leadership next;
    one.seat->campaign("b", [&](error_code, leadership won) { next = std::move(won); });
    pass(100ms);
    one.resign();
    (void)until([&] { return next.valid(); });
    BOOST_TEST((next.term() >> 10U) > (term >> 10U));
    BOOST_TEST((next.term() & 1023U) == 0U);
}

// rule EL2
BOOST_AUTO_TEST_CASE(resignation_retracts_announcement_on_every_node)
{
    participant& leader = add_leader();
    leader.resign();
    (void)until([&] { return leader.resigned.has_value(); });
    BOOST_TEST(*leader.resigned == error_code());
    BOOST_TEST(!leader.leads());
    pass(round_trip);
    for (std::size_t n = 0; n != net.size(); ++n) {
        BOOST_TEST(!on(n, "seat"));
        BOOST_TEST(!on(n, "seat:redlock-leader"));
    }
    leader_info const found = ask(leader);
    BOOST_TEST(found.vacant);
    BOOST_TEST(found.value.empty());
}

// rule EL2
BOOST_AUTO_TEST_CASE(resignation_by_the_queue_retracts_announcement)
{
    participant& leader = add_leader();
    participant& next = add();
    next.campaign("b");
    pass(1s);
    std::string const before = announcement_of(leader.held, "a:1");
    leader.held = {};
    (void)until([&] { return next.held.term() != 0; });
    pass(round_trip);
    BOOST_TEST(proclaiming(before) == 0U);
}

/// An announcement of another leader is kept.
// rule EL2
BOOST_AUTO_TEST_CASE(resignation_leaves_announcements_of_others)
{
    participant& leader = add_leader();
    std::string const later = std::to_string(leader.held.term() + 1024) + " 1 b";
    say(0, {"SET", "seat:redlock-leader", later});
    leader.resign();
    (void)until([&] { return leader.resigned.has_value(); });
    pass(round_trip);
    BOOST_TEST(proclaimed(0) == later);
    BOOST_TEST(proclaimed(1).empty());
}

// rule EL6
BOOST_AUTO_TEST_CASE(resignation_that_failed_is_repeated)
{
    participant& leader = add_leader();
    for (std::size_t n : {0U, 1U})
        net.between(0, n).cut_there_until = time.now() + 2s;
    leader.resign();
    (void)until([&] { return leader.resigned.has_value(); });
    BOOST_TEST(*leader.resigned == errc::no_quorum);
    BOOST_TEST(!leader.leads());
    pass(3s);
    leader.resign();
    (void)until([&] { return leader.resigned.has_value(); });
    BOOST_TEST(*leader.resigned == error_code());
    BOOST_TEST(ask(leader).vacant);
    leader.resign();
    (void)until([&] { return leader.resigned.has_value(); });
    BOOST_TEST(*leader.resigned == errc::released);
}

// rule EL6
BOOST_AUTO_TEST_CASE(resignation_that_was_confirmed_late_succeeds_when_it_is_repeated)
{
    settings.node_timeout = 100ms;
    participant& leader = add_leader();
    net.between(0, 1).cut_back_until = time.now() + 150ms;
    net.between(0, 2).cut_there_until = time.now() + 5s;
    leader.resign();
    (void)until([&] { return leader.resigned.has_value(); });
    BOOST_TEST(*leader.resigned == errc::no_quorum);
    pass(100ms);
    for (std::size_t n : {0U, 1U})
        net.between(0, n).cut_there_until = time.now() + 5s; // nobody is asked again
    for (error_code const expected : {error_code(), make_error_code(errc::released)}) {
        leader.resign();
        (void)until([&] { return leader.resigned.has_value(); });
        BOOST_TEST(*leader.resigned == expected);
    }
}

/// The node's answer to the first resignation comes during the second one, just before the answer to that.
// rule EL6
BOOST_AUTO_TEST_CASE(node_that_answers_both_resignations_counts_once)
{
    settings.node_timeout = 100ms;
    participant& leader = add_leader();
    for (std::size_t n : {1U, 2U})
        net.between(0, n).cut_there_until = time.now() + 5s;
    net.between(0, 0).latency = 60ms;
    leader.resign();
    (void)until([&] { return leader.resigned.has_value(); });
    BOOST_TEST(*leader.resigned == errc::no_quorum);
    net.between(0, 0).latency = one_way;
    leader.resign();
    (void)until([&] { return leader.resigned.has_value(); });
    BOOST_TEST(*leader.resigned == errc::no_quorum);
}

/// The queue node has answered the first one late: that nobody was called.
// rule EL6
BOOST_AUTO_TEST_CASE(late_answer_to_first_resignation_spoils_no_second_one)
{
    settings.node_timeout = 100ms;
    participant& before = add_leader();
    participant& leader = add();
    leader.campaign("b:1");
    pass(20ms);
    before.resign();
    (void)until([&] { return leader.leads(); });
    std::size_t const queue = meeting_node(net, "seat");
    std::size_t const other = (queue + 1) % net.size();
    net.between(1, queue).cut_back_until = time.now() + 150ms;
    net.between(1, 3 - queue - other).cut_there_until = time.now() + 5s;
    say(queue, {"DEL", "seat"});
    leader.resign();
    (void)until([&] { return leader.resigned.has_value(); });
    BOOST_TEST(*leader.resigned == errc::no_quorum);
    net.between(1, other).latency = 40ms;
    leader.resign();
    (void)until([&] { return leader.resigned.has_value(); });
    BOOST_TEST(*leader.resigned == error_code());
}

// rule EL2
BOOST_AUTO_TEST_CASE(new_value_is_known_once_it_is_announced)
{
    participant& leader = add_leader("old");
    leader.proclaim("new");
    (void)until([&] { return leader.proclaimed.has_value(); });
    BOOST_TEST(*leader.proclaimed == error_code());
    leader_info const found = ask(add());
    BOOST_TEST(found.value == "new");
    BOOST_TEST(found.revision == 2U);
    BOOST_TEST(found.confirmed);
}

/// A round that is under way carries the old value.
// rule EL2
BOOST_AUTO_TEST_CASE(new_value_is_not_confirmed_by_a_round_that_told_the_old_one)
{
    participant& leader = add_leader("old");
    for (auto const value : {"new", "newer"}) {
        leader.held.lease().extend([](error_code) {});
        while (leader.process.run())
            ;
        leader.proclaim(value);
        (void)until([&] { return leader.proclaimed.has_value(); });
        BOOST_TEST(*leader.proclaimed == error_code());
        BOOST_TEST(ask(add()).value == value);
    }
}

// rule EL2
BOOST_AUTO_TEST_CASE(node_that_was_away_is_told_with_a_later_extension)
{
    net.kill(2);
    participant& leader = add_leader();
    BOOST_TEST(proclaimed(2).empty());
    net.start(2);
    pass(10s);
    BOOST_TEST(leader.leads());
    BOOST_TEST(proclaimed(2) == announcement_of(leader.held, "a:1"));
}

/// A late announcement of a former leader is refused on nodes that know a later leader.
// rule EL2
BOOST_AUTO_TEST_CASE(old_announcement_does_not_replace_a_newer_one)
{
    participant& old = add_leader("old");
    say_everywhere({"DEL", "seat"}); // by an operator
    participant& leader = add_leader("new");
    std::string const newer = announcement_of(leader.held, "new");
    pass(round_trip);
    old.proclaim("still old");
    (void)until([&] { return old.proclaimed.has_value(); });
    BOOST_TEST(*old.proclaimed == errc::lease_lost);
    BOOST_TEST(proclaiming(newer) == 3U);
    pass(30s);
    BOOST_TEST(proclaiming(newer) == 3U);
    BOOST_TEST(leader.leads());
}

/// An extension that is overtaken by those on a later connection (rule EL4).
// rules K10 and EL2
BOOST_AUTO_TEST_CASE(late_extension_does_not_bring_back_an_earlier_value)
{
    participant& leader = add_leader("old");
    participant& other = add();
    pass(round_trip);
    for (std::size_t n = 0; n != net.size(); ++n)
        net.hold_connections(n, 0, time.now() + 2s);
    leader.held.lease().extend([](error_code) {});
    pass(round_trip);
    for (std::size_t n = 0; n != net.size(); ++n)
        net.reset_clients(n, 0);
    pass(100ms);
    leader.proclaim("new");
    (void)until([&] { return leader.proclaimed.has_value(); }, 1s);
    BOOST_TEST(*leader.proclaimed == error_code());
    BOOST_TEST(ask(other).value == "new");
    std::size_t late = 0;
    for (std::size_t n = 0; n != net.size(); ++n)
        net.at(n).overhear = [&](auto, std::string_view said) {
            late += said.find(" 1 old") == said.npos ? 0 : 1;
        };
    pass(3s);
    BOOST_TEST(late == 3U);
    BOOST_TEST(proclaiming(announcement_of(leader.held, "new", 2)) == 3U);
    BOOST_TEST(ask(add()).value == "new");
}

/// Then it leads nobody, and gives the lock back.
// rule EL2
BOOST_AUTO_TEST_CASE(campaign_fails_if_no_majority_takes_its_announcement)
{
    participant& one = add();
    one.campaign("a");
    (void)until([&] { return on(0, "seat") && on(1, "seat"); });
    for (std::size_t n : {0U, 1U})
        net.between(0, n).cut_there_until = time.now() + 3s;
    (void)until([&] { return one.ended.has_value(); });
    BOOST_TEST(*one.ended == errc::no_quorum);
    BOOST_TEST(one.held.empty());
    pass(5s);
    for (std::size_t n = 0; n != net.size(); ++n) {
        BOOST_TEST(!on(n, "seat"));
        BOOST_TEST(!on(n, "seat:redlock-leader"));
    }
}

/// A server that denies this user the announcement's key refuses each script that names it.
// rule EL2
BOOST_AUTO_TEST_CASE(lock_is_given_back_where_announcement_is_refused)
{
    participant& one = add();
    one.campaign("a");
    (void)until([&] { return on(0, "seat") && on(1, "seat"); });
    for (std::size_t n = 0; n != net.size(); ++n)
        net.at(n).redis.is.forbidden_key = "seat:redlock-leader";
    (void)until([&] { return one.ended.has_value(); });
    BOOST_TEST(*one.ended == errc::no_quorum);
    pass(100ms);
    for (std::size_t n = 0; n != net.size(); ++n)
        BOOST_TEST(!on(n, "seat").has_value());
}

/// The next operation of the client has found the lock before that, and no node tells of own changes.
// rule W2
BOOST_AUTO_TEST_CASE(lock_that_is_given_back_alone_goes_to_the_next_operation)
{
    participant& rival = add_leader("r");
    participant& one = add();
    one.campaign("a");
    pass(100ms);
    rival.resign(); // now the client knows of others
    (void)until([&] { return one.leads(); });
    fenced_mutex other(*one.locks, "seat");
    lease next;
    other.acquire([&](error_code, lease got) { next = std::move(got); });
    pass(200ms);
    for (std::size_t n = 0; n != net.size(); ++n)
        net.at(n).redis.is.forbidden_key = "seat:redlock-leader";
    one.resign();
    (void)until([&] { return next.valid(); }, 100ms);
}

// rule EL6
BOOST_AUTO_TEST_CASE(cancelled_campaign_leaves_nothing)
{
    participant& leader = add_leader("a");
    participant& one = add();
    one.campaign("b");
    pass(1s);
    one.stop.emit(asio::cancellation_type::total);
    (void)until([&] { return one.ended.has_value(); });
    BOOST_TEST(*one.ended == asio::error::operation_aborted);
    leader.resign();
    pass(1s);
    for (std::size_t n = 0; n != net.size(); ++n)
        BOOST_TEST(!on(n, "seat"));
}

/// The cancellation slot belongs to the campaign's caller, and is filled once.
BOOST_AUTO_TEST_CASE(campaign_begun_elsewhere_is_cancelled_in_its_second_step)
{
    participant& one = add();
    one.campaign("a");
    (void)until([&] { return on(0, "seat") && on(1, "seat") && on(2, "seat"); });
    for (std::size_t n = 0; n != net.size(); ++n)
        net.between(0, n).cut_there_until = time.now() + 50ms;
    pass(5ms);
    BOOST_TEST_REQUIRE(!one.ended);
    one.stop.emit(asio::cancellation_type::terminal);
    pass(1ms);
    BOOST_TEST((one.ended == asio::error::operation_aborted));
    pass(1s);
    for (std::size_t n = 0; n != net.size(); ++n)
        BOOST_TEST(!on(n, "seat"));
}

/// Whenever that happens: during the votes, while it proclaims.
// rule EL6
BOOST_AUTO_TEST_CASE(campaign_cancelled_at_any_time_leaves_nothing)
{
    for (int i = 0; i != 60; ++i) {
        participant& one = add();
        one.campaign("a");
        pass(i * 100us);
        one.stop.emit(asio::cancellation_type::terminal);
        pass(100ms);
        BOOST_TEST_REQUIRE(one.ended.has_value());
        if (*one.ended)
            BOOST_TEST(*one.ended == asio::error::operation_aborted);
        else
            one.held = {};
        pass(100ms);
        for (std::size_t n = 0; n != net.size(); ++n) {
            BOOST_TEST(!on(n, "seat"));
            BOOST_TEST(!on(n, "seat:redlock-leader"));
        }
    }
}

/// Whenever that happens, the next one leads after the lock has expired at the latest, and everybody knows it.
// rule EL1
BOOST_AUTO_TEST_CASE(leader_that_crashed_at_any_time_is_followed_by_another)
{
    options.ttl = 1s;
    std::uint64_t term = 0;
    for (int i = 0; i != 20; ++i) {
        participant& one = add();
        one.campaign("dead");
        pass(i * 300us);
        kill(one);
        participant& next = add();
        next.campaign("alive");
        (void)until([&] { return next.leads(); }, 2s);
        BOOST_TEST(next.held.term() > term);
        term = next.held.term();
        BOOST_TEST(ask(next).value == "alive");
        BOOST_TEST(ask(next).term == term);
        next.held = {};
        pass(100ms);
    }
}

// rule EL1
BOOST_AUTO_TEST_CASE(election_and_fenced_mutex_exclude_each_other)
{
    participant& leader = add_leader();
    fenced_mutex lock(*leader.locks, "seat");
    std::optional<error_code> refused;
    lock.try_acquire([&](error_code ec, lease) { refused = ec; });
    pass(100ms);
    BOOST_TEST((refused == errc::contended));
    fenced_mutex elsewhere(*add().locks, "seat");
    refused.reset();
    elsewhere.try_acquire([&](error_code ec, lease) { refused = ec; });
    pass(100ms);
    BOOST_TEST((refused == errc::contended));
}

BOOST_AUTO_TEST_CASE(empty_leadership_refuses_operations)
{
    participant& one = add();
    BOOST_TEST(one.held.empty());
    BOOST_TEST(one.held.term() == 0U);
    asio::io_context context;
    std::vector<error_code> ended;
    auto const keeps = [&] {
        return asio::bind_executor(context, [&](error_code ec) { ended.push_back(ec); });
    };
    one.held.proclaim("a", keeps());
    one.held.resign(keeps());
    one.held.ended(asio::bind_executor(context, [&](error_code ec, lease_end) { ended.push_back(ec); }));
    context.run();
    BOOST_TEST(ended.size() == 3U);
    for (auto const& ec : ended)
        BOOST_TEST(ec == errc::empty_lease);
}

BOOST_AUTO_TEST_CASE(name_of_an_elections_second_key_is_misconfigured)
{
    participant& one = add();
    auto const is_refused = [](lock_error const& e) { return e.code() == errc::misconfigured; };
    BOOST_CHECK_EXCEPTION(election(*one.locks, "seat:redlock-leader"), lock_error, is_refused);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

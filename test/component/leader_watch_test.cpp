// SPDX-License-Identifier: BSL-1.0
// Who leads, as observers are told of it (docs/protocol.md, rules EL3 to EL5), in simulated time.
#include "component/election_fixture.hpp"
#include "engine/told_leaders.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

namespace {

struct leader_watch_fixture : election_fixture {
    leader_watch_fixture() { settings.health.check_interval = 24h; }

    /// Any announcement, on any node.
    void proclaim(std::size_t n, std::uint64_t term, std::string const& rest, std::string const& ms = "60000")
    {
        say(n, {"SET", "seat:redlock-leader", std::to_string(term) + ' ' + rest, "PX", ms});
    }
    void proclaim_everywhere(std::uint64_t term, std::string const& rest)
    {
        for (std::size_t n = 0; n != net.size(); ++n)
            proclaim(n, term, rest);
    }
    /// Drops reports of changes from now on, on every connection.
    void lose_word_of_changes()
    {
        for (std::size_t n = 0; n != net.size(); ++n)
            net.at(n).garble = [](auto, std::string said) {
                return said.find("invalidate") == said.npos ? said : std::string();
            };
    }
    std::string last_told(participant const& by)
    {
        return by.told.empty() ? "nothing" : text(by.told.back());
    }
    static std::string text(leader_info const& info)
    {
        return std::to_string(info.term) +
               (info.vacant      ? " vacant"
                : info.confirmed ? " "
                                 : "? ") +
               info.value;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(leader_watches, leader_watch_fixture)

// rule EL5
BOOST_AUTO_TEST_CASE(observer_is_told_the_leader_and_its_changes)
{
    participant& observer = add_observer();
    BOOST_TEST(observer.told.empty());
    participant& leader = add_leader("a");
    (void)until([&] { return observer.told.size() == 1; }, 2 * round_trip);
    BOOST_TEST(observer.seen.term == leader.held.term());
    BOOST_TEST(observer.seen.value == "a");
    BOOST_TEST(observer.seen.confirmed);
    leader.proclaim("b");
    (void)until([&] { return observer.told.size() == 2; }, 4 * round_trip);
    BOOST_TEST(observer.seen.value == "b");
    BOOST_TEST(observer.seen.term == leader.held.term());
    leader.resign();
    (void)until([&] { return observer.told.size() == 3; }, 3 * round_trip);
    BOOST_TEST(observer.seen.vacant);
    BOOST_TEST(observer.seen.value.empty());
    pass(60s);
    BOOST_TEST(observer.told.size() == 3U);
}

BOOST_AUTO_TEST_CASE(observer_that_comes_late_is_told_at_once)
{
    add_leader("a");
    participant& observer = add();
    observer.observe();
    (void)until([&] { return observer.told.size() == 1; }, 100ms);
    BOOST_TEST(observer.seen.value == "a");
}

BOOST_AUTO_TEST_CASE(renewals_are_no_news)
{
    participant& observer = add_observer();
    add_leader("a");
    pass(60s);
    BOOST_TEST(observer.told.size() == 1U);
}

/// Nobody says so but the nodes.
// rule EL5
BOOST_AUTO_TEST_CASE(observer_is_told_when_a_crashed_leaders_keys_expire)
{
    participant& observer = add_observer();
    kill(add_leader("a"));
    (void)until([&] { return observer.seen.vacant && !observer.told.empty(); }, 12s);
    BOOST_TEST(observer.told.size() == 2U);
}

/// A server finds late that a key has expired: it is asked.
BOOST_AUTO_TEST_CASE(observer_finds_by_itself_that_keys_have_expired)
{
    participant& observer = add_observer();
    kill(add_leader("a"));
    for (std::size_t n = 0; n != net.size(); ++n)
        net.at(n).overhear = [](auto, std::string_view) {};
    pass(30s);
    BOOST_TEST(observer.seen.vacant);
}

// rule EL5
BOOST_AUTO_TEST_CASE(observer_is_told_of_deletions)
{
    participant& observer = add_observer();
    proclaim_everywhere(2048, "1 a");
    (void)until([&] { return !observer.seen.vacant; }, 10 * round_trip);
    say_everywhere({"DEL", "seat:redlock-leader"});
    (void)until([&] { return observer.seen.vacant; }, 10 * round_trip);
    BOOST_TEST(observer.seen.term == 2048U);
}

// rule EL4
BOOST_AUTO_TEST_CASE(observer_is_never_told_of_an_earlier_term)
{
    participant& observer = add_observer();
    proclaim_everywhere(4096, "1 new");
    pass(1s);
    BOOST_TEST(last_told(observer) == "4096 new");
    proclaim_everywhere(2048, "1 old");
    pass(1s);
    BOOST_TEST(last_told(observer) == "4096 vacant");
    leader_info const asked = ask(observer);
    BOOST_TEST(asked.vacant);
    BOOST_TEST(asked.term == 4096U);
    proclaim_everywhere(6144, "1 newest");
    pass(1s);
    BOOST_TEST(last_told(observer) == "6144 newest");
}

// rule EL3
BOOST_AUTO_TEST_CASE(greatest_term_of_a_majority_is_told_though_a_minority_knows_it)
{
    proclaim(0, 4096, "1 new");
    proclaim(1, 2048, "1 old");
    proclaim(2, 2048, "1 old");
    participant& observer = add();
    observer.observe();
    observer.ask();
    (void)until([&] { return observer.asked.has_value(); });
    BOOST_TEST(text(observer.asked->found) == "4096? new");
    proclaim(1, 1024, "1 older");
    pass(1s);
    BOOST_TEST(last_told(observer) == "4096? new");
    proclaim(1, 4096, "1 new");
    pass(1s);
    BOOST_TEST(last_told(observer) == "4096 new");
}

// rule EL4
BOOST_AUTO_TEST_CASE(later_value_of_a_term_is_told)
{
    participant& observer = add_observer();
    proclaim_everywhere(2048, "1 a");
    pass(1s);
    proclaim(0, 2048, "2 b");
    proclaim(1, 2048, "2 b");
    pass(1s);
    BOOST_TEST(last_told(observer) == "2048 b");
    proclaim(1, 2048, "1 a");
    proclaim(0, 2048, "1 a");
    pass(1s);
    BOOST_TEST(last_told(observer) == "2048 vacant"); // no value goes back
    proclaim_everywhere(2048, "3 c");
    pass(1s);
    BOOST_TEST(last_told(observer) == "2048 c");
}

/// A node that missed both the later value and the resignation still tells of the earlier one.
// rule EL4
BOOST_AUTO_TEST_CASE(earlier_value_is_not_told_after_the_vacancy)
{
    options.ttl = 60s;
    participant& leader = add_leader("a");
    participant& observer = add_observer();
    pass(1s);
    BOOST_TEST(observer.seen.value == "a");
    for (unsigned const host : {0U, 1U})
        net.between(host, 2).cut_there_until = time.now() + 1h;
    net.reset_connections(2);
    leader.proclaim("b");
    (void)until([&] { return observer.seen.value == "b"; });
    leader.resign();
    (void)until([&] { return observer.seen.vacant; });
    BOOST_TEST(observer.seen.revision == 2U);
    kill(leader); // which would give the lock back there
    net.between(1, 2).cut_there_until = {};
    pass(20s);
    BOOST_TEST_REQUIRE(proclaimed(2).ends_with(" 1 a"));
    BOOST_TEST(observer.seen.vacant);
    leader_info const asked = ask(observer);
    BOOST_TEST(asked.vacant);
    BOOST_TEST(asked.revision == 2U);
    BOOST_TEST(observer.told.size() == 3U);
}

/// An earlier answer of a node does not contradict later knowledge.
// rule EL4
BOOST_AUTO_TEST_CASE(answers_from_before_make_no_vacancy)
{
    participant& observer = add_observer();
    proclaim_everywhere(2048, "1 a");
    pass(1s);
    lose_word_of_changes();
    proclaim_everywhere(2048, "2 b");
    pass(1s);
    BOOST_TEST(last_told(observer) == "2048 a");
    BOOST_TEST(ask(observer).value == "b");
    net.reset_connections(2);
    pass(1s);
    BOOST_TEST(last_told(observer) == "2048 b");
    BOOST_TEST(observer.told.size() == 2U);
}

/// The majority may rightly answer with the one before.
// rule EL4
BOOST_AUTO_TEST_CASE(revision_of_a_minority_makes_no_vacancy)
{
    participant& one = add();
    net.between(0, 2).latency = 3 * one_way;
    proclaim_everywhere(2048, "1 a");
    proclaim(0, 2048, "2 b");
    BOOST_TEST(text(ask(one)) == "2048? b");
    net.kill(0);
    pass(1s);
    BOOST_TEST(text(ask(one)) == "2048 a");
}

/// Also one that only a minority has told.
// rule EL4
BOOST_AUTO_TEST_CASE(vacancy_has_the_last_revision_that_is_known)
{
    participant& observer = add_observer();
    proclaim_everywhere(2048, "1 a");
    pass(1s);
    proclaim(0, 2048, "2 b");
    pass(10s);
    BOOST_TEST(last_told(observer) == "2048? b");
    say_everywhere({"DEL", "seat:redlock-leader"});
    pass(1s);
    BOOST_TEST(last_told(observer) == "2048 vacant");
    BOOST_TEST(observer.seen.revision == 2U);
    proclaim_everywhere(2048, "1 a");
    pass(10s);
    BOOST_TEST(last_told(observer) == "2048 vacant");
}

/// Also when its nodes are changed, which ends the watch without an answer.
// rule EL4
BOOST_AUTO_TEST_CASE(change_of_nodes_tells_no_earlier_value)
{
    participant& observer = add_observer();
    proclaim_everywhere(2048, "1 a");
    pass(1s);
    lose_word_of_changes();
    proclaim_everywhere(2048, "2 b");
    BOOST_TEST(ask(observer).value == "b");
    observer.locks->change_nodes(std::vector{net.url(0), net.url(1)}, [](error_code) {});
    (void)until([&] { return last_told(observer) == "2048 b"; });
    BOOST_TEST((std::ranges::count(observer.told, "a", &leader_info::value) == 1));
}

/// The knowledge of another client is proof, too.
// rule EL4
BOOST_AUTO_TEST_CASE(leader_before_the_one_that_is_known_is_gone)
{
    proclaim_everywhere(2048, "1 old");
    participant& observer = add();
    observer.seen = {.term = 4096, .revision = 1, .value = "new", .confirmed = true, .vacant = false};
    observer.observe();
    pass(1s);
    BOOST_TEST(last_told(observer) == "4096 vacant");
}

/// For as long as the client lives.
// rule EL4
BOOST_AUTO_TEST_CASE(client_without_an_election_remembers_what_it_was_told)
{
    participant& one = add();
    proclaim_everywhere(4096, "1 new");
    BOOST_TEST(ask(one).term == 4096U);
    one.seat.reset();
    pass(1s);
    for (unsigned i = 0; i + 1 != detail::told_leaders::most; ++i) {
        std::string const name = "other" + std::to_string(i);
        say_everywhere({"SET", name + ":redlock-leader", "2048 1 a"});
        one.seat.emplace(*one.locks, name, options);
        BOOST_TEST(ask(one).term == 2048U);
    }
    one.seat.reset();
    proclaim_everywhere(2048, "1 old");
    one.seat.emplace(*one.locks, "seat", options);
    leader_info const again = ask(one);
    BOOST_TEST(again.vacant);
    BOOST_TEST(again.term == 4096U);
    BOOST_TEST(again.revision == 1U);
}

/// An announcement is told when a majority has it.
// rule EL5
BOOST_AUTO_TEST_CASE(announcement_on_its_way_is_told_once)
{
    participant& observer = add_observer();
    proclaim(0, 2048, "1 a");
    pass(100ms);
    BOOST_TEST(observer.told.empty());
    proclaim(1, 2048, "1 a");
    pass(100ms);
    proclaim(2, 2048, "1 a");
    pass(10s);
    BOOST_TEST(observer.told.size() == 1U);
    BOOST_TEST(last_told(observer) == "2048 a");
}

// rule EL5
BOOST_AUTO_TEST_CASE(announcement_of_a_minority_is_told_after_a_while)
{
    participant& observer = add_observer();
    proclaim(0, 2048, "1 a");
    pass(10s);
    BOOST_TEST(observer.told.size() == 1U);
    BOOST_TEST(last_told(observer) == "2048? a");
}

// rule EL5
BOOST_AUTO_TEST_CASE(observer_learns_on_reconnection_what_was_lost_with_the_connection)
{
    participant& observer = add_observer();
    proclaim_everywhere(2048, "1 a");
    pass(1s);
    for (std::size_t n = 0; n != net.size(); ++n)
        net.reset_connections(n);
    proclaim_everywhere(4096, "1 b");
    (void)until([&] { return observer.seen.term == 4096; }, 2s);
    BOOST_TEST(last_told(observer) == "4096 b");
}

/// A node's answer on a closed connection may be outdated.
// rule EL5
BOOST_AUTO_TEST_CASE(node_that_is_away_does_not_keep_a_leader_in_office)
{
    participant& observer = add_observer();
    proclaim_everywhere(2048, "1 a");
    pass(1s);
    net.kill(0);
    pass(1s);
    say(1, {"DEL", "seat:redlock-leader"});
    say(2, {"DEL", "seat:redlock-leader"});
    pass(1s);
    BOOST_TEST(last_told(observer) == "2048 vacant");
}

/// Nor does a node that is asked again.
BOOST_AUTO_TEST_CASE(node_that_is_back_counts_when_it_has_answered)
{
    settings.health.response_timeout = 20s;
    participant& observer = add_observer();
    proclaim_everywhere(2048, "1 a");
    pass(1s);
    net.at(0).garble = [](auto, std::string said) {
        return said.find("2048 1 a") == said.npos ? said : std::string();
    };
    net.reset_connections(0);
    pass(1s);
    say(1, {"DEL", "seat:redlock-leader"});
    say(2, {"DEL", "seat:redlock-leader"});
    pass(1s);
    BOOST_TEST(last_told(observer) == "2048 vacant");
}

// rule EL5
BOOST_AUTO_TEST_CASE(word_that_is_lost_is_made_up_for_by_asking)
{
    settings.health.check_interval = 3s;
    participant& observer = add_observer();
    proclaim_everywhere(2048, "1 a");
    pass(1s);
    lose_word_of_changes();
    proclaim_everywhere(4096, "1 b");
    pass(2s);
    BOOST_TEST(last_told(observer) == "2048 a");
    pass(2s);
    BOOST_TEST(last_told(observer) == "4096 b");
}

// rule EL5
BOOST_AUTO_TEST_CASE(nodes_that_do_not_tell_of_changes_are_asked)
{
    for (std::size_t n = 0; n != net.size(); ++n)
        net.at(n).redis.is.resp3 = false;
    participant& observer = add_observer();
    proclaim_everywhere(2048, "1 a");
    (void)until([&] { return observer.told.size() == 1; }, options.retry.max_delay + 4 * round_trip);
    BOOST_TEST(last_told(observer) == "2048 a");
}

// rule EL5
BOOST_AUTO_TEST_CASE(node_that_was_too_busy_to_track_is_asked)
{
    for (std::size_t n = 0; n != net.size(); ++n)
        net.at(n).garble = [busy = true](auto, std::string said) mutable {
            bool const tracks = said.starts_with("+OK\r\n"); // the answers of a handshake begin with HELLO's
            if (tracks && std::exchange(busy, false))
                return "-BUSY Redis is busy running a script.\r\n" + said.substr(5);
            return said.find("invalidate") == said.npos ? said : std::string();
        };
    participant& observer = add_observer();
    proclaim_everywhere(2048, "1 a");
    (void)until([&] { return observer.told.size() == 1; }, options.retry.max_delay + 4 * round_trip);
    BOOST_TEST(last_told(observer) == "2048 a");
}

/// A server does not tell a connection of what was changed on it.
// rule EL5
BOOST_AUTO_TEST_CASE(leader_observes_itself)
{
    participant& one = add_observer();
    one.campaign("a");
    (void)until([&] { return one.told.size() == 1; }, 100ms);
    BOOST_TEST(last_told(one) == std::to_string(one.held.term()) + " a");
    one.proclaim("b");
    (void)until([&] { return one.told.size() == 2; }, 100ms);
    BOOST_TEST(one.seen.value == "b");
    one.resign();
    (void)until([&] { return one.told.size() == 3; }, 100ms);
    BOOST_TEST(one.seen.vacant);
}

/// It has forgotten what it was told.
// rules N4 and EL3
BOOST_AUTO_TEST_CASE(node_that_may_have_forgotten_does_not_say_that_nobody_leads)
{
    settings.admission.assume_fresh = false;
    for (std::size_t n = 0; n != net.size(); ++n)
        net.at(n).redis.is.started_us = -3600'000'000LL;
    participant& observer = add();
    proclaim(0, 2048, "1 a");
    proclaim(1, 2048, "1 a");
    observer.observe();
    pass(15s);
    BOOST_TEST(last_told(observer) == "2048 a");
    net.kill(1);
    net.start(1);
    pass(5s);
    observer.ask();
    (void)until([&] { return observer.asked.has_value(); });
    BOOST_TEST(text(observer.asked->found) == "2048? a");
    net.kill(0); // the other two know of nobody
    pass(1s);
    observer.ask();
    (void)until([&] { return observer.asked.has_value(); });
    BOOST_TEST((observer.asked->ec == errc::no_quorum));
    BOOST_TEST(last_told(observer) == "2048 a");
}

// rule EL5
BOOST_AUTO_TEST_CASE(watch_without_quorum_fails_after_outage_patience)
{
    options.retry.outage_patience = 2s;
    participant& observer = add_observer();
    proclaim_everywhere(2048, "1 a");
    pass(1s);
    net.kill(0);
    net.kill(1);
    pass(1s);
    BOOST_TEST((observer.observed == error_code()));
    pass(2s);
    BOOST_TEST((observer.observed == errc::no_quorum));
    participant& another = add();
    another.ask();
    (void)until([&] { return another.asked.has_value(); });
    BOOST_TEST(another.asked->ec == errc::no_quorum);
}

BOOST_AUTO_TEST_CASE(answer_that_is_refused_is_told_in_the_error)
{
    for (std::size_t n = 0; n != net.size(); ++n)
        net.at(n).redis.is.forbidden.insert("get");
    participant& one = add();
    std::string text;
    one.seat->leader(with_diagnostics([&](std::exception_ptr diagnostics, leader_info) {
        try {
            std::rethrow_exception(diagnostics);
        } catch (lock_error const& e) {
            text = e.what();
        }
    }));
    (void)until([&] { return !text.empty(); });
    BOOST_TEST(text.find("NOPERM") != text.npos, text);
    BOOST_TEST(text.find("seat") != text.npos, text);
}

// rule EL3
BOOST_AUTO_TEST_CASE(foreign_data_say_that_nobody_leads)
{
    participant& one = add();
    for (auto const& words : {std::vector<std::string>{"SET", "seat:redlock-leader", "text"},
                              {"SET", "seat:redlock-leader", "0 1 a"},
                              {"SET", "seat:redlock-leader", "9007199254740992 1 a"},
                              {"SET", "seat:redlock-leader", "2048 1"}}) {
        say_everywhere(words);
        BOOST_TEST(ask(one).vacant);
    }
    say_everywhere({"DEL", "seat:redlock-leader"});
    say_everywhere({"RPUSH", "seat:redlock-leader", "a"});
    BOOST_TEST(ask(one).vacant);
}

// rule EL5
BOOST_AUTO_TEST_CASE(cancelled_observation_leaves_nothing)
{
    participant& observer = add_observer();
    observer.look_away.emit(asio::cancellation_type::partial);
    (void)until([&] { return observer.observed == asio::error::operation_aborted; });
    pass(1s);
    std::size_t asked = 0;
    for (std::size_t n = 0; n != net.size(); ++n)
        net.at(n).overhear = [&](auto, std::string_view) { ++asked; };
    proclaim_everywhere(2048, "1 a");
    pass(60s);
    BOOST_TEST(asked == 0U);
    BOOST_TEST(observer.told.empty());
}

BOOST_AUTO_TEST_CASE(observation_ends_with_its_client)
{
    participant& observer = add_observer();
    observer.locks.reset();
    pass(100ms);
    BOOST_TEST((observer.observed == errc::shut_down));
}

BOOST_AUTO_TEST_CASE(two_observers_of_a_client_are_both_told)
{
    participant& observer = add_observer();
    leader_info second;
    observer.seat->observe({}, [&](error_code, leader_info now) { second = std::move(now); });
    pass(100ms);
    proclaim_everywhere(2048, "1 a");
    pass(100ms);
    BOOST_TEST(second.value == "a");
    BOOST_TEST(last_told(observer) == "2048 a");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

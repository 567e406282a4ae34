// SPDX-License-Identifier: BSL-1.0
// Several names wait in line for the one that is in the way (docs/protocol.md, rules M3 and M7).
#include "component/multi_fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

namespace {

struct sets_in_line : multi_fixture {
    using multi_fixture::multi_fixture;

    /// A lock passes from one client to the next: what is released, its answer, the claim.
    static constexpr duration time_to_hand_over = 2 * round_trip + 200us;

    /// The number of waiters in the queue of a name.
    std::size_t line_for(std::string const& name)
    {
        std::size_t found = 0;
        for (std::size_t n = 0; n != net.size(); ++n)
            if (auto const there = on(n, name + ":redlock-queue"))
                found += there->members.size();
        return found;
    }
    /// Each of its own client; the first has the names.
    void line_up_sets(std::size_t size, names const& which)
    {
        for (std::size_t i = 0; i != size; ++i)
            sets.push_back(want_all(add(), which));
        BOOST_TEST_REQUIRE(sets.front()->held.valid());
        BOOST_TEST(line_for(which.front()) == size - 1);
    }
    duration until_it_has(wish const& one)
    {
        return until([&] { return one.held.valid(); });
    }
    /// A set that was called for `a` holds `a` and `b`, and somebody waits for `a` behind it. Its client is the second.
    void call_set_before_another()
    {
        auto const first = want_one(add(), "a");
        sets.push_back(want_all(add(), {"a", "b"}));
        others.push_back(want_one(add(), "a"));
        BOOST_TEST(line_for("a") == 2U);
        first->held = {};
        (void)until_it_has(*sets.front());
    }

    std::vector<std::unique_ptr<wish>> sets;
    std::vector<std::unique_ptr<wish>> others;
};

struct sets_at_one_node : sets_in_line {
    sets_at_one_node() : sets_in_line(1) {}
};

struct sets_at_two_nodes : sets_in_line {
    sets_at_two_nodes() : sets_in_line(2) {}

    /// Its queue is at that node.
    std::string name_that_meets_at(std::size_t node)
    {
        std::string name = "a";
        while (meeting_node(net, name) != node)
            ++name.front();
        return name;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(multi_queue, sets_in_line)

// rules Q21 and M7
BOOST_AUTO_TEST_CASE(set_enters_queue_of_the_name_in_its_way)
{
    auto const held = want_one(add(), "b");
    auto const set = want_all(add(), {"a", "b", "c"});
    BOOST_TEST(keys() == (std::set<std::string>{"b", "b:redlock-queue"}));
    auto const behind = want_one(add(), "b");
    BOOST_TEST(line_for("b") == 2U);
    held->held = {};
    (void)until_it_has(*set);
    BOOST_TEST(!behind->ended.has_value());
    BOOST_TEST(nodes_with("c", set->held.nonce()) == 3U);
    set->held = {};
    BOOST_TEST((until_it_has(*behind) <= time_to_hand_over));
    behind->held = {};
    pass(100ms);
    BOOST_TEST(keys().empty());
}

/// All waiters of these names are called one after the other, and never vote in vain.
// rule Q21
BOOST_AUTO_TEST_CASE(claim_takes_all_names_of_the_previous_owner)
{
    line_up_sets(6, {"a", "b"});
    sets[0]->held = {};
    (void)until_it_has(*sets[1]);
    std::size_t const before = commands;
    for (std::size_t i = 1; i + 1 != sets.size(); ++i) {
        pass(5ms);
        sets[i]->held = {};
        BOOST_TEST((until_it_has(*sets[i + 1]) <= time_to_hand_over));
        for (std::size_t later = i + 2; later < sets.size(); ++later)
            BOOST_TEST(!sets[later]->ended.has_value());
    }
    pass(1ms);
    BOOST_TEST(commands - before <= 4 * (2 * net.size() + 2));
}

/// Each operation has a set of its own. It enters the queue first, because its client knows of other clients.
BOOST_AUTO_TEST_CASE(set_knows_rivals_that_another_set_has_met)
{
    line_up_sets(4, {"a", "b"});
    auto const holder = [&] {
        return std::ranges::find_if(sets, [](auto const& one) { return one->held.valid(); });
    };
    std::size_t before = 0;
    for (int i = 0; i != 16; ++i) {
        if (i == 8) // by now all know of other clients
            before = commands;
        (void)until([&] { return holder() != sets.end(); });
        BOOST_TEST_REQUIRE((holder() != sets.end()));
        auto const which = static_cast<std::size_t>(holder() - sets.begin());
        sets[which]->held = {};
        sets[which] = begin_to_want(multi_mutex(*all[which]->locks, {"a", "b"}, options));
        pass(10ms);
        BOOST_TEST((i < 8 || !sets[which]->ended.has_value()));
    }
    BOOST_TEST(commands - before <= 8 * (2 * net.size() + 2));
}

/// The name that it was called for goes on at once, though the queue node refused the claim for the other one.
// rule Q21
BOOST_AUTO_TEST_CASE(called_set_that_meets_another_name_gives_the_first_back)
{
    contender& one = add();
    auto const first = want_one(one, "a");
    auto const second = want_one(add(), "a");
    auto const b = want_one(add(), "b");
    auto const set = want_all(add(), {"a", "b"});
    auto const third = want_one(add(), "a");
    BOOST_TEST(line_for("a") == 3U);
    first->held = {};
    (void)until_it_has(*second);
    second->held = {};
    BOOST_TEST((until_it_has(*third) <= 2 * time_to_hand_over));
    pass(1ms);
    BOOST_TEST(line_for("a") == 0U);
    BOOST_TEST(line_for("b") == 1U);
    third->held = {};
    b->held = {};
    (void)until_it_has(*set);
    set->held = {};
    pass(100ms);
    BOOST_TEST(keys().empty());
}

// rule Q21
BOOST_AUTO_TEST_CASE(set_that_leaves_the_queue_leaves_nothing)
{
    auto const held = want_one(add(), "b");
    auto const set = want_all(add(), {"a", "b"});
    BOOST_TEST(line_for("b") == 1U);
    set->stop.emit(asio::cancellation_type::total);
    pass(10ms);
    BOOST_TEST((set->ended == asio::error::operation_aborted));
    BOOST_TEST(keys() == (std::set<std::string>{"b"}));
}

BOOST_AUTO_TEST_CASE(released_names_go_to_each_queue)
{
    auto const set = want_all(add(), {"a", "b", "c"});
    auto const a = want_one(add(), "a");
    auto const b = want_one(add(), "b");
    auto const c = want_all(add(), {"c"});
    set->held = {};
    for (wish const* const each : {a.get(), b.get(), c.get()})
        BOOST_TEST((until_it_has(*each) <= time_to_hand_over + a_tick));
}

/// Its names were claimed before its release came to the other nodes: the lease was not lost.
BOOST_AUTO_TEST_CASE(release_that_was_overtaken_by_the_claim_is_a_release)
{
    line_up_sets(3, {"a", "b"});
    sets[0]->held = {};
    (void)until_it_has(*sets[1]);
    net.between(1, 0).latency = net.between(1, 1).latency = net.between(1, 2).latency = 5 * one_way;
    pass(10ms);
    all[1]->told->released.reset();
    sets[1]->held = {};
    (void)until_it_has(*sets[2]);
    pass(100ms);
    BOOST_TEST_REQUIRE(all[1]->told->released.has_value());
    BOOST_TEST(!*all[1]->told->released);
}

/// The queue node refused the claim, because of `b`, and hands on the `a` that it kept for it.
// rules R2 and M3
BOOST_AUTO_TEST_CASE(release_that_hands_on_a_name_of_a_refused_claim_is_a_release)
{
    std::size_t const queue = meeting_node(net, "a");
    say(queue, {"SET", "b", std::string(32, 'f'), "PX", "100000"});
    call_set_before_another();
    BOOST_TEST(nodes_with("b", sets.front()->held.nonce()) == 2U);
    BOOST_TEST(nodes_with("a", sets.front()->held.nonce()) == 3U);
    delay_all_but(queue, 1, 5 * one_way);
    sets.front()->held = {};
    (void)until_it_has(*others.front());
    pass(100ms);
    BOOST_TEST_REQUIRE(all[1]->told->released.has_value());
    BOOST_TEST(!*all[1]->told->released);
}

/// The node that hands on its other name says so itself: no next owner has taken the lost one.
// rules R2 and M3
BOOST_FIXTURE_TEST_CASE(release_that_hands_on_a_part_does_not_hide_a_lost_name, sets_at_one_node)
{
    call_set_before_another();
    say(0, {"DEL", "b"});
    sets.front()->held = {};
    (void)until_it_has(*others.front());
    BOOST_TEST_REQUIRE(all[1]->told->released.has_value());
    BOOST_TEST((*all[1]->told->released == errc::lease_lost));
}

/// The queue node is asked first and answers last. Meanwhile the other node has handed on its name, which is claimed at both.
// rules R2 and M3
BOOST_FIXTURE_TEST_CASE(late_queue_node_does_not_call_back_what_another_node_handed_on, sets_at_two_nodes)
{
    std::string const late = name_that_meets_at(0);
    std::string const other = name_that_meets_at(1);
    auto const first = want_one(add(), late);
    auto const set = want_all(add(), {late, other});
    first->held = {};
    (void)until_it_has(*set);
    auto const next = want_one(add(), other);
    BOOST_TEST(line_for(other) == 1U);
    net.between(1, 0).latency = 20 * one_way;
    set->held = {};
    (void)until_it_has(*next);
    pass(100ms);
    BOOST_TEST_REQUIRE(all[1]->told->released.has_value());
    BOOST_TEST(!*all[1]->told->released);
}

/// The answer that tells of the call comes last. The next owner's claim was first at the other node.
// rules R2 and M3
BOOST_FIXTURE_TEST_CASE(refusal_that_comes_before_the_news_of_a_call_is_excused, sets_at_two_nodes)
{
    std::string const own = name_that_meets_at(0);
    std::string const other = name_that_meets_at(1);
    auto const set = want_all(add(), {own, other});
    auto const next = want_one(add(), other);
    BOOST_TEST(line_for(other) == 1U);
    net.between(0, 0).latency = 5 * one_way;
    net.between(0, 1).cut_back_until = time.now() + 20ms;
    set->held = {};
    (void)until_it_has(*next);
    pass(100ms);
    BOOST_TEST_REQUIRE(all[0]->told->released.has_value());
    BOOST_TEST(!*all[0]->told->released);
}

/// Each of the names is left to others after a batch, and then none for a long time.
// rule W5
BOOST_AUTO_TEST_CASE(set_that_nobody_else_wants_is_soon_taken_without_a_queue)
{
    multi_mutex const set(*add().locks, names{"a", "b", "c", "d"}, options);
    auto const take_often = [&] {
        std::size_t const before = commands;
        for (unsigned i = 0; i != 200; ++i) {
            auto const one = begin_to_want(set);
            (void)until_it_has(*one);
        }
        return commands - before;
    };
    (void)take_often();
    BOOST_TEST(take_often() <= 200U * 2 * net.size() + 20);
}

/// The node's event finds that the lease is over, before the timer does.
// rule H7
BOOST_AUTO_TEST_CASE(lease_that_ended_ends_when_a_node_comes_back)
{
    options.ttl = 1s;
    settings.reconnect.min_delay = settings.reconnect.max_delay = 10ms;
    contender& one = add();
    auto const set = want_all(one, {"a", "b"});
    pass(200ms); // from now on it watches its names
    for (std::size_t n = 0; n != net.size(); ++n) {
        net.at(n).up = false;
        net.reset_connections(n);
    }
    pass(500ms);
    duration const later = time.now() + set->held.remaining() + 20ms;
    net.at(0).up = true;
    net.at(0).stalled_until = later;
    pass(100ms); // it is being connected
    one.process.machine().hold_timers_until(later + 100ms);
    BOOST_TEST_REQUIRE(set->held.valid());
    pass(300ms + 1s);
    BOOST_TEST(!set->held.valid());
    BOOST_TEST((set->held.state() == lease_state::lost));
}

// rule Q19
BOOST_AUTO_TEST_CASE(names_that_pass_on_and_on_are_left_free_for_a_moment)
{
    auto unqueued = options;
    unqueued.fair = false;
    line_up_sets(6, {"a", "b"});
    contender& outside = add();
    auto const polls = want(mutex(*outside.locks, "b", unqueued));
    auto const took = until(
        [&] {
            for (std::size_t i = 0; i != sets.size(); ++i)
                if (sets[i]->held.valid()) {
                    sets[i]->held = {};
                    sets[i] = begin_to_want(multi_mutex(*all[i]->locks, {"a", "b"}, options));
                }
            return polls->held.valid();
        },
        5s);
    BOOST_TEST((took <= 1s));
}

/// The names meet at the node of the one that is in the way, as its other waiters do.
// rules W3 and M7
BOOST_AUTO_TEST_CASE(set_without_queue_looks_where_others_of_the_name_wait)
{
    names const which{"a", "b", "c", "d", "e"};
    for (std::string const& name : which) {
        std::set<std::size_t> asked;
        for (std::size_t n = 0; n != net.size(); ++n) {
            net.at(n).redis.is.forbidden = {"zadd"};
            net.at(n).overhear = [&asked, n](auto, std::string_view bytes) {
                if (bytes.find("PTTL") != std::string_view::npos)
                    asked.insert(n);
            };
        }
        auto const held = want_one(add(), name);
        auto const set = want_all(add(), which);
        pass(200ms);
        BOOST_TEST(asked == std::set<std::size_t>{meeting_node(net, name)});
        held->held = {};
        (void)until_it_has(*set);
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

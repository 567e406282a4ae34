// SPDX-License-Identifier: BSL-1.0
// Several names that are never free together (docs/protocol.md, rule M8).
#include "component/multi_fixture.hpp"
#include <redlock/with_diagnostics.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

namespace {

struct turns_fixture : multi_fixture {
    /// How long all names are asked for at once.
    [[nodiscard]] duration longest_try_for_all() const { return std::min<duration>(options.ttl / 10, 1s); }

    /// A client that never releases it has the name.
    void occupy_name(std::string const& name)
    {
        say_everywhere({"SET", name, std::string(32, 'f'), "PX", "3600000"});
    }

    [[nodiscard]] bool all_nodes_have(std::string const& key)
    {
        for (std::size_t n = 0; n != net.size(); ++n)
            if (!on(n, key))
                return false;
        return true;
    }

    /// The set has waited for "a" for long enough, and is then refused for "b": it takes one name after the other.
    template <class Lock>
    std::unique_ptr<wish> want_until_tired(Lock set)
    {
        auto const a = want_one(add(), "a");
        auto wanted = want(std::move(set));
        pass(longest_try_for_all());
        a->held = {};
        pass(1s);
        BOOST_TEST_REQUIRE(all_nodes_have("a"));
        BOOST_TEST_REQUIRE(!wanted->ended.has_value());
        return wanted;
    }
    std::unique_ptr<wish> want_until_tired(contender& by, names which)
    {
        return want_until_tired(multi_mutex(*by.locks, std::move(which), options));
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(multi_in_sequence, turns_fixture)

// rule M8
BOOST_AUTO_TEST_CASE(names_that_are_never_free_together_are_taken_in_sequence)
{
    contender& one = add();
    contender& other = add();
    contender& wide = add();
    auto const a = want_one(one, "a");
    auto const set = want_all(wide, {"a", "b"});
    auto const next = want_one(other, "b");
    pass(1s);
    BOOST_TEST(!set->ended.has_value());
    a->held = {}; // a alone is free
    pass(100ms);
    BOOST_TEST(all_nodes_have("a")); // it is kept
    BOOST_TEST((try_one(one, "a") == errc::contended));
    next->held = {};
    pass(100ms);
    BOOST_TEST_REQUIRE(set->held.valid());
    BOOST_TEST(nodes_with("a", set->held.nonce()) == 3U);
    BOOST_TEST(nodes_with("b", set->held.nonce()) == 3U);
    set->held = {};
    pass(100ms);
    BOOST_TEST(keys().empty());
}

/// While its nonces change, no key is free.
// rule M8
BOOST_AUTO_TEST_CASE(what_was_taken_is_never_free_before_all_are_held)
{
    contender& one = add();
    contender& wide = add();
    contender& third = add();
    auto const b = want_one(one, "b");
    auto const set = want_until_tired(wide, {"a", "b"});
    auto const next = want_one(third, "a"); // is queued
    b->held = {};
    bool kept = true;
    (void)until([&] {
        kept = kept && all_nodes_have("a");
        return set->held.valid();
    });
    BOOST_TEST(kept);
    BOOST_TEST(!next->ended.has_value());
}

/// The client's other waiter for a name stays behind, also while the name passes from its own lease to that of all names.
// rule M8
BOOST_AUTO_TEST_CASE(other_waiter_of_the_client_does_not_come_between)
{
    contender& wide = add();
    auto const b = want_one(add(), "b");
    auto const set = want_until_tired(wide, {"a", "b"});
    auto const behind = want_one(wide, "a");
    b->held = {};
    (void)until([&] { return set->held.valid(); });
    pass(100ms);
    BOOST_TEST(!behind->ended.has_value());
    BOOST_TEST(keys() == (std::set<std::string>{"a", "b"})); // the nodes were never asked for it
    behind->stop.emit(asio::cancellation_type::total);
    set->held = {};
    pass(100ms);
    BOOST_TEST(keys().empty());
}

/// A position is called in its order.
// rules Q21 and M8
BOOST_AUTO_TEST_CASE(time_in_a_queue_is_not_enough)
{
    auto const b = want_one(add(), "b");
    auto const set = want_all(add(), {"a", "b"});
    pass(10 * longest_try_for_all());
    BOOST_TEST(keys() == (std::set<std::string>{"b", "b:redlock-queue"}));
    b->held = {};
    pass(10ms);
    BOOST_TEST(set->held.valid());
}

/// No other event wakes it soon: nothing changes, and no client renews.
// rule M8
BOOST_AUTO_TEST_CASE(time_without_a_position_is_enough)
{
    options.fair = false;
    options.retry.min_delay = options.retry.max_delay = 1min;
    occupy_name("b");
    auto const set = want_all(add(), {"a", "b"});
    pass(longest_try_for_all() + 10ms);
    BOOST_TEST(all_nodes_have("a"));
    BOOST_TEST(!set->ended.has_value());
}

BOOST_AUTO_TEST_CASE(many_refusals_are_enough)
{
    options.ttl = 10s;
    contender& one = add();
    contender& wide = add();
    auto in_its_way = want_one(one, "a");
    auto other = want_one(one, "b");
    auto const set = want_all(wide, {"a", "b"});
    duration const began = time.now();
    std::string name = "a";
    bool kept = false;
    for (int i = 0; i != 12 && !kept; ++i) { // refused for one of them, and then for the other
        in_its_way->held = {};
        pass(10ms);
        kept = all_nodes_have(name);
        if (!kept) {
            in_its_way = std::exchange(other, want_one(one, name));
            name = name == "a" ? "b" : "a";
        }
    }
    BOOST_TEST(kept);
    BOOST_TEST(set->held.empty());
    BOOST_TEST((time.now() - began < longest_try_for_all()));
    other->held = {};
    pass(100ms);
    BOOST_TEST(set->held.valid());
}

BOOST_AUTO_TEST_CASE(leaving_waiter_gives_back_what_it_had_taken)
{
    contender& one = add();
    contender& wide = add();
    auto const b = want_one(one, "b");
    auto const set = want_until_tired(wide, {"a", "b", "c"});
    auto const behind = want_one(wide, "c");
    BOOST_TEST(!behind->ended.has_value());
    set->stop.emit(asio::cancellation_type::total);
    pass(100ms);
    BOOST_TEST((set->ended == asio::error::operation_aborted));
    BOOST_TEST(!all_nodes_have("a"));
    BOOST_TEST(behind->held.valid());
    behind->held = {};
    b->held = {};
    pass(100ms);
    BOOST_TEST(keys().empty());
}

BOOST_AUTO_TEST_CASE(time_limit_ends_it_and_leaves_nothing)
{
    contender& one = add();
    contender& wide = add();
    auto const b = want_one(one, "b");
    auto const a = want_one(one, "a");
    std::optional<error_code> ended;
    multi_mutex(*wide.locks, {"a", "b"}, options).acquire_for(4s, [&](error_code ec, lease) { ended = ec; });
    pass(longest_try_for_all());
    a->held = {};
    pass(1s);
    BOOST_TEST(all_nodes_have("a"));
    (void)until([&] { return ended.has_value(); });
    BOOST_TEST((ended == errc::timed_out));
    pass(100ms);
    BOOST_TEST(!all_nodes_have("a"));
}

/// The refusals were those of all names at once.
BOOST_AUTO_TEST_CASE(outage_while_names_are_taken_is_not_explained_by_refusals)
{
    options.retry.outage_patience = 5s;
    contender& one = add();
    contender& wide = add();
    auto const a = want_one(one, "a");
    auto const b = want_one(one, "b");
    std::exception_ptr why;
    multi_mutex(*wide.locks, {"a", "b"}, options).acquire(with_diagnostics([&](std::exception_ptr e, lease) {
        why = std::move(e);
    }));
    pass(longest_try_for_all());
    a->held = {};
    pass(1s);
    BOOST_TEST_REQUIRE(all_nodes_have("a"));
    for (unsigned n = 0; n != net.size(); ++n)
        net.kill(n);
    pass(60s);
    BOOST_TEST_REQUIRE((why != nullptr));
    BOOST_CHECK_EXCEPTION(std::rethrow_exception(why), lock_error, [](lock_error const& e) {
        return e.code() == errc::no_quorum && std::ranges::none_of(e.outcomes(), [](node_outcome const& row) {
                   return row.result == node_result::held_by_other;
               });
    });
}

BOOST_AUTO_TEST_CASE(key_that_was_lost_meanwhile_is_taken_again)
{
    contender& one = add();
    contender& wide = add();
    auto const b = want_one(one, "b");
    auto const set = want_until_tired(wide, {"a", "b"});
    pass(1s);
    say_everywhere({"DEL", "a"});
    pass(1s);
    b->held = {};
    (void)until([&] { return set->held.valid(); });
    BOOST_TEST(nodes_with("a", set->held.nonce()) == 3U);
    set->held = {};
    pass(100ms);
    BOOST_TEST(keys().empty());
}

BOOST_AUTO_TEST_CASE(others_of_the_client_wait_until_all_is_given_back)
{
    contender& one = add();
    contender& wide = add();
    auto const b = want_one(one, "b");
    auto const set = want_until_tired(wide, {"a", "b"});
    auto const behind = want_one(wide, "a");
    pass(1s);
    b->held = {};
    (void)until([&] { return set->held.valid(); });
    BOOST_TEST(!behind->ended.has_value());
    set->held = {};
    (void)until([&] { return behind->held.valid(); });
}

BOOST_AUTO_TEST_CASE(fenced_set_counts_above_what_it_took)
{
    contender& one = add();
    contender& wide = add();
    auto const b = want(fenced_mutex(*one.locks, "b", options));
    auto const before = b->held.fencing_token();
    auto const set = want_until_tired(fenced_multi_mutex(*wide.locks, {"a", "b"}, options));
    b->held = {};
    (void)until([&] { return set->held.valid(); });
    BOOST_TEST(set->held.fencing_token() > before);
    BOOST_TEST(nodes_with("a", set->held.nonce()) == 3U);
}

// rule M8
BOOST_AUTO_TEST_CASE(name_that_was_lost_meanwhile_goes_to_next_waiter)
{
    contender& one = add();
    contender& wide = add();
    auto const b = want_one(one, "b");
    auto const set = want_until_tired(wide, {"a", "b"});
    auto const behind = want_one(wide, "a");
    pass(1s);
    say_everywhere({"DEL", "a"});
    (void)until([&] { return behind->held.valid(); });
    b->held = {};
    pass(1s);
    BOOST_TEST(!set->ended.has_value());
    BOOST_TEST(behind->held.valid());
    behind->held = {};
    (void)until([&] { return set->held.valid(); });
    set->held = {};
    pass(100ms);
    BOOST_TEST(keys().empty());
}

/// The set is queued behind operations of its client that came before it began anew.
// rule M8
BOOST_AUTO_TEST_CASE(waiter_that_lost_a_name_meanwhile_is_last)
{
    contender& one = add();
    contender& wide = add();
    auto const b = want_one(one, "b");
    auto const set = want_until_tired(wide, {"a", "b"});
    auto const second = want_one(wide, "a");
    auto const third = want_one(wide, "a");
    pass(1s);
    say_everywhere({"DEL", "a"});
    (void)until([&] { return second->held.valid(); });
    b->held = {};
    pass(1s); // it gets the other name, and sees that it has lost this one
    BOOST_TEST(!third->ended.has_value());
    second->held = {};
    (void)until([&] { return third->held.valid() || set->held.valid(); });
    BOOST_TEST(third->held.valid());
    third->held = {};
    (void)until([&] { return set->held.valid(); });
}

/// Waiters get a name that is released, but this one is given up.
// rule M8
BOOST_AUTO_TEST_CASE(what_was_taken_is_given_up_and_not_released)
{
    contender& one = add();
    contender& wide = add();
    auto const b = want_one(one, "b");
    auto const set = want_until_tired(wide, {"a", "b"});
    auto const next = want_one(add(), "a"); // is queued
    b->held = {};
    (void)until([&] { return set->held.valid(); });
    BOOST_TEST(nodes_with("a", set->held.nonce()) == 3U);
    std::vector<lease_event::kind> ends;
    for (auto const& change : wide.told->leases)
        if (change.what == lease_event::kind::released || change.what == lease_event::kind::detached)
            ends.push_back(change.what);
    BOOST_TEST((ends == std::vector(2, lease_event::kind::detached)));
}

/// A node that missed the vote does not keep the former one.
// rule M8
BOOST_AUTO_TEST_CASE(node_that_missed_the_last_vote_forgets_what_was_taken)
{
    contender& one = add();
    contender& wide = add();
    auto const b = want_one(one, "b");
    auto const set = want_until_tired(wide, {"a", "b"});
    std::string const taken = on(2, "a")->text;
    net.at(2).redis.is.forbidden.insert("exists"); // the vote's alone
    b->held = {};
    (void)until([&] { return set->held.valid(); });
    BOOST_TEST(nodes_with("a", set->held.nonce()) == 2U);
    pass(100ms);
    BOOST_TEST(nodes_with("a", taken) == 0U);
}

/// The node's event finds that a lease is over. The next waiter for its name fails at once, and gives up the leases that it
/// has, of which the node's event is still to tell.
// rules H7 and M8
BOOST_AUTO_TEST_CASE(names_are_given_up_when_a_node_comes_back)
{
    options.ttl = 1s;
    options.retry.outage_patience = 0ms;
    options.handover = {.batch = 1000, .period = 1h};
    settings.reconnect.min_delay = settings.reconnect.max_delay = 10s;
    auto const pair = want_all(add(), {"x", "y"});
    auto const b = want_one(add(), "b");
    auto const a = want_one(add(), "a");
    contender& one = add();
    auto const set = want_all(one, {"a", "b", "x"});
    pass(longest_try_for_all());
    a->held = {};
    pass(100ms); // it has a alone
    lease adopted = multi_mutex(*one.locks, {"x", "y"}, options).adopt(pair->held.nonce());
    pair->held.detach();
    adopted.extend([](error_code) {});
    pass(100ms);
    b->held = {};
    pass(200ms); // it has b, too, and waits for x
    BOOST_TEST_REQUIRE(adopted.valid());
    BOOST_TEST_REQUIRE(all_nodes_have("a"));
    BOOST_TEST_REQUIRE(all_nodes_have("b"));
    for (std::size_t n = 0; n != net.size(); ++n) {
        net.at(n).up = false;
        net.reset_connections(n);
    }
    pass(500ms);
    duration const later = time.now() + adopted.remaining() + 20ms;
    for (std::size_t n = 0; n != net.size(); ++n) {
        net.at(n).up = true;
        net.at(n).stalled_until = later;
    }
    auto const connects = [](node_status const& each) { return each.state == node_state::connecting; };
    (void)until([&] { return std::ranges::all_of(one.locks->node_table(), connects); });
    one.process.machine().hold_timers_until(later + 100ms);
    BOOST_TEST_REQUIRE(adopted.valid());
    pass(later - 10ms - time.now());
    net.reset_connections(1);
    net.reset_connections(2);
    BOOST_TEST_REQUIRE(!set->ended.has_value());
    pass(300ms + 1s);
    BOOST_TEST((adopted.state() == lease_state::lost));
    BOOST_TEST(set->ended.has_value());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

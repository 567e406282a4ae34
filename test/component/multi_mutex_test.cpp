// SPDX-License-Identifier: BSL-1.0
// Several names locked at once (docs/protocol.md, rules M1 to M7).
#include "component/multi_fixture.hpp"
#include "core/rendezvous.hpp"
#include "kind/kind.hpp"
#include "kind/multi.hpp"
#include "kit/text.hpp"
#include "net/node.hpp"
#include "redis/script.hpp"
#include <redlock/election.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace redlock::test {

BOOST_FIXTURE_TEST_SUITE(multi_mutexes, multi_fixture)

BOOST_AUTO_TEST_CASE(all_names_are_taken_by_one_vote_and_given_back)
{
    contender& one = add();
    std::size_t const before = commands;
    auto const set = want_all(one, {"c", "a", "b", "a"});
    BOOST_TEST_REQUIRE(set->held.valid());
    BOOST_TEST(set->held.resource() == "a, b, c");
    for (auto const* const name : {"a", "b", "c"})
        BOOST_TEST(nodes_with(name, set->held.nonce()) == 3U);
    set->held = {};
    pass(round_trip);
    BOOST_TEST(keys().empty());
    BOOST_TEST(commands - before <= 3 * (2 + 8)); // the handshakes', and scripts that were not known
}

// rule M1
BOOST_AUTO_TEST_CASE(names_are_sorted_and_each_counts_once)
{
    contender& one = add();
    multi_mutex const lock(*one.locks, {"b", "a", "b"});
    BOOST_TEST(names(lock.names().begin(), lock.names().end()) == (names{"a", "b"}));
}

BOOST_AUTO_TEST_CASE(name_that_another_has_keeps_all_out)
{
    contender& one = add();
    contender& other = add();
    auto const held = want_one(one, "b");
    BOOST_TEST((try_all(other, {"a", "b", "c"}) == errc::contended));
    BOOST_TEST(keys() == (std::set<std::string>{"b"}));
    BOOST_TEST((try_all(other, {"a", "c"}) == error_code()));
}

// rule M2
BOOST_AUTO_TEST_CASE(each_name_is_kept_from_others)
{
    contender& one = add();
    contender& other = add();
    auto const set = want_all(one, {"a", "b"});
    BOOST_TEST((try_one(other, "a") == errc::contended));
    BOOST_TEST((try_one(other, "b") == errc::contended));
    BOOST_TEST((try_all(other, {"b", "c"}) == errc::contended));
    BOOST_TEST((try_one(one, "a") == errc::contended));
    BOOST_TEST((try_all(one, {"b", "c"}) == errc::contended));
    BOOST_TEST((try_one(other, "c") == error_code()));
}

/// m1 of the models.
// rule M3
BOOST_AUTO_TEST_CASE(node_that_grants_some_names_is_no_vote)
{
    contender& one = add();
    say(0, {"SET", "a", "somebody", "PX", "60000"});
    say(1, {"SET", "b", "somebody", "PX", "60000"});
    BOOST_TEST((try_all(one, {"a", "b"}) == errc::contended));
    BOOST_TEST(!on(0, "b"));
    BOOST_TEST(!on(1, "a"));
    BOOST_TEST(!on(2, "a"));
}

BOOST_AUTO_TEST_CASE(failure_tells_which_name_is_in_the_way)
{
    contender& one = add();
    for (std::size_t n = 0; n != net.size(); ++n)
        say(n, {"SET", "b", std::string(32, 'f'), "PX", "60000"});
    multi_mutex lock(*one.locks, {"a", "b"}, options);
    BOOST_TEST((try_once(lock) == errc::contended));
    auto const table = lock.last_attempt();
    BOOST_TEST_REQUIRE(table.size() == 3U);
    for (node_outcome const& row : table) {
        if (row.result == node_result::pending) // two decide
            continue;
        BOOST_TEST((row.result == node_result::held_by_other));
        BOOST_TEST(row.resource == "b");
        BOOST_TEST(row.owner == "ffffffff");
        BOOST_TEST((row.holder == holder_kind::owner));
    }
    std::string const said = lock.explain(errc::contended).what();
    BOOST_TEST(said.find("lock \"a, b\": ") == 0U, said);
    BOOST_TEST(said.find("held by another under \"b\"") != said.npos, said);
}

// rule M7
BOOST_AUTO_TEST_CASE(waiter_is_woken_by_the_name_in_its_way)
{
    contender& one = add();
    contender& other = add();
    auto const held = want_one(one, "b");
    auto const set = want_all(other, {"a", "b", "c"});
    pass(300ms);
    BOOST_TEST(!set->ended.has_value());
    BOOST_TEST(keys() == (std::set<std::string>{"b", "b:redlock-queue"}));
    held->held = {};
    BOOST_TEST((until([&] { return set->held.valid(); }) <= 4 * round_trip + a_tick));
}

// rule M7
BOOST_AUTO_TEST_CASE(names_in_the_way_are_waited_for_one_after_the_other)
{
    contender& one = add();
    contender& other = add();
    auto const a = want_one(one, "a");
    auto const c = want_one(one, "c");
    auto const set = want_all(other, {"a", "b", "c"});
    pass(300ms);
    a->held = {};
    pass(300ms);
    BOOST_TEST(!set->ended.has_value());
    BOOST_TEST(keys() == (std::set<std::string>{"c", "c:redlock-queue"}));
    c->held = {};
    BOOST_TEST((until([&] { return set->held.valid(); }) <= 4 * round_trip + a_tick));
}

BOOST_AUTO_TEST_CASE(lease_is_renewed_under_all_names)
{
    options.ttl = 3s;
    contender& one = add();
    auto const set = want_all(one, {"a", "b"});
    pass(30s);
    BOOST_TEST(set->held.valid());
    BOOST_TEST(nodes_with("a", set->held.nonce()) == 3U);
    BOOST_TEST(nodes_with("b", set->held.nonce()) == 3U);
}

// rule M3
BOOST_AUTO_TEST_CASE(lease_that_lost_one_name_is_lost_as_a_whole)
{
    options.ttl = 3s;
    contender& one = add();
    auto const set = want_all(one, {"a", "b"});
    std::optional<lease_end> told;
    set->held.ended([&](error_code, lease_end end) { told = end; });
    for (std::size_t n = 0; n != 2; ++n)
        say(n, {"SET", "b", "somebody", "PX", "60000"});
    pass(2s);
    BOOST_TEST((told == lease_end::lost));
    BOOST_TEST(!set->held.valid());
    auto const why = set->held.explain(errc::lease_lost);
    BOOST_TEST((why.cause() == loss_cause::refused));
    BOOST_TEST(why.outcomes()[0].resource == "b");
    BOOST_TEST(std::string(why.what()).find("does not hold \"b\"") != std::string::npos, why.what());
    std::string const nonce(set->held.nonce());
    set->held = {};
    pass(100ms);
    BOOST_TEST(nodes_with("a", nonce) == 0U); // the rest is released
    BOOST_TEST(on(0, "b")->text == "somebody");
}

/// An extension has read all of its keys.
// rules W6 and M3
BOOST_AUTO_TEST_CASE(loss_of_any_name_is_heard_at_once)
{
    options.ttl = 30s;
    contender& one = add();
    auto const set = want_all(one, {"a", "b"});
    pass(1s);
    std::optional<lease_end> told;
    set->held.ended([&](error_code, lease_end end) { told = end; });
    say_everywhere({"DEL", "b"});
    pass(4 * round_trip);
    BOOST_TEST((told == lease_end::lost));
}

// rule M9
BOOST_AUTO_TEST_CASE(short_lease_asks_nothing_but_its_vote_and_release)
{
    contender& one = add();
    want_all(one, {"a", "b"})->held = {}; // scripts are known by now
    pass(1s);
    std::size_t const before = commands;
    auto const set = want_all(one, {"a", "b"});
    set->held = {};
    pass(1s);
    BOOST_TEST(commands - before == 6U);
}

// rule M6
BOOST_AUTO_TEST_CASE(operation_waits_in_the_queues_of_all_its_names)
{
    contender& one = add();
    auto const a = want_one(one, "a");
    pass(500ms);
    std::size_t const before = commands;
    auto const set = want_all(one, {"a", "b"});
    auto const b = want_one(one, "b");
    BOOST_TEST(commands == before); // it is the first for one of them only
    pass(1s);
    BOOST_TEST(!set->ended.has_value());
    BOOST_TEST(!b->ended.has_value()); // it came later
    BOOST_TEST(mutex(*one.locks, "b").waiting() == 2U);
    a->held = {};
    pass(4 * round_trip + a_tick);
    BOOST_TEST(set->held.valid());
    set->held = {};
    pass(4 * round_trip + a_tick);
    BOOST_TEST(b->held.valid());
}

// rule M6
BOOST_AUTO_TEST_CASE(sets_of_one_client_are_served_in_the_order_of_their_coming)
{
    contender& one = add();
    auto const first = want_all(one, {"a", "b"});
    auto const second = want_all(one, {"b", "c"});
    auto const third = want_all(one, {"a", "c"});
    pass(1s);
    BOOST_TEST(!second->ended.has_value());
    BOOST_TEST(!third->ended.has_value());
    first->held = {};
    pass(100ms);
    BOOST_TEST(second->held.valid());
    BOOST_TEST(!third->ended.has_value());
    second->held = {};
    pass(100ms);
    BOOST_TEST(third->held.valid());
    third->held = {};
    pass(100ms);
    BOOST_TEST(keys().empty());
}

BOOST_AUTO_TEST_CASE(leaving_waiter_lets_all_queues_go_on)
{
    contender& one = add();
    auto const a = want_one(one, "a");
    auto const set = want_all(one, {"a", "b"});
    auto const b = want_one(one, "b");
    set->stop.emit(asio::cancellation_type::total);
    pass(100ms);
    BOOST_TEST((set->ended == asio::error::operation_aborted));
    BOOST_TEST(b->held.valid());
    BOOST_TEST(mutex(*one.locks, "a").waiting() == 0U);
}

BOOST_AUTO_TEST_CASE(waiter_that_leaves_while_it_is_asked_for_leaves_nothing)
{
    contender& one = add();
    contender& other = add();
    auto const held = want_one(other, "b");
    auto const set = want_all(one, {"a", "b"});
    auto const a = want_one(one, "a");
    pass(100ms);
    BOOST_TEST(!a->ended.has_value());
    set->stop.emit(asio::cancellation_type::total);
    pass(100ms);
    BOOST_TEST(a->held.valid());
    a->held = {};
    held->held = {};
    pass(100ms);
    BOOST_TEST(keys().empty());
}

/// Without the network.
// rules W4 and M6
BOOST_AUTO_TEST_CASE(lease_passes_to_waiter_for_the_same_names)
{
    options.handover.period = 10s;
    contender& one = add();
    auto const first = want_all(one, {"a", "b"});
    auto const second = want_all(one, {"b", "a"});
    auto const third = want_all(one, {"a", "b", "c"});
    std::string const nonce(first->held.nonce());
    first->held = {};
    pass(1ms);
    BOOST_TEST(second->held.valid());
    BOOST_TEST(second->held.nonce() == nonce);
    second->held = {};
    pass(100ms);
    BOOST_TEST(third->held.valid());
    BOOST_TEST(third->held.nonce() != nonce);
}

// rule M6
BOOST_AUTO_TEST_CASE(lease_does_not_pass_by_waiter_for_one_name)
{
    options.handover.period = 10s;
    contender& one = add();
    auto const first = want_all(one, {"a", "b"});
    auto const single = want_one(one, "b");
    auto const second = want_all(one, {"a", "b"});
    first->held = {};
    pass(100ms);
    BOOST_TEST(single->held.valid());
    BOOST_TEST(!second->ended.has_value());
    single->held = {};
    pass(100ms);
    BOOST_TEST(second->held.valid());
}

/// However many locks of these names there are.
// rule W5
BOOST_AUTO_TEST_CASE(row_of_sets_ends_for_others)
{
    contender& one = add();
    contender& other = add();
    (void)want_one(one, "x"); // both are connected
    (void)want_one(other, "x");
    std::vector<std::unique_ptr<wish>> row;
    for (int i = 0; i != 400; ++i) {
        row.push_back(std::make_unique<wish>());
        multi_mutex(*one.locks, {"a", "b"}, options).acquire([its = row.back().get()](error_code, lease got) {
            its->held = std::move(got);
        });
    }
    auto const let_go = [&] {
        for (auto const& each : row)
            each->held = {};
        pass(2ms);
    };
    std::optional<lease> theirs;
    mutex(*other.locks, "a", options).acquire([&](error_code, lease got) { theirs = std::move(got); });
    auto const waited = until([&] {
        let_go();
        return theirs.has_value();
    });
    BOOST_TEST((waited < 500ms));
    theirs.reset();
    (void)until([&] {
        let_go();
        return mutex(*one.locks, "a").waiting() == 0;
    });
}

BOOST_AUTO_TEST_CASE(restarted_node_is_waited_for_as_long_as_any_of_the_keys_may_live)
{
    contender& one = add();
    lock_options shorter = options;
    shorter.ttl = 1s;
    mutex const longer(*one.locks, "b", options); // ten seconds
    multi_mutex set(*one.locks, {"a", "b"}, shorter);
    (void)try_once(set);
    net.kill(0);
    pass(100ms);
    net.start(0);
    pass(4s);
    (void)try_once(set); // connects
    (void)try_once(set);
    auto const table = set.last_attempt();
    BOOST_TEST_REQUIRE(table.size() == 3U);
    BOOST_TEST((table[0].result == node_result::quarantined));
}

BOOST_AUTO_TEST_CASE(lease_is_adopted_under_all_names)
{
    contender& one = add();
    contender& other = add();
    auto const set = want_all(one, {"a", "b"});
    std::string const nonce(set->held.nonce());
    set->held.detach();
    lease again = multi_mutex(*other.locks, {"a", "b"}, options).adopt(nonce);
    std::optional<error_code> extended;
    again.extend([&](error_code ec) { extended = ec; });
    pass(100ms);
    BOOST_TEST((extended == error_code()));
    BOOST_TEST(again.valid());
    again = {};
    pass(100ms);
    BOOST_TEST(keys().empty());
}

BOOST_AUTO_TEST_CASE(crash_of_holder_frees_all_names_in_time)
{
    options.ttl = 3s;
    contender& one = add();
    multi_mutex both(*one.locks, {"a", "b"}, options);
    one.acquire(both);
    (void)until_granted(one);
    contender& other = add();
    auto const set = want_all(other, {"b", "a"});
    kill(0);
    BOOST_TEST((until([&] { return set->held.valid(); }) <= 3s + 300ms + 100ms));
}

// rule M1
BOOST_AUTO_TEST_CASE(set_that_cannot_be_is_refused_when_it_is_made)
{
    contender& one = add();
    auto const refused = [&](names which, std::string const& why) {
        BOOST_CHECK_EXCEPTION(multi_mutex(*one.locks, which), lock_error, [&](lock_error const& e) {
            return e.code() == errc::misconfigured && std::string(e.what()).find(why) != std::string::npos;
        });
    };
    refused({}, "has none");
    refused({"a", ""}, "empty");
    refused({"a", std::string(513, 'x')}, "512");
    refused({"a", "b:redlock-queue"}, "reserved for");
    names many;
    for (int i = 0; i != 65; ++i)
        many.push_back(std::to_string(i));
    refused(many, "has 65 of them, more than 64");
    many.pop_back();
    BOOST_TEST(multi_mutex(*one.locks, many).names().size() == 64U);
    names long_ones;
    for (char c = 'a'; c != 'a' + 20; ++c)
        long_ones.emplace_back(512, c);
    BOOST_TEST(multi_mutex(*one.locks, long_ones).names().size() == 20U);
    long_ones.push_back("z");
    refused(long_ones, "have 10241 bytes together, each with its key prefix; the most is 10240");
}

// rule M1
BOOST_AUTO_TEST_CASE(names_are_measured_with_their_prefix)
{
    settings.key_prefix = std::string(512, 'p');
    contender& one = add();
    names some;
    for (char c = 'a'; c != 'a' + 20; ++c)
        some.emplace_back(1, c);
    BOOST_CHECK_THROW(multi_mutex(*one.locks, some), lock_error);
    some.pop_back();
    BOOST_TEST(multi_mutex(*one.locks, some).names().size() == 19U);
}

/// No part of a command is appended without memory for all of it.
// rule M1
BOOST_AUTO_TEST_CASE(command_on_the_longest_names_fits_into_the_spare_memory)
{
    names const longest(kind::most_names, std::string(kind::longest_names / kind::most_names, 'x'));
    std::string const nonce(32, 'a');
    std::string const owners(kind::most_names * nonce.size(), 'b');
    kind::command_arguments const args{.key = {{}, {}, longest},
                                       .nonce = nonce,
                                       .number = std::uint64_t{1} << 43U,
                                       .previous_owner = owners,
                                       .queue = {.time = 24h}};
    for (auto const* const type : {&kind::multi, &kind::fenced_multi})
        for (std::size_t i = 0; i != kind::request_count; ++i) {
            auto const what = static_cast<kind::request>(i);
            if (!type->script(what))
                continue;
            std::string out;
            type->make_commands(std::string(512, 'p'), {24h, 24h})
                ->append(out, what, args, redis::script_form::text);
            if (type->marks(what))
                kind::append_marker(out, std::string(96, 'm'));
            BOOST_TEST(out.size() <= net::node::spare_output, i << ": " << out.size());
        }
}

/// The queue of a name may be a key that the user has no right to.
// rule M3
BOOST_AUTO_TEST_CASE(names_are_given_back_though_their_queues_are_refused)
{
    contender& one = add();
    auto const set = want_all(one, {"a", "b"});
    forbid_lines();
    set->ended.reset();
    set->held.release([&](error_code ec) { set->ended = ec; });
    pass(100ms);
    BOOST_TEST((set->ended == error_code()));
    BOOST_TEST(keys().empty());
}

// rule M3
BOOST_AUTO_TEST_CASE(votes_are_taken_back_though_their_queues_are_refused)
{
    contender& one = add();
    want_all(one, {"a", "b"})->held = {}; // the nodes are connected, and know the scripts
    pass(100ms);
    wish set;
    multi_mutex(*one.locks, {"a", "b"}, options)
        .acquire(
            asio::bind_cancellation_slot(set.stop.slot(), [&](error_code ec, lease) { set.ended = ec; }));
    pass(one_way + 200us);
    BOOST_TEST(keys().size() == 2U); // the votes have come there, and no answer here
    forbid_lines();
    set.stop.emit(asio::cancellation_type::total);
    pass(100ms);
    BOOST_TEST((set.ended == asio::error::operation_aborted));
    BOOST_TEST(keys().empty());
}

// rule M1
BOOST_AUTO_TEST_CASE(names_on_cluster_nodes_need_one_hash_tag)
{
    settings.admission.allow_cluster_node = true;
    world::process process(net, 0, 1);
    client locks(process.make_client(settings));
    BOOST_CHECK_THROW(multi_mutex(locks, {"a", "b"}), lock_error);
    BOOST_CHECK_THROW(multi_mutex(locks, {"{a}x", "{b}x"}), lock_error);
    BOOST_CHECK_NO_THROW(multi_mutex(locks, {"{a}x", "{a}y"}));
    BOOST_CHECK_THROW(multi_mutex(locks, {"a"}), lock_error); // and a reserved name
}

/// The marker has none of their names.
// rule M1
BOOST_AUTO_TEST_CASE(marker_on_cluster_nodes_needs_a_hash_tag_in_the_prefix)
{
    auto const names_the_remedy = [](lock_error const& e) {
        return e.code() == errc::misconfigured && contains(e.what(), "key_prefix, as in \"{locks}:\"");
    };
    settings.admission.allow_cluster_node = true;
    for (std::string const prefix : {"", "locks:", "{}", "{"}) {
        settings.key_prefix = prefix;
        world::process process(net, 0, 1);
        client locks(process.make_client(settings));
        BOOST_CHECK_EXCEPTION(fenced_multi_mutex(locks, {"{a}x", "{a}y"}), lock_error, names_the_remedy);
        BOOST_CHECK_EXCEPTION(fenced_mutex(locks, "{a}x"), lock_error, names_the_remedy);
        BOOST_CHECK_EXCEPTION(fenced_shared_mutex(locks, "{a}x"), lock_error, names_the_remedy);
        BOOST_CHECK_EXCEPTION(election(locks, "{a}x"), lock_error, names_the_remedy);
        BOOST_CHECK_NO_THROW(mutex(locks, "x"));
    }
    settings.key_prefix = "{locks}:";
    contender& one = add();
    BOOST_CHECK_NO_THROW(fenced_multi_mutex(*one.locks, {"{a}x", "b"}));
    BOOST_CHECK_NO_THROW(fenced_mutex(*one.locks, "x"));
    BOOST_CHECK_NO_THROW(fenced_shared_mutex(*one.locks, "x"));
    BOOST_CHECK_NO_THROW(election(*one.locks, "x"));
}

BOOST_AUTO_TEST_CASE(sixty_four_names_are_locked_and_given_back)
{
    contender& one = add();
    names many;
    for (int i = 0; i != 64; ++i)
        many.push_back(std::to_string(i));
    auto const set = want_all(one, many);
    BOOST_TEST(set->held.valid());
    BOOST_TEST(keys().size() == 64U);
    set->held = {};
    pass(100ms);
    BOOST_TEST(keys().empty());
}

/// A waiter behind an operation on several names finds the reason in the table of its own lock.
BOOST_AUTO_TEST_CASE(waiter_behind_set_is_told_which_nodes_are_missing)
{
    contender& one = add();
    (void)try_one(one, "a");
    for (unsigned n = 0; n != net.size(); ++n)
        net.kill(n);
    auto const set = begin_to_want(multi_mutex(*one.locks, {"a", "b"}, options));
    pass(100ms);
    mutex const alone(*one.locks, "a", options);
    BOOST_TEST(!set->ended.has_value());
    BOOST_TEST(alone.last_attempt().empty());
    std::optional<error_code> ended;
    alone.acquire_for(100ms, [&](error_code ec, lease) { ended = ec; });
    pass(200ms);
    BOOST_TEST_REQUIRE(ended.has_value());
    BOOST_TEST(*ended == errc::timed_out);
    auto const table = alone.last_attempt();
    BOOST_TEST_REQUIRE(table.size() == 3U);
    for (node_outcome const& row : table)
        BOOST_TEST((row.result == node_result::unreachable));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(fenced_multi_mutexes, multi_fixture)

// rule M4
BOOST_AUTO_TEST_CASE(token_is_above_those_of_each_name)
{
    contender& one = add();
    auto const tokens_of = [&](std::string const& name) {
        auto const held = want(fenced_mutex(*one.locks, name, options));
        pass(100ms);
        BOOST_TEST_REQUIRE(held->held.valid());
        return held->held.fencing_token();
    };
    (void)tokens_of("a");
    auto const a = tokens_of("a");
    auto const b = tokens_of("b");
    std::uint64_t both = 0;
    {
        auto const set = want(fenced_multi_mutex(*one.locks, {"a", "b"}, options));
        pass(100ms);
        BOOST_TEST_REQUIRE(set->held.valid());
        both = set->held.fencing_token();
    }
    pass(100ms);
    BOOST_TEST(both > a);
    BOOST_TEST(both > b);
    BOOST_TEST(tokens_of("a") > both);
    BOOST_TEST(tokens_of("b") > both);
}

/// Its client has seen the number (rule F3), whichever name it asks for next.
// rule N9
BOOST_AUTO_TEST_CASE(token_is_above_those_of_other_sets_that_nodes_and_clocks_have_lost)
{
    contender& one = add();
    auto const token_of = [&](fenced_multi_mutex const& set) {
        auto const got = want(set);
        BOOST_TEST_REQUIRE(got->held.valid());
        return got->held.fencing_token();
    };
    fenced_multi_mutex const some(*one.locks, {"a", "b"}, options);
    fenced_multi_mutex const others(*one.locks, {"b", "c"}, options);
    auto const before = token_of(some);
    pass(100ms);
    for (char const* const fence : {"a:redlock-fence", "b:redlock-fence"})
        say_everywhere({"DEL", fence});
    one.process.machine().set_wall_clock(-1h);
    BOOST_TEST(token_of(others) > before);
}

// rules M4 and F5
BOOST_AUTO_TEST_CASE(name_that_one_node_lost_is_set_again)
{
    options.ttl = 3s;
    contender& one = add();
    auto const set = want(fenced_multi_mutex(*one.locks, {"a", "b"}, options));
    pass(100ms);
    BOOST_TEST_REQUIRE(set->held.valid());
    say(0, {"DEL", "b"});
    pass(2s);
    BOOST_TEST(set->held.valid());
    BOOST_TEST(nodes_with("b", set->held.nonce()) == 3U);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::test

// SPDX-License-Identifier: BSL-1.0
#include "component/held_clock.hpp"
#include "component/scripted_cluster.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

using namespace redlock;
using namespace redlock::test;

namespace {

constexpr lock_options tolerant{.ttl = 10min, .slack = 10min, .tolerate_suspect = true, .node_timeout = 20s};
constexpr std::string_view set_again = ":2\r\n";
constexpr std::string_view at_the_token = ":7\r\n";
constexpr std::string_view behind = ":5\r\n";

/// Two nodes grant, and what the third says comes after that was enough.
struct late_third_node_fixture : scripted_cluster {
    template <class Lock>
    lease acquire(Lock lock)
    {
        auto const result = std::make_shared<outcome>();
        lock.try_acquire(keeps_outcome{result});
        run_until(context, [&] { return result->done(); });
        return std::move(result->granted);
    }
    lease acquire_fenced(std::string_view third)
    {
        expect_everywhere("EVAL", reply(canned::marker));
        nodes[0]->expect("EVAL", reply(at_the_token));
        nodes[1]->expect("EVAL", reply(at_the_token));
        nodes[2]->expect("EVAL", late(third));
        return acquire(fenced_mutex(*locks, "resource", long_lived));
    }
    lease acquire_plain(std::string_view third)
    {
        nodes[2]->expect("SET", late(third));
        return acquire(lock());
    }
    /// A later reply on the same connection has been read, too.
    void read_the_third()
    {
        auto const later = try_acquire(lock("another"));
        nodes[2]->deliver_late();
        run_until(context, [&] { return later->granted.votes() == 3; });
    }
};

/// The counters of two nodes have to be raised to that of the third.
struct differing_counters_fixture : scripted_cluster {
    outcome_ptr acquire(std::string_view answer_to_the_raise)
    {
        expect_everywhere("EVAL", reply(canned::marker));
        nodes[0]->expect("EVAL", reply(at_the_token));
        for (std::size_t i = 1; i != 3; ++i)
            nodes[i]->expect("EVAL", reply(behind)).expect("EVAL", reply(answer_to_the_raise));
        auto const result = std::make_shared<outcome>();
        fenced_mutex(*locks, "resource", long_lived).try_acquire(keeps_outcome{result});
        run_until(context, [&] { return result->done(); });
        return result;
    }
};

struct overdue_fenced_lease_fixture : held_clock_base, scripted_cluster {
    lease held;

    overdue_fenced_lease_fixture()
    {
        expect_everywhere("EVAL", reply(canned::marker));
        expect_everywhere("EVAL", reply(at_the_token));
        auto const got = std::make_shared<outcome>();
        fenced_mutex(*locks, "resource", tolerant).try_acquire(keeps_outcome{got});
        run_until(context, [&] { return got->granted.votes() == 3; });
        held = std::move(got->granted);
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(late_votes, late_third_node_fixture)

// rule F2
BOOST_AUTO_TEST_CASE(late_vote_with_smaller_token_is_not_counted)
{
    lease const held = acquire_fenced(behind);
    read_the_third();
    BOOST_TEST(held.votes() == 2U);
    BOOST_TEST(!surprised());
}

BOOST_AUTO_TEST_CASE(late_vote_with_equal_token_is_counted)
{
    lease const held = acquire_fenced(at_the_token);
    read_the_third();
    BOOST_TEST(held.votes() == 3U);
}

/// The lease is held, or gone: nobody counts on that key.
// rule A7
BOOST_AUTO_TEST_CASE(late_vote_with_unknown_script_is_not_resent)
{
    lease held = acquire_fenced(at_the_token);
    read_the_third();
    release(held);
    run_until_heard(5); // the marker, the vote, the other lock's, and both releases
    nodes[0]->expect("EVALSHA", reply(at_the_token));
    nodes[1]->expect("EVALSHA", reply(at_the_token));
    nodes[2]->expect("EVALSHA", late(canned::noscript));
    held = acquire(fenced_mutex(*locks, "resource", long_lived));
    read_the_third();
    read_the_third(); // behind the earlier bytes
    BOOST_TEST(std::ranges::count_if(nodes[2]->heard(), [&](auto const& words) {
                   return std::ranges::count(words, std::string(held.nonce())) != 0;
               }) == 1);
}

BOOST_AUTO_TEST_CASE(late_vote_that_grants_is_counted)
{
    lease const held = acquire_plain(canned::ok);
    read_the_third();
    BOOST_TEST(held.votes() == 3U);
}

// rule H5
BOOST_AUTO_TEST_CASE(late_vote_that_denies_is_not_counted)
{
    lease const held = acquire_plain(canned::nil);
    read_the_third();
    BOOST_TEST(held.votes() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(differing_counters, differing_counters_fixture)

// rule F2
BOOST_AUTO_TEST_CASE(fenced_attempt_with_refused_write_back_is_contended)
{
    auto const got = acquire(canned::zero);
    BOOST_TEST(got->ec == errc::contended);
    BOOST_TEST(got->granted.empty());
}

// rule F2
BOOST_AUTO_TEST_CASE(fenced_attempt_with_unknown_write_back_script_has_no_quorum)
{
    BOOST_TEST(acquire(canned::noscript)->ec == errc::no_quorum);
}

// rule F2
BOOST_AUTO_TEST_CASE(fenced_attempt_writes_highest_counter_back)
{
    auto const got = acquire(canned::one);
    BOOST_TEST(got->ec == error_code());
    auto words = nodes[1]->heard();
    std::erase_if(words, [](auto const& w) { return w[0] != "EVAL"; });
    BOOST_TEST_REQUIRE(words.size() >= 3U); // marker, vote, raise
    BOOST_TEST(words[2].at(9) == "7");
}

/// All that is said of fences is about the data that the node had when it was connected.
// rule F6
BOOST_AUTO_TEST_CASE(write_back_names_incarnation_that_voted)
{
    auto const got = acquire(canned::one);
    BOOST_TEST((got->granted.fencing_token() >> 10U) == 7U);
    BOOST_TEST(extend(got->granted) == error_code());
    auto words = nodes[1]->heard();
    std::erase_if(words, [](auto const& w) { return w[0] != "EVAL"; });
    BOOST_REQUIRE(words.size() == 4U);
    for (std::size_t i = 1; i != 4; ++i)                        // vote, raise, extension
        BOOST_TEST(words[i].back() == "run:data/0a1b2c3d/0/0"); // as the script has told it
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(reconnecting_nodes, scripted_cluster)

/// The handshake will show whose data the node has.
// rule F6
BOOST_AUTO_TEST_CASE(reconnecting_node_is_sent_no_fenced_vote_or_extension)
{
    auto const before = try_acquire(lock("before"));
    run_until(context, [&] { return before->granted.votes() == 3; });
    nodes[2]->expect("HELLO", late(canned::hello));
    nodes[2]->close_all();
    run_until(context, [&] { return nodes[2]->accepted() == 2 && nodes[2]->done(); });
    for (std::size_t i = 0; i != 2; ++i)
        nodes[i]->expect("EVAL", reply(canned::marker));
    auto const result = std::make_shared<outcome>();
    fenced_mutex(*locks, "resource", long_lived).try_acquire(keeps_outcome{result});
    run_until(context, [&] { return result->done(); });
    BOOST_TEST(result->ec == error_code());
    BOOST_TEST(extend(result->granted) == error_code());
    nodes[2]->deliver_late();
    auto const after = try_acquire(lock("after"));
    run_until(context, [&] { return after->granted.votes() == 3; });
    for (auto const& words : nodes[2]->heard())
        BOOST_TEST(std::ranges::count(words, std::string("resource")) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(fenced_suspects, overdue_fenced_lease_fixture)

// rule F5
BOOST_AUTO_TEST_CASE(fenced_suspect_is_not_proven_by_repaired_keys)
{
    clock.advance(tolerant.ttl);
    expect_everywhere("EVAL", reply(set_again));
    BOOST_TEST(extend(held) == errc::no_quorum);
    BOOST_TEST(held.state() == lease_state::suspect);
    BOOST_TEST(!surprised());
}

// rule F5
BOOST_AUTO_TEST_CASE(fenced_suspect_is_not_proven_by_one_repaired_key_of_two)
{
    clock.advance(tolerant.ttl);
    nodes[0]->expect("EVAL", reply(canned::loading));
    nodes[1]->expect("EVAL", reply(canned::one));
    nodes[2]->expect("EVAL", reply(set_again));
    BOOST_TEST(extend(held) == errc::no_quorum);
    BOOST_TEST(held.state() == lease_state::suspect);
}

BOOST_AUTO_TEST_CASE(fenced_suspect_is_proven_by_unbroken_keys)
{
    clock.advance(tolerant.ttl);
    expect_everywhere("EVAL", reply(canned::one));
    BOOST_TEST(extend(held) == error_code());
    BOOST_TEST(held.valid());
}

// rule F5
BOOST_AUTO_TEST_CASE(fenced_lease_is_extended_by_repaired_keys_before_deadline)
{
    clock.advance(tolerant.ttl / 2);
    expect_everywhere("EVAL", reply(set_again));
    BOOST_TEST(extend(held) == error_code());
    clock.advance(tolerant.ttl * 3 / 4);
    BOOST_TEST(held.valid());
}

BOOST_AUTO_TEST_SUITE_END()

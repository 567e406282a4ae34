// SPDX-License-Identifier: BSL-1.0
#include "component/scripted_cluster.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Returns one argument of each such command that a node has heard.
std::vector<std::string> words_at(scripted_node const& node, std::string const& command, std::size_t place)
{
    std::vector<std::string> found;
    for (auto const& words : node.heard())
        if (words[0] == command)
            found.push_back(words.at(place));
    return found;
}

constexpr auto granted = node_result::granted;
constexpr auto held_by_other = node_result::held_by_other;
constexpr auto refused = node_result::refused;

std::vector<node_result> told(any_lock const& wanted)
{
    std::vector<node_result> results;
    for (node_outcome const& each : wanted.last_attempt())
        results.push_back(each.result);
    return results;
}

struct attempts_fixture : scripted_cluster {
    /// Delivers late answers when everything else has been read.
    void finish(outcome_ptr const& result)
    {
        come_to_rest();
        for (auto const& node : nodes)
            node->deliver_late();
        run_until(context, [&] { return result->done(); });
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(attempts, attempts_fixture)

/// A late vote of the one before could not be told from one of the present one.
// rule A3
BOOST_AUTO_TEST_CASE(each_attempt_has_its_own_nonce)
{
    expect_everywhere("SET", reply(canned::misconf));
    auto const result = std::make_shared<outcome>();
    lock().acquire(keeps_outcome{result});
    run_until(context, [&] { return result->done(); });
    BOOST_TEST(result->ec == error_code());
    auto const nonces = words_at(*nodes[0], "SET", 2);
    BOOST_TEST_REQUIRE(nonces.size() >= 2U);
    BOOST_TEST(nonces[0] != nonces[1]);
}

/// Far above any date.
// rule F1
BOOST_AUTO_TEST_CASE(fenced_attempt_proposes_more_than_any_reported_fence)
{
    expect_everywhere("EVAL", reply(canned::marker));
    expect_everywhere("EVAL", reply("+HELD 60000 8000000000000 abcdefgh\r\n"));
    fenced_mutex wanted(*locks, "resource", unrenewed);
    BOOST_TEST(try_acquire(wanted)->ec == errc::contended);
    auto const got = try_acquire(wanted);
    BOOST_TEST(got->ec == error_code());
    auto const all = nodes[0]->heard();
    auto const vote = std::ranges::find_if(
        all, [&](auto const& words) { return words.size() == 14 && words[8] == got->granted.nonce(); });
    BOOST_TEST_REQUIRE((vote != all.end()));
    BOOST_TEST(vote->at(12) == "8000000000001");
}

BOOST_AUTO_TEST_CASE(table_of_lost_attempt_shows_who_granted)
{
    warm_up();
    for (std::size_t i : {0U, 1U})
        nodes[i]->expect("SET", late(canned::nil));
    auto wanted = lock();
    auto const result = std::make_shared<outcome>();
    wanted.try_acquire(keeps_outcome{result});
    finish(result);
    BOOST_TEST(result->ec == errc::contended);
    BOOST_TEST(told(wanted) == std::vector({held_by_other, held_by_other, granted}));
}

BOOST_AUTO_TEST_CASE(table_of_last_attempt_shows_nothing_of_earlier_ones)
{
    warm_up();
    for (int attempt = 0; attempt != 2; ++attempt) { // the rows of the first are used again
        expect_everywhere("SET", reply(canned::misconf));
        expect_everywhere("EVALSHA", reply(canned::zero)); // takes the vote back
    }
    nodes[0]->expect("SET", reply(canned::misconf));
    for (std::size_t i : {1U, 2U})
        nodes[i]->expect("SET", late(canned::ok));
    auto wanted = lock();
    auto const result = std::make_shared<outcome>();
    wanted.acquire(keeps_outcome{result});
    run_until_all_is_said();
    finish(result);
    BOOST_TEST(result->ec == error_code());
    BOOST_TEST(told(wanted) == std::vector({refused, granted, granted}));
}

BOOST_AUTO_TEST_SUITE_END()

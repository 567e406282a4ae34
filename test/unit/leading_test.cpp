// SPDX-License-Identifier: BSL-1.0
#include "core/leading.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock::core;

namespace {

/// One letter for each node: `.` has not answered, `-` has no leader, `A` and `a` are the first and the second value of
/// term 1, and so on.
std::vector<leader_answer> seen(std::string_view nodes)
{
    std::vector<leader_answer> all;
    for (char const node : nodes) {
        bool const later = node >= 'a';
        auto const term = static_cast<std::uint64_t>(1 + node - (later ? 'a' : 'A'));
        if (node == '.' || node == '-')
            all.push_back({.known = node == '-'});
        else
            all.push_back({true, term, later ? 2U : 1U});
    }
    return all;
}

/// "A" is confirmed, "A?" is not; "-0": vacant, and nobody is known.
std::string said(leader_verdict const& v)
{
    if (v.vacant)
        return '-' + std::to_string(v.term);
    auto const first = v.revision == 2 ? 'a' : 'A';
    return std::string(1, static_cast<char>(first + static_cast<int>(v.term) - 1)) + (v.confirmed ? "" : "?");
}

std::string judged(std::string_view nodes, leader_version latest = {})
{
    auto const verdict = judge(seen(nodes), latest);
    return verdict ? said(*verdict) : "too few";
}

leader_verdict known(std::string_view nodes)
{
    return *judge(seen(nodes), {});
}

} // namespace

BOOST_AUTO_TEST_SUITE(leading)

// rule EL3
BOOST_AUTO_TEST_CASE(greatest_term_of_a_majority_is_the_answer)
{
    BOOST_TEST(judged("AAA") == "A");
    BOOST_TEST(judged("AA.") == "A");
    BOOST_TEST(judged("AA-") == "A");
    BOOST_TEST(judged("A--") == "A?");
    BOOST_TEST(judged("A-.") == "A?");
    BOOST_TEST(judged("A..") == "too few");
    BOOST_TEST(judged("...") == "too few");
    BOOST_TEST(judged("---") == "-0");
    BOOST_TEST(judged("--.") == "-0");
    BOOST_TEST(judged("BAA") == "B?");
    BOOST_TEST(judged("ABB") == "B");
    BOOST_TEST(judged("AAaa") == "a?");
    BOOST_TEST(judged("aaA") == "a");
    BOOST_TEST(judged("aAA") == "a?");
    BOOST_TEST(judged("A") == "A");
}

// rule EL3
BOOST_AUTO_TEST_CASE(earlier_term_than_the_latest_is_nobodys)
{
    BOOST_TEST(judged("AAA", {2, 1}) == "-2");
    BOOST_TEST(judged("---", {2, 1}) == "-2");
    BOOST_TEST(judged("BAA", {2, 1}) == "B?");
    BOOST_TEST(judged("BBA", {2, 1}) == "B");
}

/// A majority had the later value, so its leader has retracted it.
// rule EL4
BOOST_AUTO_TEST_CASE(earlier_revision_than_a_proven_one_is_nobodys)
{
    BOOST_TEST(judged("AAA", {1, 2}) == "-1");
    BOOST_TEST(judged("--A", {1, 2}) == "-1");
    BOOST_TEST(judged("aAA", {1, 2}) == "a?");
    BOOST_TEST(judge(seen("--A"), {1, 2})->revision == 2U);
}

BOOST_AUTO_TEST_CASE(value_of_a_minority_proves_its_term_alone)
{
    BOOST_TEST((known("aAA").proven() == leader_version{1, 0}));
    BOOST_TEST((known("aaA").proven() == leader_version{1, 2}));
    BOOST_TEST((judge(seen("---"), {1, 2})->proven() == leader_version{1, 2}));
}

BOOST_AUTO_TEST_CASE(witness_has_the_answer)
{
    BOOST_TEST(known("ABA").witness == 1U);
    BOOST_TEST(known("A-a").witness == 2U);
}

// rules EL4 and EL5
BOOST_AUTO_TEST_CASE(news_is_what_differs_and_goes_forward)
{
    struct row {
        std::string_view before;
        std::string_view now;
        leader_news expected;
    };
    using enum leader_news;
    for (auto const& [before, now, expected] :
         {row{"---", "---", none}, row{"---", "AAA", change}, row{"---", "A--", unsettled},
          row{"AAA", "AAA", none}, row{"AAA", "A--", none}, row{"A--", "A--", none},
          row{"A--", "AA-", change}, row{"AAA", "---", change}, row{"A--", "---", change},
          row{"AAA", "BBA", change}, row{"AAA", "BAA", unsettled}, row{"AAA", "aaA", change},
          row{"AAA", "aAA", unsettled}, row{"aaa", "AAA", none}, row{"BBB", "AAA", none}})
        BOOST_TEST((news(known(before), known(now)) == expected),
                   std::string(before) + ' ' + std::string(now));
}

BOOST_AUTO_TEST_CASE(leader_that_comes_back_is_news)
{
    auto const vacant = *judge(seen("---"), {1, 1});
    BOOST_TEST((news(vacant, known("AAA")) == leader_news::change));
    BOOST_TEST((news(vacant, known("a--")) == leader_news::unsettled));
}

/// A vacancy has an order, too.
// rule EL4
BOOST_AUTO_TEST_CASE(what_came_before_a_vacancy_is_no_news)
{
    auto const vacant = *judge(seen("---"), {1, 2});
    BOOST_TEST((news(vacant, known("AAA")) == leader_news::none));
    BOOST_TEST((news(vacant, known("A--")) == leader_news::none));
    BOOST_TEST((news(vacant, known("a--")) == leader_news::none)); // it may have missed the end
    BOOST_TEST((news(vacant, known("aa-")) == leader_news::change));
    BOOST_TEST((news(vacant, known("B--")) == leader_news::unsettled));
}

BOOST_AUTO_TEST_SUITE_END()

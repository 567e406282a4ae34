// SPDX-License-Identifier: BSL-1.0
#include "core/attempt.hpp"

#include <boost/test/unit_test.hpp>

#include <sstream>
#include <string>

using namespace redlock::core;

namespace {

std::string in_order(node_set nodes)
{
    std::string digits;
    for (unsigned node = 0; node != max_nodes; ++node)
        if (nodes.contains(node))
            digits += std::to_string(node);
    return digits;
}

/// "0g7 1d 2f": node 0 granted with counter 7, node 1 denied, node 2 failed. "0R 1D 2F": what they said to the raise.
/// "h": the heeded node is not waited for any longer. "t": time is up. For each: pending, heeding, raise, Won or Lost.
struct vote_log {
    explicit vote_log(agreement kind, unsigned nodes = 3) : tried(kind, nodes, {}) {}
    /// The last node is heeded.
    static vote_log heeding(agreement kind, unsigned nodes = 3)
    {
        vote_log made(kind, nodes);
        made.tried.heed(nodes - 1);
        return made;
    }

    std::string hear(std::string const& script)
    {
        std::string told;
        std::istringstream words(script);
        for (std::string word; words >> word;)
            told += ".hrWL"[static_cast<std::size_t>(hear_one(word))];
        return told;
    }

    attempt::step hear_one(std::string const& word)
    {
        if (word == "t")
            return tried.time_out();
        if (word == "h")
            return tried.heed_no_longer();
        auto const node = static_cast<unsigned>(word[0] - '0');
        switch (word[1]) {
        case 'g': return tried.voted(node, vote::granted, word.size() > 2 ? std::stoull(word.substr(2)) : 0);
        case 'd': return tried.voted(node, vote::denied);
        case 'f': return tried.voted(node, vote::failed);
        case 'R': return tried.wrote_back(node, vote::granted);
        case 'D': return tried.wrote_back(node, vote::denied);
        default: return tried.wrote_back(node, vote::failed);
        }
    }

    attempt tried;
};

} // namespace

BOOST_AUTO_TEST_SUITE(attempts)

BOOST_AUTO_TEST_CASE(plain_attempt_is_decided_by_majority_of_votes)
{
    struct {
        unsigned nodes;
        char const* script;
        char const* told;
        char const* holders;
    } const rows[] = {
        {3, "0g 1g", ".W", "01"},
        {3, "0g 1d 2g", "..W", "02"},
        {3, "0d 1f", ".L", ""},
        {3, "0g 1f 2d", "..L", "0"},
        {5, "0g 4g 2d 1g", "...W", "014"},
        {1, "0g", "W", "0"},
        {4, "0g 1g 2d 3d", "...L", "01"},
        {3, "0g t", ".L", "0"},
        {3, "0g 0g 0g", "...", "0"},
        {3, "0g 1g 2g", ".W.", "012"}, // late, but ours
        {3, "0d 1d 2g", ".L.", "2"},
    };
    for (auto const& r : rows) {
        vote_log log(agreement::majority, r.nodes);
        BOOST_TEST(log.hear(r.script) == r.told, r.script);
        BOOST_TEST(in_order(log.tried.holders()) == r.holders, r.script);
    }
}

// rule F2
BOOST_AUTO_TEST_CASE(fenced_attempt_needs_majority_at_one_token)
{
    struct {
        unsigned nodes;
        char const* script;
        char const* told;
        fence token;
        char const* holders;
    } const rows[] = {
        {3, "0g7 1g7", ".W", 7, "01"},
        {1, "0g7", "W", 7, "0"},
        {3, "0g7 1g8", ".r", 8, "1"},
        {3, "0g7 1g8 0R", ".rW", 8, "01"},
        {3, "0g7 1g8 2g8", ".rW", 8, "12"}, // the third agrees before the first is raised
        {3, "0g7 1g8 2g8 0R", ".rW.", 8, "012"},
        {3, "0g7 1g8 2g9 0R", ".r.W", 8, "01"}, // too high to be counted, or to be relied on
        {3, "0g7 1g8 2d 0D", ".r.L", 8, "1"},
        {3, "0g7 1g8 2f 0F", ".r.L", 8, "1"},
        {3, "0g7 1g8 t", ".rL", 8, "1"},
        {3, "2d 0g7 1g8 0R", "..rW", 8, "01"},
        {3, "0g7 1g7 2g8", ".W.", 7, "01"},
        {3, "0g7 1g7 2g7", ".W.", 7, "012"},
        {5, "0g7 1g8 2g9", "..r", 9, "2"},
        {5, "0g7 1g8 2g9 0R 1R", "..r.W", 9, "012"},
        {5, "0g7 1g8 2g9 0D 1R 3g9", "..r..W", 9, "123"},
        {5, "0g7 1g8 2g9 3d 4d 0D", "..r..L", 9, "2"},
        {3, "0d 1d", ".L", 0, ""},
    };
    for (auto const& r : rows) {
        vote_log log(agreement::one_number, r.nodes);
        BOOST_TEST(log.hear(r.script) == r.told, r.script);
        BOOST_TEST(log.tried.token() == r.token, r.script);
        BOOST_TEST(in_order(log.tried.holders()) == r.holders, r.script);
    }
}

// rule F2
BOOST_AUTO_TEST_CASE(fenced_attempt_writes_back_to_nodes_with_smaller_token)
{
    vote_log log(agreement::one_number, 5);
    BOOST_TEST(log.hear("3g4 1g9 0g9 4d") == "..r.");
    BOOST_TEST(in_order(log.tried.to_write_back()) == "3");
    BOOST_TEST(log.tried.awaits(3));
    BOOST_TEST(!log.tried.awaits(1));
    BOOST_TEST(log.hear("3R") == "W");
    BOOST_TEST(!log.tried.awaits(3));
}

BOOST_AUTO_TEST_CASE(lost_attempt_tells_contention_from_outage)
{
    vote_log refused(agreement::one_number);
    BOOST_TEST(refused.hear("0g7 1g8 2d 0D") == ".r.L");
    BOOST_TEST(refused.tried.contended());
    vote_log one_down(agreement::majority);
    BOOST_TEST(one_down.hear("0f 1d") == ".L");
    BOOST_TEST(one_down.tried.contended());
    BOOST_TEST(one_down.tried.contended(node_set(1)));
    BOOST_TEST(!one_down.tried.contended(node_set(2)));
    vote_log two_silent(agreement::majority);
    BOOST_TEST(two_silent.hear("0d t") == ".L");
    BOOST_TEST(!two_silent.tried.contended());
    vote_log silent(agreement::one_number);
    BOOST_TEST(silent.hear("0g7 1g8 2f t") == ".r.L");
    BOOST_TEST(!silent.tried.contended());
}

BOOST_AUTO_TEST_CASE(refused_attempt_goes_on_with_the_nodes_that_refused)
{
    vote_log log(agreement::majority);
    BOOST_TEST(log.hear("0d 1d") == ".L");
    BOOST_TEST(log.tried.reopen());
    BOOST_TEST(!log.tried.decided());
    BOOST_TEST(!log.tried.awaits(0));
    BOOST_TEST(log.tried.awaits(2));
    BOOST_TEST(in_order(log.tried.ask_again()) == "01");
    BOOST_TEST(log.tried.awaits(0));
    BOOST_TEST(log.tried.refused().empty());
    BOOST_TEST(log.hear("1g 2g") == ".W");
    BOOST_TEST(in_order(log.tried.holders()) == "12");
}

BOOST_AUTO_TEST_CASE(answers_between_two_sendings_count)
{
    vote_log granted(agreement::majority);
    BOOST_TEST(granted.hear("0d 1d") == ".L");
    BOOST_TEST(granted.tried.reopen());
    BOOST_TEST(granted.hear("2g") == ".");
    BOOST_TEST(in_order(granted.tried.ask_again()) == "01");
    BOOST_TEST(granted.hear("0g") == "W");
    vote_log refused(agreement::majority);
    BOOST_TEST(refused.hear("0d 1d") == ".L");
    BOOST_TEST(refused.tried.reopen());
    BOOST_TEST(refused.hear("2d") == ".");
    BOOST_TEST(in_order(refused.tried.ask_again()) == "012");
    BOOST_TEST(refused.hear("0d 1d") == ".L");
    BOOST_TEST(in_order(refused.tried.refused()) == "01");
}

// rule Q8
BOOST_AUTO_TEST_CASE(node_that_has_not_answered_or_failed_is_not_asked_again)
{
    vote_log log(agreement::majority, 5);
    BOOST_TEST(log.hear("0f 1d 2d") == "..L");
    BOOST_TEST(log.tried.reopen());
    BOOST_TEST(in_order(log.tried.ask_again()) == "12");
    BOOST_TEST(log.hear("3g 4g 1d 2g") == "...W");
}

BOOST_AUTO_TEST_CASE(attempt_without_a_possible_majority_is_not_reopened)
{
    vote_log failed(agreement::majority);
    BOOST_TEST(failed.hear("0f 1f") == ".L");
    BOOST_TEST(!failed.tried.reopen());
    vote_log over(agreement::majority);
    BOOST_TEST(over.hear("0d") == ".");
    BOOST_TEST(!over.tried.reopen());
    BOOST_TEST(over.hear("1d") == "L");
    BOOST_TEST(over.tried.reopen());
    BOOST_TEST(over.hear("t") == "L");
    BOOST_TEST(!over.tried.reopen());
    vote_log won(agreement::majority);
    BOOST_TEST(won.hear("0d 1g 2g") == "..W");
    BOOST_TEST(!won.tried.reopen());
    vote_log raised(agreement::one_number);
    BOOST_TEST(raised.hear("0g7 1g8 2d 0D") == ".r.L");
    BOOST_TEST(!raised.tried.reopen());
}

BOOST_AUTO_TEST_CASE(only_a_refusal_needs_no_rollback)
{
    vote_log log(agreement::majority, 5);
    log.hear("0g 1d 2f");
    BOOST_TEST(in_order(log.tried.refused()) == "1");
    log.hear("3d 4d 1d");
    BOOST_TEST(in_order(log.tried.refused()) == "134");
}

// rule Q10
BOOST_AUTO_TEST_CASE(heeded_node_refuses_the_attempt)
{
    struct {
        unsigned nodes;
        char const* script;
        char const* told;
        char const* holders; ///< to be taken back, where it is lost
    } const rows[] = {
        {3, "0g 1g 2d", ".hL", "01"},           {3, "0g 2d 1g", ".L.", "01"}, {3, "2d", "L", ""},
        {5, "0g 1g 2g 3g 4d", "..h.L", "0123"}, {1, "0d", "L", ""},
    };
    for (auto const& r : rows) {
        auto log = vote_log::heeding(agreement::majority, r.nodes);
        BOOST_TEST(log.hear(r.script) == r.told, r.script);
        BOOST_TEST(in_order(log.tried.holders()) == r.holders, r.script);
        BOOST_TEST(log.tried.contended(), r.script);
        BOOST_TEST(!log.tried.reopen(), r.script); // another client was first
    }
    auto fenced = vote_log::heeding(agreement::one_number);
    BOOST_TEST(fenced.hear("0g7 1g7 2d") == ".hL");
    BOOST_TEST(fenced.tried.contended());
}

BOOST_AUTO_TEST_CASE(majority_waits_for_the_heeded_node)
{
    struct {
        unsigned nodes;
        char const* script;
        char const* told;
        char const* holders;
    } const rows[] = {
        {3, "0g 1g 2g", ".hW", "012"},
        {3, "0g 1g 2f", ".hW", "01"},
        {3, "0g 1g h", ".hW", "01"},
        {3, "0g 1g h 2g", ".hW.", "012"}, // late, but ours
        {3, "0g 1g h 2d", ".hW.", "01"},
        {3, "0g 1g h t", ".hW.", "01"},
        {3, "0g 1g t", ".hW", "01"},
        {3, "2g 0g", ".W", "02"},
        {3, "2f 0g 1g", "..W", "01"},
        {3, "h 0g 1g", "..W", "01"},
        {3, "0g h 1g", "..W", "01"},
        {3, "0g t", ".L", "0"},
        {3, "0d 1d", ".L", ""},                  // the heeded node's answer does not matter
        {5, "0g 1g 2g 3g 4g", "..h.W", "01234"}, // returned once
        {5, "0g 1g 2g 3d 4g", "..h.W", "0124"},
        {5, "0g 1g 2g 3f 4f", "..h.W", "012"},
        {1, "0g", "W", "0"},
    };
    for (auto const& r : rows) {
        auto log = vote_log::heeding(agreement::majority, r.nodes);
        BOOST_TEST(log.hear(r.script) == r.told, r.script);
        BOOST_TEST(in_order(log.tried.holders()) == r.holders, r.script);
        BOOST_TEST(!log.tried.heeding(), r.script);
    }
    auto log = vote_log::heeding(agreement::majority);
    BOOST_TEST(log.hear("0g 1g") == ".h");
    BOOST_TEST(log.tried.heeding());
    BOOST_TEST(!log.tried.decided());
    BOOST_TEST(log.tried.awaits(2));
}

BOOST_AUTO_TEST_CASE(grants_beside_the_heeded_node_count_for_the_token)
{
    struct {
        unsigned nodes;
        char const* script;
        char const* told;
        fence token;
        char const* holders;
    } const rows[] = {
        {3, "0g7 1g7 2g7", ".hW", 7, "012"},       {3, "0g7 1g8 2g8", ".hW", 8, "12"}, // no raise is needed
        {3, "0g7 1g8 2g9", ".hr", 9, "2"},         {3, "0g7 1g8 2g9 0R", ".hrW", 9, "02"},
        {3, "0g7 1g8 2f", ".hr", 8, "1"},          {3, "0g7 1g8 2f 0R", ".hrW", 8, "01"},
        {3, "0g7 1g8 h", ".hr", 8, "1"},           {3, "0g7 1g8 h 2g8", ".hrW", 8, "12"},
        {3, "0g7 1g7 h", ".hW", 7, "01"},          {3, "0g7 1g8 t", ".hr", 8, "1"},
        {3, "0g7 1g8 t t", ".hrL", 8, "1"},        {5, "0g7 1g8 2g7 3g8 4g8", "..h.W", 8, "134"},
        {5, "0g7 1g7 2g7 3g9 h", "..h.r", 9, "3"}, // a known number is not undercut
    };
    for (auto const& r : rows) {
        auto log = vote_log::heeding(agreement::one_number, r.nodes);
        BOOST_TEST(log.hear(r.script) == r.told, r.script);
        BOOST_TEST(log.tried.token() == r.token, r.script);
        BOOST_TEST(in_order(log.tried.holders()) == r.holders, r.script);
    }
}

/// Otherwise each expiry would send the raise again, and the attempt would have no end.
// rule Q10
BOOST_AUTO_TEST_CASE(nobody_is_heeded_while_a_fence_is_raised)
{
    auto log = vote_log::heeding(agreement::one_number);
    BOOST_TEST(log.hear("0g7 1g8") == ".h");
    BOOST_TEST(log.tried.heeding());
    BOOST_TEST(log.hear("h") == "r");
    BOOST_TEST(!log.tried.heeding());
    BOOST_TEST(log.hear("h") == ".");
    BOOST_TEST(log.hear("t") == "L");
}

BOOST_AUTO_TEST_CASE(node_that_answers_while_another_is_heeded_is_not_awaited)
{
    auto log = vote_log::heeding(agreement::majority, 7);
    BOOST_TEST(log.hear("0g 1g 2g 3g 4g 5d") == "...h..");
    BOOST_TEST(!log.tried.awaits(4));
    BOOST_TEST(!log.tried.awaits(5));
    BOOST_TEST(log.tried.awaits(6));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(fencing)

// rule F1
BOOST_AUTO_TEST_CASE(proposal_is_above_all_seen_numbers_and_the_date)
{
    using namespace std::chrono_literals;
    BOOST_TEST(proposal(0, 1000ms) == 1000U);
    BOOST_TEST(proposal(5000, 1000ms) == 5001U);
    BOOST_TEST(proposal(0, 0ms) == 1U);
    BOOST_TEST(proposal(7, -5ms) == 8U);
}

BOOST_AUTO_TEST_CASE(token_leaves_room_for_hand_overs_and_fits_in_53_bits)
{
    BOOST_TEST(fencing_token(3) == 3U * 1024);
    BOOST_TEST(fencing_token(3, 1023) < fencing_token(4));
    constexpr fence year_2248 = 8'772'796'800'000;
    BOOST_TEST(fencing_token(year_2248) < (std::uint64_t{1} << 53));
}

BOOST_AUTO_TEST_SUITE_END()

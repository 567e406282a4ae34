// SPDX-License-Identifier: BSL-1.0
#include "core/fencing.hpp"
#include "kind/election.hpp"
#include "kind/kind.hpp"
#include "redis/resp_parser.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using namespace redlock::kind;
using namespace std::chrono_literals;

namespace {

using words = std::vector<std::string>;

std::string const nonce = "0123456789abcdef0123456789abcdef";

words said(lock_kind const& type, request what, command_arguments const& args)
{
    std::string out;
    type.make_commands("p:", {10s, 20s})->append(out, what, args, redis::script_form::hash);
    if (type.marks(what))
        append_marker(out, "m");
    redis::resp_parser parser;
    auto const parsed = parser.next(out);
    BOOST_TEST_REQUIRE((parsed.status == redis::parse_status::complete));
    BOOST_TEST_REQUIRE(parsed.consumed == out.size());
    words all;
    for (auto const& each : parser.message().subspan(1))
        all.emplace_back(each.text);
    return all;
}

words behind_hash(words all)
{
    all.erase(all.begin(), all.begin() + 2);
    return all;
}

command_arguments const ours{{"p:", "seat"}, nonce, 17, {}, {.position = "position", .time = 70us},
                             "17408 1 a:1"};

} // namespace

BOOST_AUTO_TEST_SUITE(election_kinds)

/// The marker comes last, and is said elsewhere.
// rule EL2
BOOST_AUTO_TEST_CASE(extension_announces)
{
    BOOST_TEST((behind_hash(said(election, request::extend, ours)) ==
                words{"4", "p:seat", "p:seat:redlock-fence", "p:redlock-marker", "p:seat:redlock-leader",
                      "10000", "20000", nonce, "17", "17408 1 a:1", "m"}));
}

BOOST_AUTO_TEST_CASE(extension_without_announcement_is_that_of_a_fenced_lock)
{
    command_arguments silent = ours;
    silent.announcement = {};
    BOOST_TEST((said(election, request::extend, silent) == said(fenced, request::extend, silent)));
}

BOOST_AUTO_TEST_CASE(votes_are_those_of_a_fenced_lock)
{
    for (auto const what : {request::vote, request::claim, request::write_back, request::adopt,
                            request::enter, request::owner, request::time_left, request::number})
        BOOST_TEST((said(election, what, ours) == said(fenced, what, ours)));
    BOOST_TEST(election.counts());
    BOOST_TEST(election.announces);
    BOOST_TEST(!fenced.announces);
}

/// Only announcements of the lease's own term are retracted.
BOOST_AUTO_TEST_CASE(releases_retract_what_begins_with_the_token)
{
    BOOST_TEST((behind_hash(said(election, request::release, ours)) ==
                words{"2", "p:seat", "p:seat:redlock-leader", nonce, "17408 "}));
    BOOST_TEST((behind_hash(said(election, request::give_back, ours)) ==
                words{"3", "p:seat", "p:seat:redlock-queue", "p:seat:redlock-leader", "x", nonce, "position",
                      "take", "70", "", "17408 "}));
    BOOST_TEST(core::fencing_token(17) == 17408U);
}

BOOST_AUTO_TEST_CASE(leader_is_one_question)
{
    BOOST_TEST((said(election_view, request::leader, ours) == words{"GET", "p:seat:redlock-leader"}));
}

BOOST_AUTO_TEST_CASE(announcement_is_read_as_it_was_written)
{
    std::string const text = announcement_head(17408, 3) + "a b\r\n";
    auto const found = read_leader({.type = redis::resp_type::bulk_string, .text = text});
    BOOST_TEST_REQUIRE(found.has_value());
    BOOST_TEST(found->term == 17408U);
    BOOST_TEST(found->revision == 3U);
    BOOST_TEST(found->value == "a b\r\n");
}

BOOST_AUTO_TEST_CASE(other_text_means_that_nobody_leads)
{
    auto const vacant = [](redis::resp_type type, std::string_view text) {
        auto const found = read_leader({.type = type, .text = text});
        return found && found->term == 0;
    };
    using redis::resp_type;
    BOOST_TEST(vacant(resp_type::null, ""));
    BOOST_TEST(vacant(resp_type::simple_error, "WRONGTYPE Operation against a key"));
    std::string const too_long = "17408 1 " + std::string(longest_value + 1, 'a');
    for (std::string const& text :
         {std::string(), std::string("a"), std::string("17408"), std::string("17408 1"),
          std::string("17408  1 a"), std::string(" 1 a"), std::string("-1 1 a"), std::string("0 1 a"),
          std::string("9007199254740992 1 a"), too_long})
        BOOST_TEST(vacant(resp_type::bulk_string, text), text);
    BOOST_TEST(!read_leader({.type = resp_type::simple_error, .text = "NOPERM no"}));
    BOOST_TEST(!read_leader({.type = resp_type::number, .number = 1}));
    BOOST_TEST(
        (election_view.read(request::leader, {.type = resp_type::null}).what == answer::meaning::granted));
    BOOST_TEST(
        (election_view.read(request::leader, {.type = resp_type::number}).what == answer::meaning::error));
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "cli/lock_list.hpp"
#include "cli/screen.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

using namespace redlock::cli;
using namespace std::chrono_literals;
using redlock::holder_kind;

namespace {

std::string const one_owner(32, 'a');
std::string const other_owner(32, 'b');

key_view owned_key(std::string const& owner, std::chrono::milliseconds left = 10s)
{
    return {.who = holder_kind::owner, .owner = owner, .left = left};
}

listed_lock merged_on_three(std::vector<key_view> const& views)
{
    std::vector<key_view const*> pointers;
    for (key_view const& view : views)
        pointers.push_back(&view);
    return merged("seat", pointers, 3);
}

} // namespace

BOOST_AUTO_TEST_SUITE(lock_lists)

BOOST_AUTO_TEST_CASE(keys_beside_locks_are_helpers)
{
    for (char const* const name :
         {"seat:redlock-fence", "seat:redlock-fences", "seat:redlock-queue", "seat:redlock-leader",
          "redlock-marker", "prod:redlock-marker", "redlock-doctor", "seat:redlock-doctor",
          "seat:redlock-doctor:redlock-queue"})
        BOOST_TEST(is_helper(name), name);
    for (char const* const name : {"seat", "redlock-fence", "seat:redlock-fence:2", "my-redlock-doctor", ""})
        BOOST_TEST(!is_helper(name), name);
}

BOOST_AUTO_TEST_CASE(pattern_takes_special_characters_for_themselves)
{
    BOOST_TEST(scan_pattern("") == "*");
    BOOST_TEST(scan_pattern("prod:") == "prod:*");
    BOOST_TEST(scan_pattern("a*b?[c]\\") == "a\\*b\\?\\[c]\\\\*");
    BOOST_TEST(scan_pattern(std::string(1, '\0')) == std::string("\0*", 2));
}

BOOST_AUTO_TEST_CASE(holder_with_most_nodes_is_listed)
{
    listed_lock const lock =
        merged_on_three({owned_key(other_owner), owned_key(one_owner), owned_key(one_owner)});
    BOOST_TEST(lock.name == "seat");
    BOOST_TEST(lock.holder == "aaaaaaaa...");
    BOOST_TEST(lock.nodes == 2U);
    BOOST_TEST(lock.kind == "lock");
    BOOST_TEST(!lock.waiting.has_value());
    listed_lock const split = merged_on_three({owned_key(other_owner), owned_key(one_owner)});
    BOOST_TEST(split.holder == "bbbbbbbb...");
    BOOST_TEST(split.nodes == 1U);
}

BOOST_AUTO_TEST_CASE(time_left_is_that_of_a_majority)
{
    auto const left = [](std::vector<key_view> const& views) { return merged_on_three(views).left; };
    BOOST_TEST((left({owned_key(one_owner, 3s), owned_key(one_owner, 1s), owned_key(one_owner, 2s)}) == 2s));
    BOOST_TEST((left({owned_key(one_owner, 3s), owned_key(one_owner, 1s)}) == 1s));
    BOOST_TEST((left({owned_key(one_owner, 3s)}) == 3s));
    BOOST_TEST((left({{.who = holder_kind::no_lock}}) == std::nullopt));
}

BOOST_AUTO_TEST_CASE(keys_beside_a_lock_tell_its_kind)
{
    auto const kind = [](key_view const& its) { return merged_on_three({owned_key(one_owner), its}).kind; };
    key_view view = owned_key(one_owner);
    BOOST_TEST(kind(view) == "lock");
    view.fenced = true;
    BOOST_TEST(kind(view) == "fenced");
    view.among_readers = true;
    BOOST_TEST(kind(view) == "writer");
    view.announced = true;
    BOOST_TEST(kind(view) == "leader");
    BOOST_TEST(merged_on_three({{.who = holder_kind::readers, .left = 1s}}).kind == "readers");
    BOOST_TEST(merged_on_three({{.who = holder_kind::permits, .left = 1s}}).kind == "permits");
    BOOST_TEST(merged_on_three({{.who = holder_kind::maybe_readers, .left = 1s}}).kind == "?");
    BOOST_TEST(merged_on_three({{.who = holder_kind::no_lock}}).kind == "no lock");
}

BOOST_AUTO_TEST_CASE(readers_permits_and_waiters_are_counted)
{
    key_view readers{.who = holder_kind::readers, .left = 1s, .readers = 1};
    BOOST_TEST(merged_on_three({readers}).holder == "1 reader");
    key_view more = readers;
    more.readers = 3;
    more.waiting = 2;
    readers.waiting = 1;
    listed_lock const shared = merged_on_three({readers, more});
    BOOST_TEST(shared.holder == "3 readers");
    BOOST_TEST(shared.shared_by == 3U);
    BOOST_TEST(shared.waiting.value() == 3);
    key_view permits{.who = holder_kind::permits, .left = 1s};
    permits.permits[{0, one_owner}].nodes = 1;
    key_view minority = permits;
    minority.permits[{1, one_owner}].nodes = 1;
    BOOST_TEST(merged_on_three({permits, minority}).holder == "1 permit");
    BOOST_TEST(merged_on_three({minority, minority}).holder == "2 permits");
}

BOOST_AUTO_TEST_CASE(names_of_all_nodes_are_sorted_and_cut_at_the_limit)
{
    key_view const view = owned_key(one_owner);
    std::vector<keys_of_node> const nodes{{{"b", view}, {"c", view}}, {{"a", view}, {"b", view}}, {}};
    lock_list const all = merge(nodes, 3);
    BOOST_TEST_REQUIRE(all.locks.size() == 3U);
    BOOST_TEST(!all.is_cut);
    BOOST_TEST(all.locks[0].name == "a");
    BOOST_TEST(all.locks[1].name == "b");
    BOOST_TEST(all.locks[1].nodes == 2U);
    BOOST_TEST(all.locks[2].name == "c");
    lock_list const first = merge(nodes, 2);
    BOOST_TEST(first.is_cut);
    BOOST_TEST(first.locks.size() == 2U);
    BOOST_TEST(merge({{}, {}}, 2).locks.empty());
}

BOOST_AUTO_TEST_CASE(list_longer_than_the_terminal_is_cut)
{
    BOOST_TEST(first_lines("a\nb\nc\n", 3) == "a\nb\nc\n");
    BOOST_TEST(first_lines("a\nb\nc\n", 2) == "a\n... and 2 lines more\n");
    BOOST_TEST(first_lines("a\nb\n", 0) == "a\nb\n"); // not known
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "chaos/judge.hpp"
#include "chaos/left_lease.hpp"
#include "chaos/plan.hpp"
#include "chaos/register_history.hpp"
#include "kit/certificates.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace redlock::chaos;
using namespace std::chrono_literals;

namespace {

register_use read(std::uint64_t value, nanoseconds begin, nanoseconds end)
{
    return {false, value, begin, end};
}

register_use write(std::uint64_t value, nanoseconds begin, std::optional<nanoseconds> end)
{
    return {true, value, begin, end};
}

bool explained(std::vector<register_use> const& history)
{
    return !not_explained(history);
}

entry said(unsigned program, nanoseconds at, event what, std::uint64_t value = 0)
{
    return {.at = at,
            .value = value,
            .operation = 1,
            .program = static_cast<std::uint16_t>(program),
            .what = what};
}

std::uint64_t until(nanoseconds at)
{
    return static_cast<std::uint64_t>(at.count());
}

} // namespace

BOOST_AUTO_TEST_SUITE(chaos_judge)

BOOST_AUTO_TEST_CASE(judge_accepts_linearizable_register_history)
{
    BOOST_TEST(explained({}));
    BOOST_TEST(explained({read(0, 1ns, 2ns), write(7, 3ns, 4ns), read(7, 5ns, 6ns)}));
    // While it is written either value may be read, and the old one until the new one has been.
    BOOST_TEST(explained({write(7, 1ns, 9ns), read(0, 2ns, 3ns), read(7, 4ns, 5ns)}));
    BOOST_TEST(explained({write(7, 1ns, 9ns), write(8, 2ns, 8ns), read(8, 10ns, 11ns)}));
    BOOST_TEST(explained({write(7, 1ns, 9ns), write(8, 2ns, 8ns), read(7, 10ns, 11ns)}));
    // The write of a killed program may have happened or not.
    BOOST_TEST(explained({write(7, 1ns, std::nullopt), read(0, 5ns, 6ns)}));
    BOOST_TEST(explained({write(7, 1ns, std::nullopt), read(0, 5ns, 6ns), read(7, 7ns, 8ns)}));
}

BOOST_AUTO_TEST_CASE(judge_rejects_impossible_register_history)
{
    BOOST_TEST(!explained({read(7, 1ns, 2ns)}));
    BOOST_TEST(!explained({read(7, 1ns, 2ns), write(7, 3ns, 4ns)}));
    BOOST_TEST(!explained({write(7, 1ns, 2ns), read(0, 3ns, 4ns)}));
    BOOST_TEST(!explained({write(7, 1ns, 9ns), read(7, 2ns, 3ns), read(0, 4ns, 5ns)}));
    BOOST_TEST(!explained({write(7, 1ns, 2ns), write(8, 3ns, 4ns), read(7, 5ns, 6ns)}));
    BOOST_TEST(
        !explained({write(7, 1ns, 9ns), write(8, 1ns, 9ns), read(7, 10ns, 11ns), read(8, 12ns, 13ns)}));
    BOOST_TEST(!explained({write(7, 1ns, std::nullopt), read(7, 5ns, 6ns), read(0, 7ns, 8ns)}));
    BOOST_TEST(!explained({write(7, 1ns, 2ns), write(7, 3ns, 4ns)}));
}

BOOST_AUTO_TEST_CASE(judge_finds_two_leases_at_once)
{
    std::vector<entry> const one_after_another{said(1, 10ns, event::holds, 5),
                                               said(1, 11ns, event::valid, until(100ns)),
                                               said(1, 60ns, event::valid, until(200ns)),
                                               said(1, 70ns, event::lets_go),
                                               said(2, 71ns, event::holds, 6),
                                               said(2, 71ns, event::valid, until(300ns))};
    BOOST_TEST(judge(one_after_another).flaws.empty());
    auto killed = one_after_another; // it has not released the lock, so its lease lasts
    killed.erase(killed.begin() + 3);
    BOOST_TEST(judge(killed).flaws.size() == 1U);
    killed.back().at = killed[3].at = 200ns;
    BOOST_TEST(judge(killed).flaws.empty());
}

BOOST_AUTO_TEST_CASE(judge_lets_readers_hold_it_together)
{
    std::vector<entry> const together{said(1, 10ns, event::valid_too, until(100ns)),
                                      said(2, 20ns, event::valid_too, until(50ns)),
                                      said(3, 30ns, event::valid_too, until(90ns))};
    BOOST_TEST(judge(together).flaws.empty());
    auto with_writer = together;
    with_writer.push_back(said(4, 95ns, event::valid, until(200ns)));
    BOOST_TEST(judge(with_writer).flaws.size() == 1U);
    with_writer.back().at = 100ns;
    BOOST_TEST(judge(with_writer).flaws.empty());
    std::vector<entry> downgraded{said(1, 10ns, event::valid, until(100ns)), said(1, 20ns, event::downgrades),
                                  said(1, 20ns, event::valid_too, until(100ns)),
                                  said(2, 30ns, event::valid_too, until(90ns))};
    BOOST_TEST(judge(downgraded).flaws.empty());
    downgraded.erase(downgraded.begin() + 1);
    BOOST_TEST(judge(downgraded).flaws.size() == 1U);
}

BOOST_AUTO_TEST_CASE(judge_asks_who_holds_each_thing)
{
    auto const holds = [](unsigned program, nanoseconds at, std::uint32_t things) {
        entry one = said(program, at, event::valid, until(100ns));
        one.things = things;
        return one;
    };
    unsigned const first = 1U << thing_of(0, 0);
    unsigned const third = 1U << thing_of(0, 2);
    unsigned const another_lock = 1U << thing_of(1);
    BOOST_TEST(judge({holds(1, 10ns, first | another_lock), holds(2, 20ns, third)}).flaws.empty());
    BOOST_TEST(judge({holds(1, 10ns, first | third), holds(2, 20ns, third)}).flaws.size() == 1U);
    BOOST_TEST(
        judge({holds(1, 10ns, first | another_lock), holds(2, 20ns, another_lock | first)}).flaws.size() ==
        2U);
    BOOST_TEST(judge({holds(1, 10ns, first), said(2, 20ns, event::valid, until(30ns))}).flaws.size() == 1U);
    verdict const seen = judge({said(1, 10ns, event::holds), said(1, 10ns, event::refused)});
    BOOST_TEST((seen.leases == 1U && seen.refused == 1U));
}

BOOST_AUTO_TEST_CASE(judge_finds_tokens_that_do_not_increase)
{
    auto const with_tokens = [](std::uint64_t first, std::uint64_t second) {
        return judge({said(1, 10ns, event::holds, first), said(1, 10ns, event::valid, until(20ns)),
                      said(2, 30ns, event::holds, second), said(2, 30ns, event::valid, until(40ns))})
            .flaws.size();
    };
    BOOST_TEST(with_tokens(5, 6) == 0U);
    BOOST_TEST(with_tokens(6, 5) == 1U);
    BOOST_TEST(with_tokens(6, 6) == 1U);
}

/// Rule S16. Numbers are 1024 apart, and the readers' tokens are the last ones below the next number.
// rule S16
BOOST_AUTO_TEST_CASE(judge_compares_tokens_of_readers_with_those_of_writers)
{
    constexpr std::uint64_t number = 1024;
    constexpr std::uint64_t readers = number + 1023;
    auto const story = [](std::uint64_t first, std::uint64_t second, std::uint64_t writers) {
        return judge({said(1, 10ns, event::holds, first), said(1, 11ns, event::valid_too, until(100ns)),
                      said(2, 12ns, event::holds, second), said(2, 13ns, event::valid_too, until(100ns)),
                      said(1, 20ns, event::lets_go), said(2, 21ns, event::lets_go),
                      said(3, 30ns, event::holds, writers), said(3, 31ns, event::valid, until(100ns)),
                      said(3, 40ns, event::downgrades), said(3, 41ns, event::renumbered, writers + 1023),
                      said(3, 42ns, event::valid_too, until(100ns))})
            .flaws;
    };
    BOOST_TEST(story(readers, readers, 2 * number).empty());
    BOOST_TEST(story(readers + number, readers, 3 * number).empty());
    BOOST_TEST(story(readers, readers, number).size() == 1U);
    BOOST_TEST(story(readers + number, readers, 2 * number).size() == 1U);
    std::vector<entry> const reader_behind_writer{
        said(1, 10ns, event::holds, 2 * number), said(1, 11ns, event::valid, until(20ns)),
        said(2, 30ns, event::holds, readers), said(2, 31ns, event::valid_too, until(100ns))};
    BOOST_TEST(judge(reader_behind_writer).flaws.size() == 1U);
    std::vector<entry> const upgraded_without_number{
        said(1, 10ns, event::holds, readers), said(1, 11ns, event::valid_too, until(20ns)),
        said(2, 12ns, event::holds, readers), said(2, 13ns, event::valid_too, until(20ns)),
        said(2, 14ns, event::lets_go),        said(1, 30ns, event::valid, until(100ns))};
    BOOST_TEST(judge(upgraded_without_number).flaws.size() == 1U);
}

BOOST_AUTO_TEST_CASE(judge_finds_overlapping_writes)
{
    constexpr std::uint64_t one = std::uint64_t{1} << 32U;
    auto const second_reads = [](std::uint64_t value, event end) {
        return judge({said(1, 1ns, event::reads), said(1, 2ns, event::has_read, 0),
                      said(2, 3ns, event::reads), said(2, 4ns, event::has_read, value),
                      said(1, 5ns, event::writes, one | 1U), said(1, 6ns, end, one | 1U),
                      said(2, 7ns, event::writes, one | 2U), said(2, 8ns, event::has_written, one | 2U)})
            .flaws.size();
    };
    BOOST_TEST(second_reads(0, event::writes_late) == 0U);
    BOOST_TEST(second_reads(0, event::has_written) == 1U);
    BOOST_TEST(second_reads(one | 1U, event::writes_late) == 1U);
}

BOOST_AUTO_TEST_CASE(judge_finds_losses_and_operations_not_reported)
{
    BOOST_TEST(judge({said(1, 1ns, event::told, 2)}).latest_told == 2U);
    BOOST_TEST(judge({said(1, 1ns, event::not_told)}).flaws.size() == 1U);
    BOOST_TEST(judge({said(1, 1ns, event::overdue, 1)}).flaws.size() == 1U);
}

/// Program 1 leaves its lease behind at 20 ns, program 2 adopts it, and program 3 has the lock from 35 ns to 36 ns.
std::vector<entry> adoption(std::uint64_t token, std::uint64_t adopted_token, nanoseconds deadline)
{
    return {said(1, 10ns, event::holds, token),
            said(1, 10ns, event::valid, until(deadline)),
            said(1, 20ns, event::leaves_behind),
            said(2, 30ns, event::adopts, said(1, 0ns, event::asks).owner()),
            said(3, 35ns, event::holds, token + 1024),
            said(3, 35ns, event::valid, until(36ns)),
            said(2, 40ns, event::holds, adopted_token),
            said(2, 40ns, event::valid, until(140ns))};
}

// rule H9
BOOST_AUTO_TEST_CASE(judge_takes_adopted_lease_for_the_old_one)
{
    auto const without_third = [](std::vector<entry> all) {
        std::erase_if(all, [](entry const& one) { return one.program == 3; });
        return all;
    };
    verdict const seen = judge(without_third(adoption(5, 5, 100ns)));
    BOOST_TEST((seen.flaws.empty() && seen.adopted == 1U && seen.leases == 2U));
    BOOST_TEST(judge(without_third(adoption(5, 6, 100ns))).flaws.size() == 1U);
    auto not_adopted = without_third(adoption(5, 5, 100ns));
    not_adopted.erase(not_adopted.begin() + 3);
    BOOST_TEST(judge(not_adopted).flaws.size() == 1U); // the same token
    auto used_after_all = without_third(adoption(0, 0, 100ns));
    used_after_all.erase(used_after_all.begin() + 2);
    BOOST_TEST(judge(used_after_all).flaws.size() == 1U);
}

// rule H9
BOOST_AUTO_TEST_CASE(judge_lets_nobody_have_a_lease_between_two_holders)
{
    BOOST_TEST(judge(adoption(0, 0, 100ns)).flaws.size() == 1U);
    BOOST_TEST(judge(adoption(0, 0, 32ns)).flaws.empty());
    BOOST_TEST(judge(adoption(5, 5, 32ns)).flaws.size() == 1U); // by its token
}

entry said_of_election(unsigned program, nanoseconds at, event what, std::uint64_t value = 0,
                       std::uint32_t operation = 1)
{
    entry one = said(program, at, what, value);
    one.lock = election_lock;
    one.operation = operation;
    return one;
}

// rule EL1
BOOST_AUTO_TEST_CASE(judge_finds_two_leaders)
{
    auto const second_from = [](nanoseconds at, std::uint64_t term) {
        return judge({said_of_election(1, 10ns, event::holds, 5),
                      said_of_election(1, 10ns, event::valid, until(50ns)),
                      said_of_election(2, at, event::holds, term),
                      said_of_election(2, at, event::valid, until(90ns))});
    };
    BOOST_TEST(second_from(50ns, 6).flaws.empty());
    BOOST_TEST(second_from(50ns, 6).terms == 2U);
    BOOST_TEST(second_from(49ns, 6).flaws.size() == 1U);
    BOOST_TEST(second_from(50ns, 4).flaws.size() == 1U);
}

// rule EL4
BOOST_AUTO_TEST_CASE(judge_finds_news_of_earlier_leader)
{
    auto const flaws = [](event first, std::uint64_t first_version, event second,
                          std::uint64_t second_version) {
        entry const before = said_of_election(1, 10ns, first, first_version);
        entry after = said_of_election(1, 20ns, second, second_version);
        auto const of_watcher = judge({before, after}).flaws.size();
        after.actor = 1; // another watcher of the same program
        return std::pair(of_watcher, judge({before, after}).flaws.size());
    };
    auto const both = [](std::size_t first, std::size_t second) { return std::pair(first, second); };
    BOOST_TEST((flaws(event::hears, version_of(5, 2), event::hears, version_of(6, 1)) == both(0, 0)));
    BOOST_TEST((flaws(event::hears, version_of(6, 1), event::hears, version_of(5, 2)) == both(2, 1)));
    BOOST_TEST((flaws(event::hears, version_of(6, 2), event::hears, version_of(6, 1)) == both(1, 0)));
    BOOST_TEST((flaws(event::hears_surely, version_of(6, 2), event::hears, version_of(6, 1)) == both(2, 1)));
    BOOST_TEST((flaws(event::hears, version_of(6, 1), event::hears_vacant, version_of(5, 2)) == both(2, 1)));
    BOOST_TEST(
        (flaws(event::hears_surely, version_of(6, 2), event::hears_vacant, version_of(6, 2)) == both(0, 0)));
}

// rule EL4
BOOST_AUTO_TEST_CASE(judge_finds_that_a_leader_in_office_is_not_known)
{
    auto const told = [](event what, std::uint64_t version, nanoseconds at) {
        return judge({said_of_election(1, 10ns, event::holds, 5),
                      said_of_election(1, 10ns, event::valid, until(50ns)),
                      said_of_election(1, 15ns, event::announced, version_of(5, 1)),
                      said_of_election(2, 20ns, event::asks_leader),
                      said_of_election(1, 21ns, event::announced, version_of(5, 2)),
                      said_of_election(2, at, what, version)})
            .flaws.size();
    };
    BOOST_TEST(told(event::hears, version_of(5, 1), 30ns) == 0U);
    BOOST_TEST(told(event::hears, version_of(4, 9), 30ns) == 1U);
    BOOST_TEST(told(event::hears_vacant, version_of(5, 1), 30ns) == 1U);
    BOOST_TEST(told(event::hears_vacant, version_of(5, 1), 50ns) == 0U);
    BOOST_TEST(told(event::hears, version_of(4, 9), 50ns) == 0U);
}

// rule EL4
BOOST_AUTO_TEST_CASE(judge_finds_that_a_leadership_has_ended_when_it_is_unknown)
{
    for (event const end : {event::lets_go, event::told})
        BOOST_TEST(judge({said_of_election(1, 10ns, event::valid, until(50ns)),
                          said_of_election(1, 15ns, event::announced, version_of(5, 1)),
                          said_of_election(2, 20ns, event::asks_leader), said_of_election(1, 25ns, end),
                          said_of_election(2, 30ns, event::hears_vacant, version_of(5, 1))})
                       .flaws.empty());
}

// rule EL4
BOOST_AUTO_TEST_CASE(judge_finds_values_of_one_term_by_two_authors)
{
    std::uint64_t const leader = said(1, 0ns, event::asks).owner();
    auto const told_of = [&](std::uint64_t author) {
        return judge({said_of_election(2, 10ns, event::hears, version_of(5, 1)),
                      said_of_election(2, 10ns, event::author, author),
                      said_of_election(1, 20ns, event::holds, 5)})
            .flaws.size();
    };
    BOOST_TEST(told_of(leader) == 0U);
    BOOST_TEST(told_of(leader + 1) == 1U);
}

// rule N9
BOOST_AUTO_TEST_CASE(judge_finds_lease_from_before_a_change_of_nodes)
{
    auto const valid_at = [](nanoseconds asked, nanoseconds at, std::uint64_t error) {
        entry change = said(1, 20ns, event::changes);
        entry changed = said(1, 30ns, event::has_changed, error);
        change.actor = changed.actor = node_changer;
        std::vector<entry> all{said(1, asked, event::asks), change, said(1, at, event::valid, until(100ns)),
                               changed};
        std::ranges::stable_sort(all, {}, &entry::at);
        return judge(all);
    };
    BOOST_TEST(valid_at(10ns, 25ns, 0).flaws.empty());
    BOOST_TEST(valid_at(10ns, 35ns, 0).flaws.size() == 1U);
    BOOST_TEST(valid_at(10ns, 35ns, 1).flaws.empty()); // refused
    BOOST_TEST(valid_at(21ns, 35ns, 0).flaws.empty());
    BOOST_TEST((valid_at(10ns, 25ns, 0).changes == 1U && valid_at(10ns, 25ns, 1).changes == 0U));
}

BOOST_AUTO_TEST_CASE(sets_and_permits_are_drawn_as_they_can_be)
{
    for (std::uint64_t seed = 1; seed != 200; ++seed) {
        cast const all(seed);
        for (part const& one : draw_parts(all, 1)) {
            BOOST_TEST(one.others.empty() == !takes_several(one.how), all.describe());
            BOOST_TEST(std::ranges::count(one.others, one.lock) == 0, all.describe());
            BOOST_TEST((one.count == 1 || (takes_permits(one.how) && one.count <= all.permits)),
                       all.describe());
        }
    }
}

BOOST_AUTO_TEST_CASE(later_seeds_add_elections_adoptions_changes_of_nodes_and_groups)
{
    unsigned elections = 0;
    unsigned adoptions = 0;
    unsigned changes = 0;
    unsigned groups = 0;
    for (std::uint64_t seed = 1; seed != 400; ++seed) {
        cast const all(seed);
        bool const adds = all.has_election || all.leases_are_adopted || all.spare_node || all.has_group;
        BOOST_TEST((!adds || seed > 205), all.describe());
        BOOST_TEST((!all.has_election || !all.is_fenced_without_readers()), all.describe());
        BOOST_TEST((!all.spare_node || *all.spare_node < all.nodes()), all.describe());
        auto const parts = draw_parts(all, 1);
        BOOST_TEST((parts.back().how == manner::leading) == all.has_election, all.describe());
        elections += all.has_election ? 1U : 0U;
        adoptions += all.leases_are_adopted ? 1U : 0U;
        changes += all.spare_node ? 1U : 0U;
        groups += all.has_group ? 1U : 0U;
    }
    BOOST_TEST((elections > 50U && adoptions > 50U && changes > 50U && groups > 25U));
}

BOOST_AUTO_TEST_CASE(later_seeds_stop_programs_and_servers_for_longer_than_a_ttl)
{
    for (std::uint64_t const seed : {205U, 206U}) {
        cast const all(seed);
        auto const faults = draw_faults(all, 10min);
        auto const longer = [&](std::string_view what) {
            return std::ranges::any_of(faults, [&](fault const& one) {
                return one.what == what && one.length > std::max<milliseconds>(all.longest_key(), 3s);
            });
        };
        BOOST_TEST(longer("stop program") == (seed > 205));
        BOOST_TEST(longer("stop") == (seed > 205));
    }
}

BOOST_AUTO_TEST_CASE(left_lease_is_taken_once)
{
    redlock::test::temporary_directory const directory{"redlock-chaos-test"};
    std::string const file = directory.file("left");
    leave_behind({.nonce = "abandoned", .file = file});
    leave_behind(
        {.nonce = "nonce", .token = 1024, .owner = 5, .ttl = 700ms, .lock = 2, .things = 6, .file = file});
    auto const taken = take_left(file, file + "-1");
    BOOST_REQUIRE(taken);
    BOOST_TEST((taken->nonce == "nonce" && taken->token == 1024U && taken->owner == 5U &&
                taken->ttl == 700ms && taken->lock == 2U && taken->things == 6U && taken->file == file));
    BOOST_TEST(!take_left(file, file + "-2"));
}

BOOST_AUTO_TEST_CASE(faults_drawn_from_the_same_seed_are_the_same)
{
    auto const drawn = [](std::uint64_t seed) { return draw_faults(cast(seed), 30s); };
    BOOST_TEST((drawn(7) == drawn(7)));
    BOOST_TEST((drawn(7) != drawn(8)));
}

BOOST_AUTO_TEST_SUITE_END()

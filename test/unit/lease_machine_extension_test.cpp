// SPDX-License-Identifier: BSL-1.0
#include "lease_machine_script.hpp"

#include <string>

using namespace redlock::test;
using enum redlock::core::lease_phase;

BOOST_AUTO_TEST_SUITE(lease_machine_rules)

// rule H4
BOOST_AUTO_TEST_CASE(extension_counts_from_its_own_sending)
{
    lease l;
    BOOST_TEST(l.deadline_us() == us(8908ms));
    BOOST_TEST(l.round(3000ms, "0m 1m", 3400ms) == ".E");
    BOOST_TEST(l.deadline_us() == us(11908ms));
    BOOST_TEST(l.next_us() == us(6000ms));
    BOOST_TEST(!l.machine.extending());
    BOOST_TEST(l.round(6100ms, "2m 1m", 6100ms) == ".E");
    BOOST_TEST(l.deadline_us() == us(15008ms));
    BOOST_TEST(l.due(15007ms - 1ns) == 'R');
    BOOST_TEST(l.due(15007ms) == 'L');
}

// rule H4
BOOST_AUTO_TEST_CASE(extension_counts_only_within_its_own_validity)
{
    constexpr lease_terms patient{
        .ttl = 9s, .slack = 60s, .tolerate_suspect = true}; // so that nothing else ends it
    struct row {
        duration answered_at;
        std::string expected;
    };
    for (row const& r : {row{11908ms - 1ns, ".E"}, row{11908ms, ".F"}, row{20s, ".F"}}) {
        lease l{patient};
        BOOST_TEST(l.round(3000ms, "0m 1m", r.answered_at) == r.expected, us(r.answered_at));
        BOOST_TEST(l.deadline_us() == us(r.expected == ".E" ? 11908ms : 8908ms));
    }
    lease slept{patient};
    slept.begin(at(3000ms));
    (void)slept.answer(0, extension_answer::mine, at(3100ms));
    instant const woken{at(11908ms).boot, at(3100ms).raw};
    BOOST_TEST((slept.answer(1, extension_answer::mine, woken) == lease_machine::outcome::failed));
    BOOST_TEST(slept.deadline_us() == us(8908ms));
}

BOOST_AUTO_TEST_CASE(answer_read_after_deadline_does_not_revive_lease)
{
    // A blocked executor may read the answers before it looks at its timers; the lease is over for other clients by
    // then.
    struct row {
        lease_terms terms;
        duration sent;
        duration end;
    };
    row const rows[] = {
        {nine_seconds, 7900ms, 8908ms},     {unrenewed, 7900ms, 8908ms},
        {tolerant, 7900ms, 9799ms},         {with(8s), 7900ms, 8s},
        {with(8s, true, true), 7900ms, 8s}, {with(9200ms, true, true), 7900ms, 9200ms},
    };
    for (row const& r : rows) {
        BOOST_TEST_CONTEXT("ends at " << us(r.end) << " us")
        {
            lease in_time{r.terms};
            BOOST_TEST(in_time.round(r.sent, "0m 1m", r.end - 1ns) == ".E");

            for (duration answered_at : {r.end, r.end + 1s}) {
                lease late{r.terms};
                auto const before = late.deadline_us();
                BOOST_TEST(late.round(r.sent, "0m 1m", answered_at) == "LF");
                BOOST_TEST(late.machine.phase() == lost);
                BOOST_TEST(late.deadline_us() == before);
                BOOST_TEST(late.next_us() == -1);
            }

            lease begun_late{r.terms}; // by hand
            BOOST_TEST(begun_late.round(r.end + 1s, "0m 1m") == "LF");
            BOOST_TEST(begun_late.machine.phase() == lost);
        }
    }
    lease slept;
    slept.begin(at(8000ms));
    instant const woken{at(8908ms).boot, at(8001ms).raw};
    BOOST_TEST((slept.answer(0, extension_answer::mine, woken) == lease_machine::outcome::lost));
}

// rule H5
BOOST_AUTO_TEST_CASE(extension_counts_only_nodes_known_as_holders_before_it)
{
    struct row {
        unsigned nodes;
        std::string holders;
        std::string script;
        std::string expected;
        unsigned votes; // known holders afterwards
    };
    row const rows[] = {
        {3, "01", "0m 1m", ".E", 2},
        {3, "01", "0m 2m", "..", 3},
        {3, "01", "2m 0m 1m", "..E", 3},
        {3, "01", "0m 2m 1f", "..F", 2},
        {3, "01", "2m 1f", ".F", 2}, // a late own vote weighs like a failure, not like a refusal
        {3, "01", "2m 1n", ".F", 2},
        {3, "0", "1m 2m", ".F", 3},
        {5, "012", "3m 4m 0m 1m 2m", "....E", 5},
        {5, "012", "3m 4m 0m 1m 2f", "....F", 4},
        {5, "012", "0n 1m 2m 3f 4m", "....F", 3},
        {4, "012", "3m 0m 1m 2m", "...E", 4},
        {4, "012", "3m 0m 1f", "..F", 3},
    };
    for (row const& r : rows) {
        BOOST_TEST_CONTEXT(r.nodes << " nodes, holders " << r.holders << ": " << r.script)
        {
            lease l{nine_seconds, r.nodes, r.holders};
            BOOST_TEST(l.round(3s, r.script) == r.expected);
            BOOST_TEST(l.machine.votes() == r.votes);
        }
    }
}

// rule H5
BOOST_AUTO_TEST_CASE(late_vote_counts_from_next_extension_on)
{
    lease found{nine_seconds, 3, "01"};
    BOOST_TEST(found.round(3s, "2m 1f") == ".F");
    BOOST_TEST(found.round(4s, "2m 0m") == ".E");

    lease granted_before{nine_seconds, 3, "01"};
    granted_before.machine.late_grant(2, at(2s));
    BOOST_TEST(granted_before.machine.votes() == 3U);
    BOOST_TEST(granted_before.round(3s, "2m 0m") == ".E");

    lease granted_meanwhile{nine_seconds, 3, "01"};
    granted_meanwhile.begin(at(3s));
    granted_meanwhile.machine.late_grant(2, at(3s));
    BOOST_TEST(granted_meanwhile.answers("2m 0m", 3s) == "..");
    BOOST_TEST(granted_meanwhile.round(4s, "2m 0m") == ".E");

    lease forgotten;
    BOOST_TEST(forgotten.round(3s, "0n 1m 2m") == "..E");
    BOOST_TEST(forgotten.machine.votes() == 2U);
    BOOST_TEST(forgotten.round(6s, "0m 1m") == ".."); // it held nothing when this round began
    BOOST_TEST(forgotten.answers("2m", 6s) == "E");
}

// Another client may have held the lock meanwhile, with node 0 and node 2, and have released it: then our late vote was
// executed on node 2. That node's key does not prove that the lock was ours all the time.
// rule H5
BOOST_AUTO_TEST_CASE(late_vote_after_deadline_proves_nothing)
{
    lease granted{tolerant, 3, "01"};
    BOOST_TEST(granted.due(8907ms) == 'S');
    granted.machine.late_grant(2, at(8908ms));
    BOOST_TEST(granted.round(9000ms, "2m 1m 0n", 9100ms) == "..F");

    lease granted_before_anybody_looked{tolerant, 3, "01"};
    granted_before_anybody_looked.machine.late_grant(2, at(8908ms));
    BOOST_TEST(granted_before_anybody_looked.round(9000ms, "2m 1m 0n", 9100ms) == "..F");

    lease found{tolerant, 3, "01"};
    BOOST_TEST(found.due(8907ms) == 'S');
    BOOST_TEST(found.round(9000ms, "2m 0f", 9100ms) == ".F");
    BOOST_TEST(found.round(9200ms, "2m 1m 0n", 9300ms) == "..F");

    lease in_time{tolerant, 3, "01"};
    in_time.machine.late_grant(2, at(8908ms - 1ns));
    BOOST_TEST(in_time.due(8908ms) == 'S');
    BOOST_TEST(in_time.round(9000ms, "2m 1m", 9100ms) == ".E");
}

// rule H4
BOOST_AUTO_TEST_CASE(new_extension_starts_its_count_at_zero)
{
    lease l;
    BOOST_TEST(l.round(3s, "0m") == ".");
    BOOST_TEST(l.machine.extending());
    BOOST_TEST(l.round(4s, "1m") == "."); // a new round, at nought
    BOOST_TEST((l.open.sent == at(4s)));
    BOOST_TEST(l.deadline_us() == us(8908ms));
    BOOST_TEST(l.answers("2m", 4s) == "E");
    BOOST_TEST(l.deadline_us() == us(12908ms));
    BOOST_TEST(l.machine.nodes() == 3U);

    lease refused;
    BOOST_TEST(refused.round(3s, "0n") == ".");
    BOOST_TEST(refused.round(4s, "1n 0f") == ".F"); // one refusal each
    BOOST_TEST(refused.machine.phase() == held);
}

BOOST_AUTO_TEST_CASE(answers_without_open_extension_only_tell_the_holders)
{
    lease l{nine_seconds, 3, "01"};
    BOOST_TEST(l.answers("0m 1m 2m", 1s) == "...");
    BOOST_TEST(l.machine.votes() == 3U);
    BOOST_TEST(l.answers("0n 1n 2n", 1s) == "...");
    BOOST_TEST(l.machine.votes() == 0U);
    BOOST_TEST(l.machine.phase() == held);
    BOOST_TEST(l.deadline_us() == us(8908ms));

    lease failed;
    BOOST_TEST(failed.round(3s, "0f 1f 2m 0m 1m") == ".F...");
    BOOST_TEST(failed.deadline_us() == us(8908ms));

    lease extended;
    BOOST_TEST(extended.round(3s, "0m 1m 2n 0n 1n") == ".E...");
    BOOST_TEST(extended.deadline_us() == us(11908ms));
    BOOST_TEST(extended.machine.phase() == held);
}

BOOST_AUTO_TEST_SUITE_END()

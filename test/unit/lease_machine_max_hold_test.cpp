// SPDX-License-Identifier: BSL-1.0
#include "lease_machine_script.hpp"

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(lease_machine_rules)

BOOST_AUTO_TEST_CASE(max_hold_ends_lease_whatever_nodes_answer)
{
    lease l{with(20s)};
    BOOST_TEST(l.round(3s, "0m 1m") == ".E");
    BOOST_TEST(l.deadline_us() == us(11908ms));
    BOOST_TEST(l.round(11s, "0m 1m") == ".E");
    BOOST_TEST(l.deadline_us() == us(19908ms));
    BOOST_TEST(l.next_us() == us(14s));
    BOOST_TEST(l.round(14s, "0m 1m") == ".E");
    BOOST_TEST(l.deadline_us() == us(20s));
    BOOST_TEST(l.due(17s) == '-'); // there is nothing left to win
    BOOST_TEST(l.next_us() == us(19999ms));
    BOOST_TEST(l.round(18s, "0m 1m") == ".E"); // asked for by hand
    BOOST_TEST(l.deadline_us() == us(20s));
    BOOST_TEST(l.round(19s, "0f 1f") == ".F");
    BOOST_TEST(l.next_us() == us(19999ms));
    BOOST_TEST(l.due(19999ms - 1ns) == '-');
    BOOST_TEST(l.due(19999ms) == 'L');
}

// rule H3
BOOST_AUTO_TEST_CASE(max_hold_shorter_than_validity_prevents_renewal)
{
    struct row {
        duration max_hold;
        duration deadline;
        duration next;
    };
    row const rows[] = {
        {1s, 1s, 999ms},          {5s, 5s, 4999ms}, {8907ms, 8907ms, 8906ms},
        {8908ms, 8908ms, 8907ms}, // as long as the first validity: a renewal would win nothing
        {8909ms, 8908ms, 3s},
    };
    for (row const& r : rows) {
        lease l{with(r.max_hold)};
        BOOST_TEST(l.deadline_us() == us(r.deadline), us(r.max_hold));
        BOOST_TEST(l.next_us() == us(r.next), us(r.max_hold));
    }
}

/// Its lease must not be renewed for longer.
// rules H3 and W6
BOOST_AUTO_TEST_CASE(failed_probe_plans_no_renewal_after_max_hold)
{
    lease l{with(5s)};
    l.machine.renew_at(at(100ms));
    BOOST_TEST(l.due(100ms) == 'R');
    BOOST_TEST(l.round(100ms, "0f 1f") == ".F");
    BOOST_TEST(!l.machine.renewal_planned());
}

BOOST_AUTO_TEST_CASE(max_hold_counts_on_clock_that_ran_further)
{
    lease l{with(20s)};
    instant const slept{at(8s).boot, at(3s).raw}; // five seconds suspended
    l.begin(slept);
    (void)l.answer(0, extension_answer::mine, slept);
    BOOST_TEST((l.answer(1, extension_answer::mine, slept) == lease_machine::outcome::extended));
    BOOST_TEST(us(remaining(l.machine.deadline(), slept)) == us(8908ms));
    instant const later = slept + 6s;
    l.begin(later);
    (void)l.answer(0, extension_answer::mine, later);
    (void)l.answer(1, extension_answer::mine, later);
    BOOST_TEST(us(remaining(l.machine.deadline(), later)) == us(6s)); // 20 - 8 - 6
}

BOOST_AUTO_TEST_SUITE_END()

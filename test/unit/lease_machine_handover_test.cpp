// SPDX-License-Identifier: BSL-1.0
#include "lease_machine_script.hpp"

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(lease_machine_rules)

// rule W4
BOOST_AUTO_TEST_CASE(handed_over_lease_keeps_its_deadline)
{
    lease l{nine_seconds};
    BOOST_TEST(l.round(3s, "0m 1m") == ".E");
    l.machine = l.machine.handed_over(nine_seconds, at(5s));
    BOOST_TEST(l.deadline_us() == us(11908ms));
    BOOST_TEST(l.next_us() == us(6s));
    BOOST_TEST(l.round(6s, "0m 1m") == ".E");
    BOOST_TEST(l.deadline_us() == us(14908ms));
}

/// Answers to that extension belong to the former holder.
BOOST_AUTO_TEST_CASE(handed_over_lease_forgets_extension_under_way)
{
    lease l{nine_seconds};
    l.begin(at(3s));
    l.machine = l.machine.handed_over(nine_seconds, at(4s));
    BOOST_TEST(!l.machine.extending());
    BOOST_TEST(l.deadline_us() == us(8908ms));
    BOOST_TEST(l.due(4s) == 'R');
}

BOOST_AUTO_TEST_CASE(max_hold_starts_anew_at_hand_over)
{
    lease_terms const ten_seconds = with(10s);
    lease l{ten_seconds};
    BOOST_TEST(l.round(3s, "0m 1m") == ".E");
    BOOST_TEST(l.deadline_us() == us(10s));
    l.machine = l.machine.handed_over(ten_seconds, at(5s));
    BOOST_TEST(l.deadline_us() == us(11908ms));
    BOOST_TEST(l.round(6s, "0m 1m") == ".E");
    BOOST_TEST(l.deadline_us() == us(14908ms));
    BOOST_TEST(l.round(9s, "0m 1m") == ".E");
    BOOST_TEST(l.deadline_us() == us(15s));
}

/// One of them renews for all.
// rule S18
BOOST_AUTO_TEST_CASE(lease_that_follows_is_renewed_by_another)
{
    lease leader{nine_seconds};
    lease_terms const ten_seconds = with(10s);
    lease l{ten_seconds};
    l.machine = leader.machine.handed_over(ten_seconds, at(0s));
    l.machine.follow(leader.machine);
    BOOST_TEST(l.next_us() == us(8907ms));
    BOOST_TEST(leader.round(3s, "0m 1m") == ".E");
    l.machine.follow(leader.machine);
    BOOST_TEST(l.deadline_us() == us(10s)); // its own
    BOOST_TEST(leader.deadline_us() == us(11908ms));
}

BOOST_AUTO_TEST_CASE(lease_that_leads_renews_from_then_on)
{
    lease leader{nine_seconds};
    lease l{nine_seconds};
    l.machine.follow(leader.machine);
    leader.begin(at(3s));
    l.machine.become_renewer(leader.machine);
    BOOST_TEST(!l.machine.extending());
    BOOST_TEST(l.due(3s) == 'R');
    BOOST_TEST(l.round(3s, "0m 1m") == ".E");
    BOOST_TEST(l.deadline_us() == us(11908ms));
}

/// A holder that makes no progress postpones the renewal, and another holder may do so, too.
BOOST_AUTO_TEST_CASE(renewal_that_was_put_off_is_put_off_for_the_next)
{
    lease leader{nine_seconds};
    lease l{nine_seconds};
    l.machine.follow(leader.machine);
    leader.machine.postpone_renewal(at(3s));
    l.machine.become_renewer(leader.machine);
    BOOST_TEST(l.due(3s) == '-');
    BOOST_TEST(l.next_us() > us(3s));
}

BOOST_AUTO_TEST_CASE(key_that_is_refused_is_lost_to_followers)
{
    lease leader{nine_seconds};
    lease l{nine_seconds};
    l.machine.follow(leader.machine);
    BOOST_TEST(leader.round(3s, "0n 1n") == ".L");
    l.machine.lose_with(leader.machine);
    BOOST_TEST(l.machine.over());
    BOOST_TEST((l.machine.cause() == lease_machine::loss::refused));
}

BOOST_AUTO_TEST_SUITE_END()

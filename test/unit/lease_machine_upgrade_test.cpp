// SPDX-License-Identifier: BSL-1.0
#include "lease_machine_script.hpp"

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(lease_machine_rules)

/// S13.
BOOST_AUTO_TEST_CASE(upgrade_counts_from_its_sending)
{
    lease l{nine_seconds};
    BOOST_TEST(l.machine.upgrade(at(2s), nodes_of("01"), at(3s)));
    BOOST_TEST(l.deadline_us() == us(10908ms));
    BOOST_TEST(l.machine.votes() == 2U);
    BOOST_TEST(l.next_us() == us(5s));
}

BOOST_AUTO_TEST_CASE(upgrade_after_the_deadline_is_none)
{
    lease l{tolerant};
    BOOST_TEST(!l.machine.upgrade(at(8s), nodes_of("012"), at(8908ms)));
    BOOST_TEST(l.deadline_us() == us(8908ms));
    BOOST_TEST(l.machine.upgrade(at(8s), nodes_of("012"), at(8907ms)));
}

BOOST_AUTO_TEST_CASE(upgrade_of_what_is_over_is_none)
{
    lease l{nine_seconds};
    BOOST_TEST(l.machine.release());
    BOOST_TEST(!l.machine.upgrade(at(2s), nodes_of("012"), at(3s)));
}

/// Its renewal counts only nodes that have made it a writer (S7, H5).
BOOST_AUTO_TEST_CASE(upgrade_relies_on_no_other_node)
{
    lease l{nine_seconds};
    BOOST_TEST(l.machine.upgrade(at(2s), nodes_of("01"), at(3s)));
    BOOST_TEST(l.round(5s, "0m 2m 1f") == "..F");
}

BOOST_AUTO_TEST_SUITE_END()

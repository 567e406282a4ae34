// SPDX-License-Identifier: BSL-1.0
#include "lease_machine_script.hpp"

using namespace redlock::test;

namespace {

/// Adopted at zero, by a holder that knows nothing but the nonce.
struct adopted {
    explicit adopted(lease_terms const& t = nine_seconds) : l(t)
    {
        l.machine = lease_machine::adopted(l.terms, 3, at(0s));
    }
    redlock::test::lease l;
};

constexpr lease_terms guarded{.ttl = 9s, .slack = 900ms, .guarded = true};

} // namespace

BOOST_AUTO_TEST_SUITE(lease_adoption)

// rule H9
BOOST_AUTO_TEST_CASE(adopted_lease_is_suspect_until_majority_confirms)
{
    adopted a;
    BOOST_TEST(a.l.machine.phase() == lease_phase::suspect);
    BOOST_TEST(a.l.machine.votes() == 0U);
    BOOST_TEST(a.l.round(100ms, "0m 1m", 120ms) == ".E");
    BOOST_TEST(a.l.machine.phase() == lease_phase::held);
    BOOST_TEST(a.l.machine.confirmed_once());
    BOOST_TEST(a.l.machine.votes() == 2U);
    BOOST_TEST(a.l.deadline_us() == us(100ms + 8908ms));
}

BOOST_AUTO_TEST_CASE(adopted_lease_is_lost_if_majority_has_not_its_key)
{
    adopted a;
    BOOST_TEST(a.l.round(100ms, "0m 1n 2n") == "..L");
}

BOOST_AUTO_TEST_CASE(adopted_lease_may_be_confirmed_after_silent_majority)
{
    adopted a;
    BOOST_TEST(a.l.round(100ms, "0m 1f 2f") == "..F");
    BOOST_TEST(a.l.machine.phase() == lease_phase::suspect);
    BOOST_TEST(a.l.round(200ms, "0m 1m") == ".E");
}

BOOST_AUTO_TEST_CASE(adopted_lease_is_lost_at_deadline_without_confirmation)
{
    adopted a(unrenewed);
    BOOST_TEST(a.l.next_us() == us(8907ms));
    BOOST_TEST(a.l.due(8907ms) == 'L');

    adopted tolerated(tolerant_unrenewed);
    BOOST_TEST(tolerated.l.due(8907ms) == '-');
    BOOST_TEST(tolerated.l.next_us() == us(9798ms));
    BOOST_TEST(tolerated.l.due(9798ms) == 'L');
}

// rule H9
BOOST_AUTO_TEST_CASE(adopted_lease_counts_only_confirming_nodes_as_holders)
{
    adopted a;
    BOOST_TEST(a.l.round(100ms, "0m 1m") == ".E");
    BOOST_TEST(a.l.round(3s, "0m 2m 1f") == "..F"); // a key found by the round itself
    BOOST_TEST(a.l.round(4s, "0m 2m") == ".E");
}

// rule H9
BOOST_AUTO_TEST_CASE(adopted_lease_is_not_proven_by_repaired_keys)
{
    adopted a(guarded);
    BOOST_TEST(a.l.round(100ms, "0m 1r 2r") == ".F.");
    BOOST_TEST(!a.l.machine.confirmed_once());
}

BOOST_AUTO_TEST_CASE(adopted_lease_can_be_released_before_confirmation)
{
    adopted a;
    BOOST_TEST(a.l.machine.release());
    BOOST_TEST(a.l.machine.phase() == lease_phase::released);
}

BOOST_AUTO_TEST_SUITE_END()

#include "lease_machine_script.hpp"

using namespace redlock::test;

namespace {

/// Adopted at zero, by one who knows nothing but the nonce.
struct adopted {
    explicit adopted(lease_terms const& t = nine_seconds) : l(t)
    {
        l.machine = lease_machine::adopted(l.terms, 3, at(0s));
    }
    redlock::test::lease l;
};

constexpr lease_terms guarded{.ttl = 9s, .slack = 900ms, .guarded = true};

} // namespace

BOOST_AUTO_TEST_SUITE(lease_machine_adoption_test)

BOOST_AUTO_TEST_CASE(is_suspect_until_a_majority_has_confirmed_it)
{
    adopted a;
    BOOST_TEST(a.l.machine.phase() == lease_phase::suspect);
    BOOST_TEST(a.l.machine.votes() == 0U);
    BOOST_TEST(a.l.round(100ms, "0m 1m", 120ms) == ".E");
    BOOST_TEST(a.l.machine.phase() == lease_phase::held);
    BOOST_TEST(a.l.machine.proven());
    BOOST_TEST(a.l.machine.votes() == 2U);
    BOOST_TEST(a.l.deadline_us() == us(100ms + 8908ms));
}

BOOST_AUTO_TEST_CASE(is_lost_where_a_majority_has_not_its_key)
{
    adopted a;
    BOOST_TEST(a.l.round(100ms, "0m 1n 2n") == "..L");
}

BOOST_AUTO_TEST_CASE(may_be_asked_again_where_a_majority_was_silent)
{
    adopted a;
    BOOST_TEST(a.l.round(100ms, "0m 1f 2f") == "..F");
    BOOST_TEST(a.l.machine.phase() == lease_phase::suspect);
    BOOST_TEST(a.l.round(200ms, "0m 1m") == ".E");
}

BOOST_AUTO_TEST_CASE(is_lost_when_nobody_has_confirmed_it_in_its_own_time)
{
    adopted a(unrenewed);
    BOOST_TEST(a.l.next_us() == us(8907ms));
    BOOST_TEST(a.l.due(8907ms) == 'L');

    adopted tolerated(tolerant_unrenewed);
    BOOST_TEST(tolerated.l.due(8907ms) == '-');
    BOOST_TEST(tolerated.l.next_us() == us(9798ms));
    BOOST_TEST(tolerated.l.due(9798ms) == 'L');
}

BOOST_AUTO_TEST_CASE(relies_afterwards_on_those_that_confirmed)
{
    adopted a;
    BOOST_TEST(a.l.round(100ms, "0m 1m") == ".E");
    BOOST_TEST(a.l.round(3s, "0m 2m 1f") == "..F"); // a key found by the round itself
    BOOST_TEST(a.l.round(4s, "0m 2m") == ".E");
}

BOOST_AUTO_TEST_CASE(is_not_proven_by_keys_that_were_set_again)
{
    adopted a(guarded);
    BOOST_TEST(a.l.round(100ms, "0m 1r 2r") == ".F.");
    BOOST_TEST(!a.l.machine.proven());
}

BOOST_AUTO_TEST_CASE(can_be_released_unproven)
{
    adopted a;
    BOOST_TEST(a.l.machine.release());
    BOOST_TEST(a.l.machine.phase() == lease_phase::released);
}

BOOST_AUTO_TEST_SUITE_END()

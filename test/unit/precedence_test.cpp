#include "core/precedence.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

constexpr duration step = 1ms;
constexpr duration most = 10ms;

precedence after_lease_between(unsigned others)
{
    precedence p;
    for (unsigned i = 0; i != others; ++i)
        p.another_had_it();
    p.granted();
    return p;
}

} // namespace

BOOST_AUTO_TEST_SUITE(precedence_)

BOOST_AUTO_TEST_CASE(who_knows_of_nobody_waits_for_nobody)
{
    precedence p;
    BOOST_TEST((p.courtesy(step, most) == 0ms));
    p.another_had_it();
    BOOST_TEST((p.courtesy(step, most) == 0ms));
    BOOST_TEST((after_lease_between(0).courtesy(step, most) == 0ms));
}

BOOST_AUTO_TEST_CASE(each_of_the_others_goes_first_once)
{
    precedence p = after_lease_between(3);
    for (auto const left : {3ms, 2ms, 1ms, 0ms, 0ms}) {
        BOOST_TEST((p.courtesy(step, most) == left));
        p.another_had_it();
    }
}

BOOST_AUTO_TEST_CASE(who_does_not_come_is_not_expected_again)
{
    precedence p = after_lease_between(3);
    p.another_had_it();
    p.granted();
    BOOST_TEST((p.courtesy(step, most) == 1ms));
    p.granted();
    BOOST_TEST((p.courtesy(step, most) == 0ms));
}

BOOST_AUTO_TEST_CASE(courtesy_has_an_end)
{
    BOOST_TEST((after_lease_between(1'000'000).courtesy(step, most) == most));
}

BOOST_AUTO_TEST_SUITE_END()

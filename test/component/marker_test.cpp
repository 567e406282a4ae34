#include "component/scripted_cluster.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>

using namespace redlock;
using namespace redlock::test;

namespace {

/// Ten years, and more than can be counted in nanoseconds.
std::array<std::string, 2> const far_away{"315360000000", "9223372036854775807"};

} // namespace

BOOST_AUTO_TEST_SUITE(markers)

BOOST_DATA_TEST_CASE(a_quarantine_that_a_server_invents_is_no_longer_than_any_other, far_away, milliseconds)
{
    scripted_cluster three;
    three.warm_up();
    three.expect_everywhere("EVAL", reply(':' + milliseconds + "\r\n"));
    three.expect_everywhere("EVAL", reply("+STRANGER\r\n"));
    fenced_mutex lock(*three.locks, "lock", long_lived);
    BOOST_TEST(three.try_acquire(lock)->ec == errc::no_quorum);
    three.run_until_heard(7); // with the question for the marker, the vote, and what takes the vote back
    while (three.context.poll() != 0)
        ;
    BOOST_TEST(three.try_acquire(lock)->ec == errc::no_quorum);
    for (node_outcome const& row : lock.last_attempt()) {
        BOOST_TEST((row.result == node_result::quarantined));
        BOOST_TEST_REQUIRE(row.remaining.has_value());
        BOOST_TEST((*row.remaining <= 12min));
    }
    BOOST_TEST(!three.surprised());
}

/// Two of three are ready before the third: one refusal would be the end of the only attempt.
BOOST_AUTO_TEST_CASE(the_first_try_of_a_client_waits_for_the_node_that_is_a_moment_late)
{
    scripted_cluster three;
    three[2].expect("INFO", late(info_reply({})));
    three.expect_everywhere("EVAL", reply(canned::zero)); // the marker
    three[0].expect("EVAL", reply(canned::oom));
    three[1].expect("EVAL", reply(":5\r\n"));
    three[2].expect("EVAL", reply(":5\r\n"));
    auto const result = std::make_shared<outcome>();
    fenced_mutex lock(*three.locks, "lock", long_lived);
    lock.try_acquire(keeps_outcome{result});
    run_until(three.context, [&] { return three[0].count("TIME") == 1 && three[1].count("TIME") == 1; });
    while (three.context.poll() != 0)
        ;
    BOOST_TEST(!result->done());
    three[2].deliver_late();
    run_until(three.context, [&] { return result->done(); });
    BOOST_TEST(!result->ec);
    BOOST_TEST(!three.surprised());
}

BOOST_AUTO_TEST_SUITE_END()

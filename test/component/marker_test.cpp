#include "component/scripted_cluster.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>

using namespace redlock;
using namespace redlock::test;

namespace {

/// None of them is what the script answers; the last two would be a quarantine without an end.
std::array<std::string, 5> const inventions{"+OK\r\n", ":0\r\n", "+1700000000000 run:data/0a1b2c3d\r\n",
                                            "+1700000000000 run:data/0a1b2c3d/0/1700000000001\r\n",
                                            "+1700000000000 run:data/0a1b2c3d/9223372036854775807/0\r\n"};

} // namespace

BOOST_AUTO_TEST_SUITE(markers)

BOOST_DATA_TEST_CASE(a_marker_that_a_server_invents_is_no_marker, inventions, said)
{
    scripted_cluster three;
    three.warm_up();
    three.expect_everywhere("EVAL", reply(said));
    fenced_mutex lock(*three.locks, "lock", long_lived);
    BOOST_TEST(three.try_acquire(lock)->ec == errc::no_quorum);
    for (node_outcome const& row : lock.last_attempt())
        BOOST_TEST((row.result == node_result::refused));
    // It is asked for again, and then believed.
    three.expect_everywhere("EVAL", reply(canned::marker));
    three.expect_everywhere("EVAL", reply(":5\r\n"));
    BOOST_TEST(!three.try_acquire(lock)->ec);
    BOOST_TEST(!three.surprised());
}

/// Two seconds ago, as the server's own clock tells.
BOOST_AUTO_TEST_CASE(a_young_marker_keeps_fenced_locks_waiting_and_no_others)
{
    scripted_cluster three;
    three.warm_up();
    three.expect_everywhere("EVAL",
                            reply("+1700000002000 run:data/0a1b2c3d/1700000000000/1700000000000\r\n"));
    fenced_mutex lock(*three.locks, "lock", long_lived);
    BOOST_TEST(three.try_acquire(lock)->ec == errc::no_quorum);
    for (node_outcome const& row : lock.last_attempt()) {
        BOOST_TEST((row.result == node_result::quarantined));
        BOOST_TEST_REQUIRE(row.remaining.has_value());
        BOOST_TEST((*row.remaining > 10min && *row.remaining <= 12min));
    }
    BOOST_TEST(!three.try_acquire(three.lock("plain"))->ec);
}

/// With the young node there would be a majority in ten minutes, with the one that refused it at once.
BOOST_AUTO_TEST_CASE(a_marker_that_was_refused_is_asked_for_again_before_a_young_one_counts)
{
    scripted_cluster three;
    three.warm_up();
    three[0].expect("EVAL", reply(canned::marker));
    three[1].expect("EVAL", reply("+1700000002000 run:data/0a1b2c3d/1700000000000/1700000000000\r\n"));
    three[2].expect("EVAL", reply(canned::oom));
    three[2].expect("EVAL", reply(canned::marker));
    auto const result = std::make_shared<outcome>();
    fenced_mutex lock(*three.locks, "lock", long_lived);
    lock.acquire(keeps_outcome{result});
    run_until(three.context, [&] { return result->done(); });
    BOOST_TEST(!result->ec);
}

/// Two of three are ready before the third: one refusal would be the end of the only attempt.
BOOST_AUTO_TEST_CASE(the_first_try_of_a_client_waits_for_the_node_that_is_a_moment_late)
{
    scripted_cluster three;
    three[2].expect("INFO", late(info_reply({})));
    three.expect_everywhere("EVAL", reply(canned::marker));
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

/// As for a first try: one that does not confirm would leave no majority.
BOOST_AUTO_TEST_CASE(an_adoption_waits_for_the_node_that_is_a_moment_late)
{
    scripted_cluster three;
    three[2].expect("INFO", late(info_reply({})));
    three.expect_everywhere("EVAL", reply(canned::marker));
    three[0].expect("EVAL", reply(canned::zero));
    three[1].expect("EVAL", reply(canned::one));
    three[2].expect("EVAL", reply(canned::one));
    lease held = fenced_mutex(*three.locks, "lock", unwatched).adopt(std::string(32, 'a'), 5U << 10U);
    auto const result = std::make_shared<outcome>();
    held.extend(keeps_outcome{result});
    run_until(three.context, [&] { return three[0].count("EVAL") == 1 && three[1].count("EVAL") == 1; });
    while (three.context.poll() != 0)
        ;
    BOOST_TEST(!result->done());
    three[2].deliver_late();
    run_until(three.context, [&] { return result->done(); });
    BOOST_TEST(!result->ec);
    BOOST_TEST(!three.surprised());
}

BOOST_AUTO_TEST_CASE(an_extension_that_meets_another_marker_has_the_node_asked_who_it_is)
{
    scripted_cluster three;
    three.expect_everywhere("EVAL", reply(canned::marker));
    three.expect_everywhere("EVAL", reply(":5\r\n"));
    auto const got = three.try_acquire(fenced_mutex(*three.locks, "lock", unwatched));
    run_until(three.context, [&] { return got->granted.votes() == 3; });
    three[2].expect("EVAL", reply("+STRANGER\r\n"));
    BOOST_TEST(!three.extend(got->granted));
    run_until(three.context, [&] { return got->granted.votes() == 2; });
    BOOST_TEST(!three.extend(got->granted));
    run_until(three.context, [&] { return three[2].accepted() == 2 && three[2].count("EVAL") == 4; });
    BOOST_TEST(!three.surprised());
}

BOOST_AUTO_TEST_SUITE_END()

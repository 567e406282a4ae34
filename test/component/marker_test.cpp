// SPDX-License-Identifier: BSL-1.0
#include "component/scripted_cluster.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

/// None of them is what the script answers; the last two would be a quarantine without an end.
std::array<std::string, 5> const inventions{"+OK\r\n", ":0\r\n", "+1700000000000 run:data/0a1b2c3d\r\n",
                                            "+1700000000000 run:data/0a1b2c3d/0/1700000000001\r\n",
                                            "+1700000000000 run:data/0a1b2c3d/9223372036854775807/0\r\n"};

/// A cluster for whose age nobody answers.
struct silent_nodes_fixture : scripted_cluster {
    silent_nodes_fixture()
    {
        config with = defaults();
        with.admission.assume_fresh = false;
        connect_with(with);
    }
};

/// Placed two seconds ago by a client whose user answers for the node.
constexpr std::string_view excused_by_one = "+1700000002000 run:data/0a1b2c3d/0/1700000000000\r\n";

/// Returns two arguments of a client's request for the marker: for how long it has been certain, and "1" if absence
/// proves nothing to it.
std::pair<std::string, std::string> said_of_itself(scripted_node const& node)
{
    auto const asked =
        std::ranges::find(node.heard(), std::string("EVAL"), [](auto const& w) { return w[0]; });
    return {asked->at(6), asked->at(7)};
}

/// The first two have been told this, and that is not enough: it waits for what the third one says late.
void complete_with_third(scripted_cluster& three, std::string const& command, outcome const& result)
{
    run_until(three.context, [&] { return three[0].count(command) == 1 && three[1].count(command) == 1; });
    three.come_to_rest();
    BOOST_TEST(!result.done());
    three[2].deliver_late();
    run_until(three.context, [&] { return result.done(); });
    BOOST_TEST(!result.ec);
    BOOST_TEST(!three.surprised());
}

} // namespace

BOOST_AUTO_TEST_SUITE(markers)

// rule F6
BOOST_DATA_TEST_CASE(malformed_marker_does_not_admit_node, inventions, said)
{
    scripted_cluster three;
    three.warm_up();
    three.expect_everywhere("EVAL", reply(said));
    fenced_mutex lock(*three.locks, "lock", long_lived);
    BOOST_TEST(three.try_acquire(lock)->ec == errc::no_quorum);
    for (node_outcome const& row : lock.last_attempt())
        BOOST_TEST((row.result == node_result::refused));
    // The marker is asked for again, and then believed.
    three.expect_everywhere("EVAL", reply(canned::marker));
    three.expect_everywhere("EVAL", reply(":5\r\n"));
    BOOST_TEST(!three.try_acquire(lock)->ec);
    BOOST_TEST(!three.surprised());
}

/// Two seconds ago, as the server's own clock tells.
// rule F6
BOOST_AUTO_TEST_CASE(young_marker_quarantines_node_for_fenced_locks_only)
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

/// With the young node there would be a majority in ten minutes; with the one that refused, at once.
BOOST_AUTO_TEST_CASE(refused_marker_is_read_again_before_young_marker_counts)
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
// rule F6
BOOST_AUTO_TEST_CASE(first_fenced_try_waits_for_late_node)
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
    complete_with_third(three, "TIME", *result);
}

/// As for a first attempt: a node that does not confirm would leave no majority.
BOOST_AUTO_TEST_CASE(adoption_waits_for_late_node)
{
    scripted_cluster three;
    three[2].expect("INFO", late(info_reply({})));
    three.expect_everywhere("EVAL", reply(canned::marker));
    three[0].expect("EVAL", reply(canned::zero));
    three[1].expect("EVAL", reply(canned::one));
    three[2].expect("EVAL", reply(canned::one));
    lease held = fenced_mutex(*three.locks, "lock", unrenewed).adopt(std::string(32, 'a'), 5U << 10U);
    auto const result = std::make_shared<outcome>();
    held.extend(keeps_outcome{result});
    complete_with_third(three, "EVAL", *result);
}

BOOST_AUTO_TEST_CASE(extension_with_changed_marker_reconnects_node)
{
    scripted_cluster three;
    three.expect_everywhere("EVAL", reply(canned::marker));
    three.expect_everywhere("EVAL", reply(":5\r\n"));
    auto const got = three.try_acquire(fenced_mutex(*three.locks, "lock", unrenewed));
    run_until(three.context, [&] { return got->granted.votes() == 3; });
    three[2].expect("EVAL", reply("+STRANGER\r\n"));
    BOOST_TEST(!three.extend(got->granted));
    run_until(three.context, [&] { return got->granted.votes() == 2; });
    BOOST_TEST(!three.extend(got->granted));
    run_until(three.context, [&] { return three[2].accepted() == 2 && three[2].count("EVAL") == 4; });
    BOOST_TEST(!three.surprised());
}

/// The new marker shows that the node has lost its data: plain locks wait for it, too, however old the marker says it
/// is.
// rule F6
BOOST_AUTO_TEST_CASE(vote_with_changed_marker_quarantines_node_for_all_locks)
{
    scripted_cluster three;
    three.expect_everywhere("EVAL", reply(canned::marker));
    three[2].expect("EVAL", reply("+STRANGER\r\n"));
    auto const got = three.try_acquire(fenced_mutex(*three.locks, "lock", unrenewed));
    auto const behind = three.try_acquire(three.lock("behind"));
    run_until(three.context, [&] { return behind->granted.votes() == 3; });
    three[2].expect("EVAL", reply("+1700000002000 run:data/4e4e4e4e/1600000000000/1600000000000\r\n"));
    BOOST_TEST(!three.extend(got->granted));
    run_until(three.context,
              [&] { return three.locks->node_table().at(2).state == node_state::quarantined; });
    BOOST_TEST(three[2].accepted() == 2U);
    auto plain = three.lock("plain");
    BOOST_TEST(!three.try_acquire(plain)->ec);
    BOOST_TEST((plain.last_attempt().at(2).result == node_result::quarantined));
    BOOST_TEST(!three.surprised());
}

/// Asking the first node for its identity closes its connection. The attempt notices that while it still asks for
/// markers, and ends.
BOOST_AUTO_TEST_CASE(try_acquire_that_fails_while_reading_markers_completes_once)
{
    scripted_cluster three;
    config patient = three.defaults();
    patient.reconnect.min_delay = patient.reconnect.max_delay = 1min;
    three.connect_with(patient);
    three.expect_everywhere("EVAL", reply(canned::marker));
    auto const got = three.try_acquire(fenced_mutex(*three.locks, "lock", unrenewed));
    run_until(three.context, [&] { return got->granted.votes() == 3; });
    three.nodes.pop_back();
    run_until(three.context, [&] { return three.locks->node_table().at(2).state == node_state::down; });
    three[1].expect("EVAL", reply("+STRANGER\r\n"));
    BOOST_TEST(three.extend(got->granted).failed());

    three[1].expect("EVAL", late(canned::oom)); // on its new connection
    auto const result = std::make_shared<outcome>();
    fenced_mutex(*three.locks, "another lock", unrenewed).try_acquire(keeps_outcome{result});
    run_until(three.context, [&] { return three[1].count("EVAL") == 4; });
    three[0].expect("EVALSHA", reply("+STRANGER\r\n"));
    BOOST_TEST(three.extend(got->granted).failed());
    run_until(three.context, [&] { return three[0].done(); });
    BOOST_TEST(!result->done());
    three[1].deliver_late();
    run_until(three.context, [&] { return result->done(); });
    BOOST_TEST((result->ec == errc::no_quorum));
}

// rule F6
BOOST_FIXTURE_TEST_CASE(marker_excused_by_other_setting_counts_as_young, silent_nodes_fixture)
{
    expect_everywhere("EVAL", reply(excused_by_one));
    fenced_mutex wanted(*locks, "lock", long_lived);
    BOOST_TEST(try_acquire(wanted)->ec == errc::no_quorum);
    for (node_outcome const& row : wanted.last_attempt())
        BOOST_TEST((row.result == node_result::quarantined));
    auto const [certain_for, excuses] = said_of_itself(*nodes[0]);
    BOOST_TEST(certain_for != "");
    BOOST_TEST(excuses != "1");
}

// rule F6
BOOST_FIXTURE_TEST_CASE(marker_excused_by_own_setting_is_accepted, scripted_cluster)
{
    expect_everywhere("EVAL", reply(excused_by_one));
    BOOST_TEST(!try_acquire(fenced_mutex(*locks, "lock", long_lived))->ec);
    auto const [certain_for, excuses] = said_of_itself(*nodes[0]);
    BOOST_TEST(certain_for == "");
    BOOST_TEST(excuses == "1");
}

/// An hour ago somebody has met it, and left the marker; it does not tell when it was promoted.
// rule N5
BOOST_FIXTURE_TEST_CASE(old_marker_ends_quarantine_of_promoted_node, silent_nodes_fixture)
{
    std::string run_id = "0000000000000000000000000000000000000001";
    for (auto const& node : nodes) {
        ++run_id.back();
        node->expect("INFO",
                     reply(info_reply({{"run_id", run_id},
                                       {"master_replid2", "000000000000000000000000000000000000000b"}})));
        node->expect("EVAL", reply("+1700000000000 run:data/0a1b2c3d/1699996400000/1699996400000\r\n"));
    }
    BOOST_TEST(!try_acquire(lock("plain"))->ec);
}

BOOST_AUTO_TEST_SUITE_END()

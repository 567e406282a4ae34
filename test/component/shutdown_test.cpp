// SPDX-License-Identifier: BSL-1.0
#include "component/scripted_cluster.hpp"
#include "component/separate_node.hpp"
#include "component/simulated_program.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(shutting_down)

BOOST_FIXTURE_TEST_CASE(shutdown_waits_until_votes_are_undone, separate_node)
{
    auto const acquired = std::make_shared<outcome>();
    auto const shut = std::make_shared<outcome>();
    node.expect("SET", late(canned::ok)); // and all that follows on the connection
    mutex(locks, "lock", long_lived).acquire(keeps_outcome{acquired});
    run_both([&] { return node.count("SET") == 1; });
    locks.shutdown(keeps_outcome{shut});
    run_both([&] { return node.count("EVAL") == 1; });
    while (context.poll() + outside.poll() != 0)
        ;
    BOOST_TEST(acquired->ec == errc::shut_down);
    BOOST_TEST(!shut->done());
    node.deliver_late();
    run_both([&] { return shut->done(); });
    BOOST_TEST(!shut->ec);
}

BOOST_FIXTURE_TEST_CASE(shutdown_fails_if_votes_could_not_be_undone, separate_node)
{
    auto const acquired = std::make_shared<outcome>();
    auto const shut = std::make_shared<outcome>();
    node.expect("SET", late(canned::ok));
    mutex(locks, "lock", long_lived).acquire(keeps_outcome{acquired});
    run_both([&] { return node.count("SET") == 1; });
    node.expect("EVAL", reply(canned::noperm));
    locks.shutdown(keeps_outcome{shut});
    run_both([&] { return node.count("EVAL") == 1; });
    node.deliver_late();
    run_both([&] { return shut->done(); });
    BOOST_TEST(shut->ec == errc::no_quorum);
}

BOOST_FIXTURE_TEST_CASE(shutdown_times_out_and_reports_lingering_key, separate_node)
{
    auto const watcher = std::make_shared<recorder>();
    auto settings = settings_for({node.url()});
    settings.observer = watcher;
    settings.node_timeout = 20ms;
    client watched(context.get_executor(), settings);
    auto const acquired = std::make_shared<outcome>();
    auto const shut = std::make_shared<outcome>();
    node.expect("SET", silence());
    mutex(watched, "lock", long_lived).acquire(keeps_outcome{acquired});
    run_both([&] { return node.count("SET") == 1; });
    watched.shutdown(keeps_outcome{shut});
    run_both([&] { return shut->done(); });
    BOOST_TEST(shut->ec == errc::no_quorum);
    BOOST_TEST(watcher->lingering.size() == 1U);
}

/// Repeated calls do not extend the time limit of the first one.
BOOST_FIXTURE_TEST_CASE(later_shutdown_joins_first_one, separate_node)
{
    auto settings = settings_for({node.url()});
    settings.node_timeout = 300ms;
    settings.health.response_timeout = 10min; // the connection does not end it, either
    client impatient(context.get_executor(), settings);
    auto const acquired = std::make_shared<outcome>();
    node.expect("SET", silence());
    mutex(impatient, "lock", long_lived).acquire(keeps_outcome{acquired});
    run_both([&] { return node.count("SET") == 1; });
    std::vector<std::shared_ptr<outcome>> all;
    run_both([&] {
        all.push_back(std::make_shared<outcome>());
        impatient.shutdown(keeps_outcome{all.back()});
        return all.front()->done();
    });
    run_both([&] { return all.back()->done(); });
    for (auto const& one : all)
        BOOST_TEST(one->ec == errc::no_quorum);
}

/// The third answer is on its way when the release is confirmed, and the connections end before it comes.
BOOST_FIXTURE_TEST_CASE(shutdown_reports_no_lingering_key_of_confirmed_release, simulated_program)
{
    auto const watcher = std::make_shared<recorder>();
    settings.observer = watcher;
    net.between(0, 2).latency = 5ms;
    client locks = program.make_client(settings);
    outcome shut;
    lease held;
    mutex(locks, "lock", long_lived).acquire([&](boost::system::error_code, lease got) {
        held = std::move(got);
    });
    pass(1s);
    held.release([&](boost::system::error_code) { locks.shutdown(keeps_outcome{&shut}); });
    pass(1s);
    BOOST_TEST(shut.done());
    BOOST_TEST(!shut.ec);
    BOOST_TEST(watcher->lingering.empty());
    for (std::size_t n = 0; n != net.size(); ++n)
        BOOST_TEST(net.at(n).redis.keys().all().empty());
}

BOOST_AUTO_TEST_SUITE_END()

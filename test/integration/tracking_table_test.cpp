// SPDX-License-Identifier: BSL-1.0
#include "cluster.hpp"

#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

std::vector<std::string> const tracked{"a", "b", "c", "d"};

/// Servers with a tracking table for one key. If two are tracked, one is always forgotten, which is reported as a
/// change.
struct full_tracking_table_fixture : cluster {
    full_tracking_table_fixture() : cluster(3)
    {
        everywhere({"CONFIG", "SET", "tracking-table-max-keys", "1"});
    }

    void strangers_hold_all()
    {
        for (std::string const& name : tracked)
            everywhere({"SET", name, "stranger"});
    }

    std::vector<std::string> granted;
    std::vector<lease> leases;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(full_tracking_table, full_tracking_table_fixture)

// rule W2
BOOST_AUTO_TEST_CASE(waiters_with_full_tracking_table_are_all_served)
{
    strangers_hold_all();
    run([&]() -> asio::awaitable<void> {
        for (std::string const& name : tracked)
            lock(name).acquire([this, name](error_code ec, lease got) {
                BOOST_TEST(ec == error_code{});
                granted.push_back(name);
                leases.push_back(std::move(got));
            });
        co_await until([&] { return told->count(errc::contended) >= 8; });
        BOOST_TEST(granted.empty()); // word came, and nobody took it for a grant
        for (std::size_t i = 0; i != tracked.size(); ++i) {
            everywhere({"DEL", tracked[i]});
            co_await until([&] { return granted.size() == i + 1; });
            BOOST_TEST(granted.back() == tracked[i]);
        }
    });
}

/// Each registration makes the server forget another, and say so: answered with a question each, that would go on for
/// ever.
// rule W2
BOOST_AUTO_TEST_CASE(waiters_with_full_tracking_table_do_not_wake_each_other_forever)
{
    strangers_hold_all();
    std::size_t ended = 0;
    for (std::string const& name : tracked)
        lock(name, without_polling()).acquire_for(500ms, [&](error_code ec, lease) {
            BOOST_TEST(ec == errc::timed_out);
            ++ended;
        });
    run_until([&] { return ended == tracked.size(); });
    BOOST_TEST(told->attempts.size() < 10 * tracked.size());
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
// Elections on real servers (docs/protocol.md, rules EL1 to EL6).
#include "cluster.hpp"
#include <redlock/election.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

namespace {

std::string const leader_key = "scheduler:redlock-leader";

election of(client& locks, lock_options const& options = long_lived)
{
    return {locks, "scheduler", options};
}

/// Observes an election until the test ends.
struct observing_client {
    explicit observing_client(client& locks) : seat(of(locks)) { look(); }

    void look()
    {
        seat.observe(told.empty() ? leader_info() : told.back(), [this](error_code ec, leader_info now) {
            if (ec)
                return;
            told.push_back(std::move(now));
            look();
        });
    }
    [[nodiscard]] bool knows(std::string const& value) const
    {
        return !told.empty() && !told.back().vacant && told.back().value == value;
    }
    [[nodiscard]] bool knows_nobody() const { return !told.empty() && told.back().vacant; }

    election seat;
    std::vector<leader_info> told{};
};

} // namespace

BOOST_AUTO_TEST_SUITE(elections)

BOOST_AUTO_TEST_CASE(observer_hears_of_leaders_values_and_vacancies)
{
    cluster nodes(3);
    client others(nodes.context.get_executor(), nodes.settings);
    observing_client eye(others);
    nodes.run([&]() -> asio::awaitable<void> {
        election seat = of(*nodes.locks);
        leadership first = co_await seat.campaign("a:1");
        leader_info const found = co_await of(others).leader();
        BOOST_TEST(found.value == "a:1");
        BOOST_TEST(found.term == first.term());
        BOOST_TEST(found.confirmed);
        co_await until([&] { return eye.knows("a:1"); });
        co_await first.proclaim("a:2");
        co_await until([&] { return eye.knows("a:2"); });
        co_await first.resign();
        co_await until([&] { return eye.knows_nobody(); });
        leadership second = co_await seat.campaign("b:1");
        BOOST_TEST(second.term() > first.term());
        co_await until([&] { return eye.knows("b:1"); });
        for (std::size_t i = 0; i != nodes.size(); ++i)
            nodes.ask(i).command({"DEL", leader_key});
        co_await until([&] { return eye.knows_nobody(); });
        co_await second.proclaim("b:2");
        co_await until([&] { return eye.knows("b:2"); });
        co_await second.resign();
        co_await others.shutdown();
    });
    for (std::size_t i = 1; i < eye.told.size(); ++i)
        BOOST_TEST(eye.told[i].term >= eye.told[i - 1].term);
}

/// Nobody but the servers says so.
BOOST_AUTO_TEST_CASE(observer_hears_that_a_leaders_keys_have_expired)
{
    cluster nodes(3);
    client others(nodes.context.get_executor(), nodes.settings);
    observing_client eye(others);
    nodes.run([&]() -> asio::awaitable<void> {
        for (std::size_t i = 0; i != nodes.size(); ++i)
            nodes.ask(i).command({"SET", leader_key, "2048 1 gone", "PX", "200"});
        co_await until([&] { return eye.knows("gone"); });
        co_await until([&] { return eye.knows_nobody(); });
        BOOST_TEST(eye.told.back().term == 2048U);
        co_await others.shutdown();
    });
}

BOOST_AUTO_TEST_CASE(next_position_leads_when_the_leader_resigns)
{
    cluster nodes(3);
    client others(nodes.context.get_executor(), nodes.settings);
    nodes.run([&]() -> asio::awaitable<void> {
        election seat = of(*nodes.locks);
        leadership first = co_await seat.campaign("a");
        leadership second;
        of(others).campaign("b", [&](error_code, leadership won) { second = std::move(won); });
        co_await until([&] {
            return nodes.ask(0).exists("scheduler:redlock-queue") ||
                   nodes.ask(1).exists("scheduler:redlock-queue") ||
                   nodes.ask(2).exists("scheduler:redlock-queue");
        });
        co_await first.resign();
        co_await until([&] { return second.valid(); });
        BOOST_TEST(second.term() > first.term());
        leader_info const found = co_await seat.leader();
        BOOST_TEST(found.value == "b");
        co_await second.resign();
        for (std::size_t i = 0; i != nodes.size(); ++i)
            co_await until([&] { return !nodes.ask(i).exists(leader_key); });
        co_await others.shutdown();
    });
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "engine/attempt_table.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;

namespace {

using results = std::vector<node_result>;

struct last_attempt_fixture {
    std::vector<std::string> const nodes{"a", "b", "c"};
    std::mutex mutable guard;
    detail::attempt_table seat;
    std::vector<detail::node_report> rows{nodes.size()};

    void say(results const& said)
    {
        rows.resize(said.size());
        for (std::size_t i = 0; i != said.size(); ++i) {
            rows[i] = {};
            rows[i].result = said[i];
            rows[i].round_trip_us = 7;
        }
    }
    void win(results const& said)
    {
        say(said);
        seat.publish_success(guard, rows);
    }
    void lose(results const& said)
    {
        say(said);
        seat.publish(guard, rows);
    }
    [[nodiscard]] results shown() const
    {
        results all_results;
        for (auto const& row : seat.outcomes(guard, nodes))
            all_results.push_back(row.result);
        return all_results;
    }
};

constexpr auto granted = node_result::granted;
constexpr auto pending = node_result::pending;
constexpr auto elsewhere = node_result::held_by_other;

} // namespace

BOOST_FIXTURE_TEST_SUITE(last_attempt, last_attempt_fixture)

BOOST_AUTO_TEST_CASE(last_attempt_is_empty_before_first_attempt)
{
    BOOST_TEST(seat.outcomes(guard, nodes).empty());
}

BOOST_AUTO_TEST_CASE(last_attempt_that_won_names_granting_nodes)
{
    win({granted, pending, granted});
    BOOST_TEST((shown() == results{granted, pending, granted}));
    BOOST_TEST(seat.outcomes(guard, nodes)[2].node == "c");
}

BOOST_AUTO_TEST_CASE(last_attempt_that_won_replaces_one_that_lost)
{
    lose({granted, elsewhere, elsewhere});
    BOOST_TEST((shown() == results{granted, elsewhere, elsewhere}));
    win({granted, granted, pending});
    BOOST_TEST((shown() == results{granted, granted, pending}));
}

BOOST_AUTO_TEST_CASE(last_attempt_that_lost_replaces_one_that_won)
{
    win({granted, granted, granted});
    lose({elsewhere, elsewhere, pending});
    BOOST_TEST((shown() == results{elsewhere, elsewhere, pending}));
}

BOOST_AUTO_TEST_CASE(last_attempt_that_won_shows_denied_vote)
{
    win({granted, elsewhere, granted});
    BOOST_TEST((shown() == results{granted, elsewhere, granted}));
    BOOST_TEST((seat.outcomes(guard, nodes)[1].round_trip == 7us));
}

/// Granted everywhere, but too late: how long each node took is what there is to tell.
BOOST_AUTO_TEST_CASE(last_attempt_that_was_too_slow_shows_round_trips)
{
    lose({granted, granted, granted});
    BOOST_TEST(std::ranges::all_of(seat.outcomes(guard, nodes),
                                   [](auto const& row) { return row.round_trip == 7us; }));
}

BOOST_AUTO_TEST_CASE(last_attempt_is_updated_with_new_holder)
{
    win({granted, granted, pending});
    seat.note_holder(guard, 2, 3, {.left = 5s});
    BOOST_TEST((shown() == results{granted, granted, elsewhere}));
    BOOST_TEST((seat.outcomes(guard, nodes)[2].remaining == 5000ms));
}

BOOST_AUTO_TEST_CASE(last_attempt_is_not_changed_by_empty_observation)
{
    win({granted, granted, pending});
    seat.note_holder(guard, 2, 3, {});
    BOOST_TEST((shown() == results{granted, granted, pending}));
}

BOOST_AUTO_TEST_SUITE_END()

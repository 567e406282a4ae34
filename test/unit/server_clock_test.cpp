// SPDX-License-Identifier: BSL-1.0
#include "core/server_clock.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <vector>

using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

constexpr duration memory = 11s;
constexpr duration date = 500'000h;

constexpr instant at(duration since_start)
{
    return instant{1h, 2h} + since_start;
}

std::int64_t us(duration d)
{
    return std::chrono::duration_cast<std::chrono::microseconds>(d).count();
}

/// One answer: asked and heard at these times of our clock, with the server's clock this far ahead of the date.
struct answer {
    duration sent;
    duration received;
    duration theirs;
    duration forward; ///< the known sum of the steps
};

void tells(std::vector<answer> const& answers)
{
    server_clock clock;
    for (std::size_t i = 0; i != answers.size(); ++i) {
        answer const& a = answers[i];
        duration const forward = clock.observe(date + a.theirs, at(a.sent), at(a.received), memory);
        BOOST_TEST(us(forward) == us(a.forward), "answer " << i << ": " << us(forward) << " us");
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_clock_steps)

BOOST_AUTO_TEST_CASE(server_clock_in_step_with_client_shows_no_step)
{
    tells({{0s, 1ms, 0s, 0s}, {2s, 2001ms, 2s, 0s}, {4s, 4001ms, 4s, 0s}, {1h, 1h + 1ms, 1h, 0s}});
}

// rule N7
BOOST_AUTO_TEST_CASE(server_clock_set_forward_is_noticed)
{
    // Two seconds passed. One percent of them may be drift: 20 ms; and one more for a clock that is read early.
    tells({{0s, 0s, 0s, 0s}, {2s, 2s, 22s, 20s - 21ms}});
    tells({{0s, 0s, 0s, 0s}, {0s, 0s, 50ms, 49ms}});
}

BOOST_AUTO_TEST_CASE(server_clock_step_is_counted_once)
{
    tells({{0s, 0s, 0s, 0s}, {1s, 1s, 6s, 4989ms}, {2s, 2s, 7s, 4989ms}, {3s, 3s, 8s, 4989ms}});
}

// rule N7
BOOST_AUTO_TEST_CASE(server_clock_may_have_been_read_anywhere_in_round_trip)
{
    // Read at once and at the last moment: five seconds passed on both, although the questions lie two seconds apart.
    tells({{0s, 1s, 0s, 0s}, {2s, 5s, 5s, 0s}});
    // Half a second more is a step, whenever it was read.
    tells({{0s, 1s, 0s, 0s}, {2s, 5s, 5s + 500ms, 449ms}});
}

BOOST_AUTO_TEST_CASE(server_clock_step_is_noticed_by_quick_answer_after_slow_one)
{
    // The second answer alone would allow for all of its own three seconds.
    tells({{0s, 0s, 0s, 0s}, {1s, 4s, 4s, 0s}, {5s, 5s, 8s, 2949ms}});
}

BOOST_AUTO_TEST_CASE(server_clock_drift_within_bound_is_no_step)
{
    std::vector<answer> answers;
    for (int i = 0; i != 1000; ++i)
        answers.push_back({i * 2s, i * 2s, i * 2020ms, 0s}); // as fast as is allowed for
    tells(answers);
    tells({{0s, 0s, 0s, 0s}, {10s, 10s, 10200ms, 99ms}}); // 200 ms ahead: more than that
}

BOOST_AUTO_TEST_CASE(server_clock_may_be_read_a_millisecond_early)
{
    tells({{0s, 0s, 0s, 0s}, {0s, 0s, 1ms, 0s}, {0s, 0s, 1200us, 200us}});
}

// rule N7
BOOST_AUTO_TEST_CASE(server_clock_that_ran_during_suspension_shows_no_step)
{
    server_clock clock;
    BOOST_TEST(us(clock.observe(date, {1h, 2h}, {1h, 2h}, memory)) == 0);
    BOOST_TEST(us(clock.observe(date + 3h, {4h, 2h + 1s}, {4h, 2h + 1s}, memory)) == 0);
}

BOOST_AUTO_TEST_CASE(server_clock_set_back_is_measured_anew)
{
    tells({{0s, 0s, 0s, 0s}, {1s, 1s, -19s, 0s}, {2s, 2s, -18s, 0s}});
    // Back to where it was is a step forward for the keys that were set meanwhile.
    tells({{0s, 0s, 0s, 0s}, {1s, 1s, -19s, 0s}, {2s, 2s, 2s, 19989ms}});
}

// rule N7
BOOST_AUTO_TEST_CASE(server_clock_steps_add_up_while_one_key_lives)
{
    tells({{0s, 0s, 0s, 0s},
           {1s, 1s, 1031ms, 20ms},
           {2s, 2s, 2062ms, 40ms},
           {12s, 12s, 12062ms, 40ms},
           {13s, 13s, 13062ms, 20ms}, // a key set after the first step
           {14s, 14s, 14062ms, 0s}});
}

BOOST_AUTO_TEST_CASE(server_clock_steps_are_forgotten_when_settled)
{
    server_clock clock;
    (void)clock.observe(date, at(0s), at(0s), memory);
    BOOST_TEST(us(clock.observe(date + 31ms, at(0s), at(0s), memory)) == us(30ms));
    clock.settle();
    BOOST_TEST(us(clock.observe(date + 62ms, at(0s), at(0s), memory)) == us(30ms));
}

BOOST_AUTO_TEST_CASE(server_clock_keeps_bounded_number_of_steps_and_their_sum)
{
    server_clock clock;
    (void)clock.observe(date, at(0s), at(0s), 1h);
    constexpr int steps = 2 * static_cast<int>(server_clock::most_steps);
    duration forward{};
    for (int i = 1; i <= steps; ++i)
        forward = clock.observe(date + i * 1s + i * 21ms, at(i * 1s), at(i * 1s), 1h);
    BOOST_TEST(us(forward) == us(steps * 10ms));
    // The oldest of them went together with the first that was kept.
    instant const later = at(65s + 1h);
    BOOST_TEST(us(clock.observe(date, later, later, 1h)) == us(steps * 10ms));
    BOOST_TEST(us(clock.observe(date, later + 1s, later + 1s, 1h)) == us(63 * 10ms));
}

BOOST_AUTO_TEST_SUITE_END()

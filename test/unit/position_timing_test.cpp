// SPDX-License-Identifier: BSL-1.0
#include "core/position_timing.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

constexpr instant t{100s, 100s};

position_timing positioned(std::uint64_t before, duration left)
{
    position_timing timing(50ms);
    timing.asked(t);
    timing.positioned(before, left, 48h, t);
    return timing;
}

} // namespace

BOOST_AUTO_TEST_SUITE(position_timings)

BOOST_AUTO_TEST_CASE(answer_is_waited_for_as_long_as_the_window)
{
    position_timing timing(50ms);
    timing.asked(t);
    BOOST_TEST(timing.awaits_answer());
    BOOST_TEST((timing.due() == t + 50ms));
}

// rule Q13
BOOST_AUTO_TEST_CASE(first_asks_when_key_is_gone)
{
    auto const timing = positioned(0, 700ms);
    BOOST_TEST(!timing.awaits_answer());
    BOOST_TEST((timing.due() == t + 702ms));
}

// rule Q13
BOOST_AUTO_TEST_CASE(later_positions_let_earlier_ones_ask_first)
{
    BOOST_TEST((positioned(1, 700ms).due() == t + 704ms));
    BOOST_TEST((positioned(9, 700ms).due() == t + 720ms));
}

// rule Q1
BOOST_AUTO_TEST_CASE(position_is_refreshed_before_queue_is_forgotten)
{
    BOOST_TEST((positioned(0, 24h).due() == t + 20s));
    BOOST_TEST((positioned(std::uint64_t{1} << 42U, 1ms).due() == t + 20s));
}

// rule Q13
BOOST_AUTO_TEST_CASE(new_first_position_asks_when_next_owner_should_have_claimed)
{
    auto timing = positioned(3, 10s);
    timing.became_first(t + 1s, 50ms);
    BOOST_TEST(timing.before() == 0U);
    BOOST_TEST((timing.due() == t + 1050ms));
}

// rule Q13
BOOST_AUTO_TEST_CASE(new_first_position_never_asks_later_than_before)
{
    auto timing = positioned(0, 10ms);
    timing.became_first(t, 50ms);
    BOOST_TEST((timing.due() == t + 12ms));
}

// rule Q13
BOOST_AUTO_TEST_CASE(new_first_position_still_waits_for_answer)
{
    position_timing timing(50ms);
    timing.asked(t);
    timing.became_first(t, 10ms);
    BOOST_TEST(timing.awaits_answer());
    BOOST_TEST((timing.due() == t + 50ms));
}

// rule Q13
BOOST_AUTO_TEST_CASE(first_asks_when_key_changes)
{
    auto first = positioned(0, 10s);
    first.key_changed(t + 1s);
    BOOST_TEST((first.due() == t + 1s));
}

// rule Q13
BOOST_AUTO_TEST_CASE(later_positions_give_earlier_ones_time_when_key_changes)
{
    auto third = positioned(2, 10s);
    third.key_changed(t + 1s);
    BOOST_TEST((third.due() == t + 1075ms));
    third.key_changed(
        t + 1050ms); // the position after the next owner is first: the third waits no longer for that
    BOOST_TEST((third.due() == t + 1075ms));
}

// rule Q13
BOOST_AUTO_TEST_CASE(nobody_asks_later_because_key_changes)
{
    auto third = positioned(2, 10ms);
    third.key_changed(t);
    BOOST_TEST((third.due() == t + 16ms));
}

/// The key's owner may be gone, and the other nodes free.
// rule Q13
BOOST_AUTO_TEST_CASE(key_that_outlives_ours_is_doubted_after_lifetime_of_ours)
{
    position_timing timing(50ms);
    timing.asked(t);
    timing.positioned(0, 10min, 11s, t);
    BOOST_TEST((timing.due() == t + 11s));
    BOOST_TEST(!timing.doubtful(t + 10s));
    BOOST_TEST(timing.doubtful(t + 11s));
    timing.positioned(0, 9min, 11s, t + 5s); // asked again meanwhile: it still stands
    BOOST_TEST(timing.doubtful(t + 11s));
    timing.key_changed(t + 6s);
    BOOST_TEST(!timing.doubtful(t + 11s));
}

// rule Q13
BOOST_AUTO_TEST_CASE(position_that_doubted_in_vain_doubts_again_as_late)
{
    position_timing timing(50ms);
    timing.positioned(0, 10min, 11s, t);
    timing.doubted(11s, t + 11s);
    timing.asked(t + 11s);
    timing.positioned(0, 10min, 11s, t + 11s);
    BOOST_TEST(!timing.doubtful(t + 21s));
    BOOST_TEST(timing.doubtful(t + 22s));
    BOOST_TEST((timing.due() == t + 22s));
}

// rule Q13
BOOST_AUTO_TEST_CASE(only_first_position_doubts)
{
    position_timing timing(50ms);
    timing.positioned(1, 10min, 11s, t);
    BOOST_TEST((timing.due() == t + 20s));
    BOOST_TEST(!timing.doubtful(t + 11s));
}

// rule Q13
BOOST_AUTO_TEST_CASE(key_that_goes_in_time_is_not_doubted)
{
    position_timing timing(50ms);
    timing.positioned(0, 10min, 11s, t);
    timing.positioned(0, 11s, 11s, t + 1s);
    BOOST_TEST(!timing.doubtful(t + 12s));
}

BOOST_AUTO_TEST_CASE(change_does_not_end_wait_for_answer)
{
    position_timing timing(50ms);
    timing.asked(t);
    timing.key_changed(t);
    BOOST_TEST((timing.due() == t + 50ms));
}

/// The question was sent before the change.
BOOST_AUTO_TEST_CASE(answer_that_a_change_has_overtaken_is_asked_for_again)
{
    position_timing timing(50ms);
    timing.asked(t);
    timing.key_changed(t);
    timing.positioned(0, 10s, 48h, t + 1ms);
    BOOST_TEST((timing.due() == t + 1ms));
    timing.asked(t + 1ms);
    timing.positioned(0, 10s, 48h, t + 2ms);
    BOOST_TEST((timing.due() == t + 10s + 4ms));
}

/// The next push reports the change: only the first waiter asks for it.
// rule Q13
BOOST_AUTO_TEST_CASE(later_position_asks_no_sooner_for_a_change_that_overtakes_its_answer)
{
    position_timing timing(50ms);
    timing.asked(t);
    timing.key_changed(t);
    timing.positioned(2, 10s, 48h, t + 1ms);
    BOOST_TEST((timing.due() == t + 76ms));
}

// rule Q13
BOOST_AUTO_TEST_CASE(answer_to_second_question_tells_of_new_position)
{
    auto timing = positioned(5, 1s);
    timing.asked(t + 1s);
    BOOST_TEST(timing.awaits_answer());
    timing.positioned(2, 500ms, 48h, t + 2s);
    BOOST_TEST(!timing.awaits_answer());
    BOOST_TEST(timing.before() == 2U);
    BOOST_TEST((timing.due() == t + 2506ms));
}

// rule Q19
BOOST_AUTO_TEST_CASE(lock_that_is_left_free_is_asked_for_later)
{
    auto first = positioned(0, 10s);
    first.left_free(t + 4ms);
    BOOST_TEST((first.due() == t + 4ms));
    first.key_changed(t + 1ms); // the key is free, or has another owner
    BOOST_TEST((first.due() == t + 4ms));
    first.key_changed(t + 5ms);
    BOOST_TEST((first.due() == t + 4ms));
}

// rule Q19
BOOST_AUTO_TEST_CASE(lock_that_is_left_free_amid_question_is_asked_for_again_later)
{
    position_timing timing(50ms);
    timing.asked(t);
    timing.left_free(t + 4ms);
    BOOST_TEST((timing.due() == t + 50ms));
    timing.positioned(0, 10s, 48h, t + 1ms); // an answer from before
    BOOST_TEST((timing.due() == t + 4ms));
}

// rule Q13
BOOST_AUTO_TEST_CASE(new_first_position_doubts_as_the_earlier_first_one)
{
    position_timing timing(50ms);
    timing.asked(t);
    timing.positioned(1, 1h, 11s, t);
    timing.became_first(t + 5s, 1h);
    BOOST_TEST((timing.due() == t + 11s));
    BOOST_TEST(timing.doubtful(t + 11s));
}

BOOST_AUTO_TEST_CASE(lock_left_free_is_doubted_anew)
{
    instant const t0 = instant{} + 100s;
    position_timing timing(50ms);
    timing.asked(t0);
    timing.positioned(0, 60s, 11s, t0);
    timing.left_free(t0 + 3s);
    timing.asked(t0 + 3s);
    timing.positioned(0, 60s, 11s, t0 + 4s);
    BOOST_TEST(!timing.doubtful(t0 + 12s));
    BOOST_TEST(timing.doubtful(t0 + 15s));
}

// rule Q18
BOOST_AUTO_TEST_CASE(first_that_polls_asks_often)
{
    position_timing timing(50ms, 5ms, t);
    timing.positioned(0, 10s, 48h, t);
    BOOST_TEST((timing.due() == t + 5ms));
    timing.positioned(0, 10s, 48h, t + 1h);
    BOOST_TEST((timing.due() == t + 1h + 5ms));
    timing.positioned(0, 1ms, 48h, t + 1h);
    BOOST_TEST((timing.due() == t + 1h + 3ms));
}

/// Two of four have passed in 20 ms.
// rule Q18
BOOST_AUTO_TEST_CASE(later_positions_that_poll_ask_after_half_of_the_expected_wait)
{
    position_timing timing(50ms, 5ms, t);
    timing.positioned(4, 10s, 48h, t);
    BOOST_TEST((timing.due() == t + 5ms));
    timing.positioned(2, 10s, 48h, t + 20ms);
    BOOST_TEST((timing.due() == t + 30ms));
    timing.positioned(1, 10s, 48h, t + 90ms);
    BOOST_TEST((timing.due() == t + 105ms));
    timing.positioned(0, 10s, 48h, t + 90ms);
    BOOST_TEST((timing.due() == t + 95ms));
}

/// After a second without a question, scripts take it for dead.
// rule Q18
BOOST_AUTO_TEST_CASE(polling_position_asks_in_time)
{
    for (std::uint64_t const before : {std::uint64_t{0}, std::uint64_t{9}, std::uint64_t{1} << 42U}) {
        position_timing timing(50ms, 10s, t);
        timing.positioned(before, 24h, 48h, t);
        BOOST_TEST((timing.due() == t + 200ms));
        timing.positioned(before, 24h, 48h, t + 24h);
        BOOST_TEST((timing.due() == t + 24h + 200ms));
    }
}

// rule Q18
BOOST_AUTO_TEST_CASE(first_that_polls_doubts_too)
{
    position_timing timing(50ms, 5ms, t);
    timing.positioned(0, 60s, 11s, t);
    BOOST_TEST(!timing.doubtful(t + 10s));
    BOOST_TEST(timing.doubtful(t + 11s));
}

BOOST_AUTO_TEST_SUITE_END()

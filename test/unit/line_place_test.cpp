// SPDX-License-Identifier: BSL-1.0
#include "core/line_place.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace redlock::core;
using namespace std::chrono_literals;

namespace {

constexpr instant t{100s, 100s};

line_place placed(std::uint64_t before, duration left)
{
    line_place place(50ms);
    place.asked(t);
    place.placed(before, left, 48h, t);
    return place;
}

} // namespace

BOOST_AUTO_TEST_SUITE(line_places)

BOOST_AUTO_TEST_CASE(answer_is_waited_for_as_long_as_patience)
{
    line_place place(50ms);
    place.asked(t);
    BOOST_TEST(place.silent());
    BOOST_TEST((place.due() == t + 50ms));
}

// rule Q13
BOOST_AUTO_TEST_CASE(first_asks_when_key_is_gone)
{
    auto const place = placed(0, 700ms);
    BOOST_TEST(!place.silent());
    BOOST_TEST((place.due() == t + 702ms));
}

// rule Q13
BOOST_AUTO_TEST_CASE(others_let_those_before_them_ask_first)
{
    BOOST_TEST((placed(1, 700ms).due() == t + 704ms));
    BOOST_TEST((placed(9, 700ms).due() == t + 720ms));
}

// rule Q1
BOOST_AUTO_TEST_CASE(place_is_refreshed_before_line_is_forgotten)
{
    BOOST_TEST((placed(0, 24h).due() == t + 20s));
    BOOST_TEST((placed(std::uint64_t{1} << 42U, 1ms).due() == t + 20s));
}

// rule Q13
BOOST_AUTO_TEST_CASE(who_becomes_first_asks_when_heir_should_have_claimed)
{
    auto place = placed(3, 10s);
    place.became_first(t + 1s, 50ms);
    BOOST_TEST(place.before() == 0U);
    BOOST_TEST((place.due() == t + 1050ms));
}

// rule Q13
BOOST_AUTO_TEST_CASE(who_becomes_first_never_asks_later_than_before)
{
    auto place = placed(0, 10ms);
    place.became_first(t, 50ms);
    BOOST_TEST((place.due() == t + 12ms));
}

// rule Q13
BOOST_AUTO_TEST_CASE(who_becomes_first_still_waits_for_answer)
{
    line_place place(50ms);
    place.asked(t);
    place.became_first(t, 10ms);
    BOOST_TEST(place.silent());
    BOOST_TEST((place.due() == t + 50ms));
}

// rule Q13
BOOST_AUTO_TEST_CASE(first_asks_when_key_changes)
{
    auto first = placed(0, 10s);
    first.key_changed(t + 1s);
    BOOST_TEST((first.due() == t + 1s));
}

// rule Q13
BOOST_AUTO_TEST_CASE(others_give_those_before_them_time_when_key_changes)
{
    auto third = placed(2, 10s);
    third.key_changed(t + 1s);
    BOOST_TEST((third.due() == t + 1075ms));
    third.key_changed(t + 1050ms); // the one after the heir has it: the third waits no longer for that
    BOOST_TEST((third.due() == t + 1075ms));
}

// rule Q13
BOOST_AUTO_TEST_CASE(nobody_asks_later_because_key_changes)
{
    auto third = placed(2, 10ms);
    third.key_changed(t);
    BOOST_TEST((third.due() == t + 16ms));
}

/// The key's owner may be gone, and the other nodes free.
// rule Q13
BOOST_AUTO_TEST_CASE(key_that_outlives_ours_is_doubted_after_lifetime_of_ours)
{
    line_place place(50ms);
    place.asked(t);
    place.placed(0, 10min, 11s, t);
    BOOST_TEST((place.due() == t + 11s));
    BOOST_TEST(!place.doubtful(t + 10s));
    BOOST_TEST(place.doubtful(t + 11s));
    place.placed(0, 9min, 11s, t + 5s); // asked again meanwhile: it still stands
    BOOST_TEST(place.doubtful(t + 11s));
    place.key_changed(t + 6s);
    BOOST_TEST(!place.doubtful(t + 11s));
}

// rule Q13
BOOST_AUTO_TEST_CASE(who_doubted_in_vain_doubts_again_as_late)
{
    line_place place(50ms);
    place.placed(0, 10min, 11s, t);
    place.doubted(11s, t + 11s);
    place.asked(t + 11s);
    place.placed(0, 10min, 11s, t + 11s);
    BOOST_TEST(!place.doubtful(t + 21s));
    BOOST_TEST(place.doubtful(t + 22s));
    BOOST_TEST((place.due() == t + 22s));
}

// rule Q13
BOOST_AUTO_TEST_CASE(only_first_in_line_doubts)
{
    line_place place(50ms);
    place.placed(1, 10min, 11s, t);
    BOOST_TEST((place.due() == t + 20s));
    BOOST_TEST(!place.doubtful(t + 11s));
}

// rule Q13
BOOST_AUTO_TEST_CASE(key_that_goes_in_time_is_not_doubted)
{
    line_place place(50ms);
    place.placed(0, 10min, 11s, t);
    place.placed(0, 11s, 11s, t + 1s);
    BOOST_TEST(!place.doubtful(t + 12s));
}

BOOST_AUTO_TEST_CASE(change_does_not_end_wait_for_answer)
{
    line_place place(50ms);
    place.asked(t);
    place.key_changed(t);
    BOOST_TEST((place.due() == t + 50ms));
}

/// The question was sent before the change.
BOOST_AUTO_TEST_CASE(answer_that_a_change_has_overtaken_is_asked_for_again)
{
    line_place place(50ms);
    place.asked(t);
    place.key_changed(t);
    place.placed(0, 10s, 48h, t + 1ms);
    BOOST_TEST((place.due() == t + 1ms));
    place.asked(t + 1ms);
    place.placed(0, 10s, 48h, t + 2ms);
    BOOST_TEST((place.due() == t + 10s + 4ms));
}

/// The next push reports the change: only the first waiter asks for it.
// rule Q13
BOOST_AUTO_TEST_CASE(who_is_not_first_asks_no_sooner_for_a_change_that_overtakes_his_answer)
{
    line_place place(50ms);
    place.asked(t);
    place.key_changed(t);
    place.placed(2, 10s, 48h, t + 1ms);
    BOOST_TEST((place.due() == t + 76ms));
}

// rule Q13
BOOST_AUTO_TEST_CASE(answer_to_second_question_tells_of_new_place)
{
    auto place = placed(5, 1s);
    place.asked(t + 1s);
    BOOST_TEST(place.silent());
    place.placed(2, 500ms, 48h, t + 2s);
    BOOST_TEST(!place.silent());
    BOOST_TEST(place.before() == 2U);
    BOOST_TEST((place.due() == t + 2506ms));
}

// rule Q19
BOOST_AUTO_TEST_CASE(lock_that_is_left_free_is_asked_for_later)
{
    auto first = placed(0, 10s);
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
    line_place place(50ms);
    place.asked(t);
    place.left_free(t + 4ms);
    BOOST_TEST((place.due() == t + 50ms));
    place.placed(0, 10s, 48h, t + 1ms); // an answer from before
    BOOST_TEST((place.due() == t + 4ms));
}

// rule Q13
BOOST_AUTO_TEST_CASE(who_becomes_first_doubts_as_who_was_first)
{
    line_place place(50ms);
    place.asked(t);
    place.placed(1, 1h, 11s, t);
    place.became_first(t + 5s, 1h);
    BOOST_TEST((place.due() == t + 11s));
    BOOST_TEST(place.doubtful(t + 11s));
}

BOOST_AUTO_TEST_CASE(lock_left_free_is_doubted_anew)
{
    instant const t0 = instant{} + 100s;
    line_place place(50ms);
    place.asked(t0);
    place.placed(0, 60s, 11s, t0);
    place.left_free(t0 + 3s);
    place.asked(t0 + 3s);
    place.placed(0, 60s, 11s, t0 + 4s);
    BOOST_TEST(!place.doubtful(t0 + 12s));
    BOOST_TEST(place.doubtful(t0 + 15s));
}

// rule Q18
BOOST_AUTO_TEST_CASE(first_that_polls_asks_often)
{
    line_place place(50ms, 5ms, t);
    place.placed(0, 10s, 48h, t);
    BOOST_TEST((place.due() == t + 5ms));
    place.placed(0, 10s, 48h, t + 1h);
    BOOST_TEST((place.due() == t + 1h + 5ms));
    place.placed(0, 1ms, 48h, t + 1h);
    BOOST_TEST((place.due() == t + 1h + 3ms));
}

/// Two of four have passed in 20 ms.
// rule Q18
BOOST_AUTO_TEST_CASE(others_that_poll_ask_after_half_of_the_expected_wait)
{
    line_place place(50ms, 5ms, t);
    place.placed(4, 10s, 48h, t);
    BOOST_TEST((place.due() == t + 5ms));
    place.placed(2, 10s, 48h, t + 20ms);
    BOOST_TEST((place.due() == t + 30ms));
    place.placed(1, 10s, 48h, t + 90ms);
    BOOST_TEST((place.due() == t + 105ms));
    place.placed(0, 10s, 48h, t + 90ms);
    BOOST_TEST((place.due() == t + 95ms));
}

/// After a second without a question, scripts take it for dead.
// rule Q18
BOOST_AUTO_TEST_CASE(who_polls_asks_in_time)
{
    for (std::uint64_t const before : {std::uint64_t{0}, std::uint64_t{9}, std::uint64_t{1} << 42U}) {
        line_place place(50ms, 10s, t);
        place.placed(before, 24h, 48h, t);
        BOOST_TEST((place.due() == t + 200ms));
        place.placed(before, 24h, 48h, t + 24h);
        BOOST_TEST((place.due() == t + 24h + 200ms));
    }
}

// rule Q18
BOOST_AUTO_TEST_CASE(first_that_polls_doubts_too)
{
    line_place place(50ms, 5ms, t);
    place.placed(0, 60s, 11s, t);
    BOOST_TEST(!place.doubtful(t + 10s));
    BOOST_TEST(place.doubtful(t + 11s));
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: BSL-1.0
#include "core/permit_choice.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock::core;
using step = permit_choice::step;

namespace {

struct choice_of_three : permit_choice {
    choice_of_three() : permit_choice(3, 15) {}
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(permit_choices, choice_of_three)

// rule Q14
BOOST_AUTO_TEST_CASE(set_of_the_queue_node_counts)
{
    ask_for_any(1);
    gave(0, "4", 7);
    BOOST_TEST((next(0) == step::nothing));
    BOOST_TEST(!decided());
    gave(1, "5", 8);
    BOOST_TEST(set() == "5");
    BOOST_TEST((next(1) == step::count));
    BOOST_TEST(number(1) == 8U);
    BOOST_TEST((next(1) == step::nothing)); // once
    gave(2, "5", 9);
    BOOST_TEST((next(2) == step::count));
}

// rule P4
BOOST_AUTO_TEST_CASE(node_that_gave_another_set_is_asked_for_exactly_this_one)
{
    ask_for_any(1);
    gave(0, "4", 7);
    gave(1, "5", 8);
    BOOST_TEST((next(0) == step::ask_exactly));
    BOOST_TEST(given_by(0) == "4");
    BOOST_TEST((next(0) == step::nothing));
    gave(0, "5", 11);
    BOOST_TEST((next(0) == step::count));
    BOOST_TEST(number(0) == 11U);
    BOOST_TEST(given_by(0) == "4"); // the permits to free
}

// rule Q14
BOOST_AUTO_TEST_CASE(another_set_after_the_question_does_not_count)
{
    ask_for_any(1);
    gave(0, "4", 7);
    gave(1, "5", 8);
    (void)next(0);
    gave(0, "4", 7);
    BOOST_TEST((next(0) == step::fail));
}

BOOST_AUTO_TEST_CASE(first_answer_chooses_if_the_queue_node_is_silent)
{
    ask_for_any(1);
    gave(2, "4 6", 0);
    BOOST_TEST(!is_awaited());
    gave(0, "5 6", 0);
    BOOST_TEST(is_awaited());
    BOOST_TEST((chooser() == 1U));
    stop_awaiting_chooser();
    BOOST_TEST(!chooser());
    BOOST_TEST(!is_awaited());
    BOOST_TEST(set() == "4 6");
    BOOST_TEST((next(2) == step::count));
    BOOST_TEST((next(0) == step::ask_exactly));
    gave(1, "1 2", 0); // it comes too late
    BOOST_TEST(set() == "4 6");
    BOOST_TEST((next(1) == step::ask_exactly));
}

BOOST_AUTO_TEST_CASE(first_answer_chooses_if_there_is_no_queue_node)
{
    ask_for_any({});
    gave(2, "4", 0);
    BOOST_TEST((next(2) == step::count));
}

BOOST_AUTO_TEST_CASE(next_answer_chooses_if_the_queue_node_failed_before_all_others)
{
    ask_for_any(1);
    stop_awaiting_chooser();
    BOOST_TEST(!decided());
    gave(2, "4", 0);
    BOOST_TEST(set() == "4");
}

BOOST_AUTO_TEST_CASE(claim_counts_answers_with_its_set_only)
{
    claim("3");
    gave(0, "3", 0);
    BOOST_TEST((next(0) == step::count));
    gave(1, "4", 0);
    BOOST_TEST((next(1) == step::fail));
}

BOOST_AUTO_TEST_SUITE_END()

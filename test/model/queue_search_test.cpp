// SPDX-License-Identifier: BSL-1.0
#include "model/queue_scopes.hpp"
#include "model/queue_steps.hpp"
#include "model/schedules.hpp"
#include "model/search.hpp"
#include "model/settings.hpp"

#include <boost/test/unit_test.hpp>

#include <iostream>
#include <span>

namespace redlock::model {

namespace {

void search_all(std::span<queue_scope const* const> scopes)
{
    for (queue_scope const* s : scopes) {
        auto const found = breadth_first<queue_steps>(*s).run();
        std::cout << s->name << ": " << found.states << " states, " << found.transitions
                  << " transitions, depth " << found.depth
                  << (found.complete ? ", complete, " : ", broken off, ") << found.took.count() << " ms"
                  << std::endl;
        BOOST_TEST(found.flaw == nullptr, s->name << ":\n" << found.trace);
        BOOST_TEST(found.complete, s->name);
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(queue_search)

BOOST_AUTO_TEST_CASE(no_reachable_state_of_the_queue_breaks_a_promise)
{
    search_all(queue_scopes::quick);
}

/// MODEL_THOROUGH: with what takes minutes.
BOOST_AUTO_TEST_CASE(no_reachable_state_of_larger_scopes_breaks_a_promise)
{
    if (setting("MODEL_THOROUGH", 0) != 0)
        search_all(queue_scopes::thorough);
}

/// MODEL_SCHEDULES: how many, of each scope; MODEL_SEED: the first random ones.
BOOST_AUTO_TEST_CASE(no_random_schedule_of_the_queue_breaks_a_promise)
{
    for (queue_scope const* s : queue_scopes::random) {
        auto const found = random_schedules<queue_steps>(*s, setting("MODEL_SEED", 1))
                               .run(setting("MODEL_SCHEDULES", 5'000));
        std::cout << s->name << ": " << found.schedules << " schedules, " << found.transitions << " steps, "
                  << found.took.count() << " ms" << std::endl;
        BOOST_TEST(found.flaw == nullptr, s->name << ":\n" << found.trace);
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::model

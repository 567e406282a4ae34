// SPDX-License-Identifier: BSL-1.0
#include "model/scopes.hpp"
#include "model/search.hpp"
#include "model/settings.hpp"

#include <boost/test/unit_test.hpp>

#include <iostream>

namespace redlock::model {

BOOST_AUTO_TEST_SUITE(model_search)

/// MODEL_STATES: where a scope is broken off, in states.
BOOST_AUTO_TEST_CASE(no_reachable_state_breaks_a_promise)
{
    std::uint64_t states = 0;
    std::chrono::milliseconds took{};
    for (scope const* planned : scopes::all) {
        scope s = *planned;
        s.most_states = setting("MODEL_STATES", 50'000);
        auto const found = breadth_first<small_steps>(s).run();
        std::cout << s.name << ": " << found.states << " states, " << found.transitions
                  << " transitions, depth " << found.depth
                  << (found.complete ? ", complete, " : ", broken off, ") << found.took.count() << " ms"
                  << std::endl;
        BOOST_TEST(found.flaw == nullptr, s.name << ":\n" << found.trace);
        states += found.states;
        took += found.took;
    }
    std::cout << states << " distinct states in " << took.count() << " ms" << std::endl;
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::model

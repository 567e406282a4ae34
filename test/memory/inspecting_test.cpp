// SPDX-License-Identifier: BSL-1.0
#include "connected_scenario.hpp"

#include <utility>

using namespace redlock;
using namespace redlock::test;

namespace {

struct inspecting : holding_scenario {
    using holding_scenario::holding_scenario;
    void act() override
    {
        asked.begin([&](auto handler) { lock().inspect(std::move(handler)); });
    }
    bool done() const override { return asked.settled(); }
    bool succeeded() const override { return !asked.ec && asked.seen.ours && held.valid(); }
    void retire() override
    {
        BOOST_TEST(asked.completions == (asked.refused ? 0U : 1U));
        held = {};
    }
    begun_operation asked;
};

struct first_of_all : inspecting {
    using inspecting::inspecting;
    void prepare() override { locks.emplace(context.get_executor(), servers.settings()); }
    bool succeeded() const override { return !asked.ec && !asked.seen.held(); }
};

} // namespace

BOOST_AUTO_TEST_SUITE(without_memory)

BOOST_AUTO_TEST_CASE(inspection_without_memory_fails_cleanly)
{
    sweep<inspecting>();
}

BOOST_AUTO_TEST_CASE(first_inspection_without_memory_fails_cleanly)
{
    sweep<first_of_all>();
}

BOOST_AUTO_TEST_SUITE_END()

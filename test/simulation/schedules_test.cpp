#include "simulation/schedule.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

using redlock::simulation::schedule;
using redlock::simulation::verdict;

namespace {

std::uint64_t number(char const* name, std::uint64_t otherwise)
{
    char const* const text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

} // namespace

BOOST_AUTO_TEST_SUITE(schedules)

/// One in ten is run twice: it must be the same schedule.
BOOST_AUTO_TEST_CASE(no_promise_is_broken)
{
    std::uint64_t const first = number("SIMULATION_SEED", 1);
    std::uint64_t const count = number("SIMULATION_SCHEDULES", 12);
    std::uint64_t events = 0;
    std::uint64_t leases = 0;
    auto const began = std::chrono::steady_clock::now();
    for (std::uint64_t seed = first; seed != first + count; ++seed) {
        verdict const seen = schedule(seed, false).run();
        events += seen.events;
        leases += seen.leases;
        if (!seen.flaw.empty() || count == 1)
            BOOST_TEST_REQUIRE(seen.flaw.empty(), "seed " << seed << ": " << seen.flaw << '\n'
                                                          << schedule(seed, true).run().story);
        if (seed % 10 == 0)
            BOOST_TEST((schedule(seed, false).run() == seen), "seed " << seed << " is not always the same");
    }
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - began;
    std::cout << count << " schedules, " << events << " events, " << leases << " leases in " << took.count()
              << " s\n";
}

BOOST_AUTO_TEST_SUITE_END()

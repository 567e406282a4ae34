#include "model/schedules.hpp"
#include "model/settings.hpp"

#include <boost/test/unit_test.hpp>

#include <iostream>

namespace redlock::model {

namespace {

void report(campaign const& all)
{
    auto const took = std::max<std::int64_t>(all.took.count(), 1);
    std::cout << all.schedules << " schedules (" << all.schedules * 1000 / static_cast<std::uint64_t>(took)
              << " a second), " << all.events << " events, " << all.grants << " grants, " << all.extensions
              << " extensions, " << all.losses << " losses, " << all.virtual_days
              << " virtual days, longest wait in the calm " << all.longest_wait / one_milli << " ms, "
              << all.replayed << " run twice\n";
    for (std::size_t i = 0; i != fault_kinds; ++i)
        std::cout << "    " << name(static_cast<fault>(i)) << ": " << all.faults[i] << '\n';
    std::cout << std::flush;
}

} // namespace

BOOST_AUTO_TEST_SUITE(schedules_test)

/// MODEL_SCHEDULES: how many. MODEL_SEED: the first; where it is the only one, its story is told.
BOOST_AUTO_TEST_CASE(no_schedule_breaks_a_promise)
{
    std::uint64_t const seed = setting("MODEL_SEED", 1);
    std::uint64_t const count = setting("MODEL_SCHEDULES", std::getenv("MODEL_SEED") ? 1 : 300'000);
    if (count == 1)
        std::cout << story(seed);
    campaign const all = run_schedules(seed, count);
    report(all);
    BOOST_TEST((all.flaw == breach::none), name(all.flaw) << "; to see how: MODEL_SEED=" << all.seed);
    BOOST_TEST(all.same_twice);
    if (count < 10'000)
        return;
    for (std::size_t i = 0; i != fault_kinds; ++i)
        BOOST_TEST(all.faults[i] > 0, name(static_cast<fault>(i)) << " never happened");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::model

#include "model/schedules.hpp"
#include "model/settings.hpp"

#include <boost/test/unit_test.hpp>

#include <iostream>

namespace redlock::model {

namespace {

bool belongs(std::size_t kind, theme about)
{
    if (kind >= first_newcomers_fault)
        return about == theme::newcomers;
    return kind < first_waiting_fault || about == theme::waiting;
}

void report(campaign const& all, theme about)
{
    auto const took = std::max<std::int64_t>(all.took.count(), 1);
    std::cout << all.schedules << " schedules (" << all.schedules * 1000 / static_cast<std::uint64_t>(took)
              << " a second), " << all.events << " events, " << all.grants << " grants, " << all.extensions
              << " extensions, " << all.losses << " losses, " << all.virtual_days
              << " virtual days, longest wait in the calm " << all.longest_wait / one_milli << " ms, "
              << all.replayed << " run twice\n";
    if (about == theme::waiting)
        std::cout << "    " << all.words << " words of changes, " << all.hand_overs << " leases handed over, "
                  << all.turns << " turns offered, " << all.pauses
                  << " pauses for others; free and wanted for " << all.longest_gap
                  << " us at most, where nothing was left of faults for " << all.longest_late_gap
                  << " us, after a death " << all.longest_guessed_gap << " us\n";
    for (std::size_t i = 0; i != fault_kinds; ++i)
        if (belongs(i, about))
            std::cout << "    " << name(static_cast<fault>(i)) << ": " << all.faults[i] << '\n';
    std::cout << std::flush;
}

void run(char const* how_many, std::uint64_t otherwise, theme about)
{
    std::uint64_t const seed = setting("MODEL_SEED", 1);
    std::uint64_t const count = setting(how_many, std::getenv("MODEL_SEED") ? 1 : otherwise);
    if (count == 1)
        std::cout << story(seed, about);
    campaign const all = run_schedules(seed, count, about);
    report(all, about);
    BOOST_TEST((all.flaw == breach::none), name(all.flaw) << "; to see how: MODEL_SEED=" << all.seed);
    BOOST_TEST(all.same_twice);
    if (count < 10'000)
        return;
    for (std::size_t i = 0; i != fault_kinds; ++i)
        BOOST_TEST((all.faults[i] > 0 || !belongs(i, about)), name(static_cast<fault>(i))
                                                                  << " never happened");
}

} // namespace

BOOST_AUTO_TEST_SUITE(schedules_test)

/// MODEL_SCHEDULES: how many. MODEL_SEED: the first; where it is the only one, its story is told.
BOOST_AUTO_TEST_CASE(no_schedule_breaks_a_promise)
{
    run("MODEL_SCHEDULES", 300'000, theme::faults);
}

/// MODEL_WAITING_SCHEDULES: how many in which clients wait for word.
BOOST_AUTO_TEST_CASE(nobody_waits_in_vain)
{
    run("MODEL_WAITING_SCHEDULES", 30'000, theme::waiting);
}

/// MODEL_NEWCOMER_SCHEDULES: how many in which clients come that know nothing.
BOOST_AUTO_TEST_CASE(nobody_who_comes_breaks_a_promise)
{
    run("MODEL_NEWCOMER_SCHEDULES", 60'000, theme::newcomers);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace redlock::model

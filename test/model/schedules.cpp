#include "model/schedules.hpp"

namespace redlock::model {

campaign run_schedules(std::uint64_t first_seed, std::uint64_t count, theme about)
{
    campaign all;
    auto const began = std::chrono::steady_clock::now();
    for (std::uint64_t seed = first_seed; seed != first_seed + count; ++seed) {
        outcome const found = schedule(seed, all.faults, about).run();
        ++all.schedules;
        all.events += found.events;
        all.grants += found.grants;
        all.extensions += found.extensions;
        all.losses += found.losses;
        all.longest_wait = std::max(all.longest_wait, found.longest_wait);
        all.longest_gap = std::max(all.longest_gap, found.longest_gap);
        all.longest_late_gap = std::max(all.longest_late_gap, found.longest_late_gap);
        all.longest_guessed_gap = std::max(all.longest_guessed_gap, found.longest_guessed_gap);
        all.words += found.words;
        all.hand_overs += found.hand_overs;
        all.turns += found.turns;
        all.pauses += found.pauses;
        all.virtual_days += static_cast<double>(found.spanned) / 86'400e6;
        if (seed % 100 == 0) {
            fault_counts ignored{};
            all.same_twice = all.same_twice && schedule(seed, ignored, about).run().trace == found.trace;
            ++all.replayed;
        }
        if (found.flaw != breach::none) {
            all.flaw = found.flaw;
            all.seed = seed;
            break;
        }
    }
    all.took =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
    return all;
}

std::string story(std::uint64_t seed, theme about)
{
    fault_counts ignored{};
    std::string text;
    outcome const found = schedule(seed, ignored, about, &text).run();
    return text + "=> " + name(found.flaw) + '\n';
}

} // namespace redlock::model

// SPDX-License-Identifier: BSL-1.0
#include "contest.hpp"

#include "field.hpp"
#include "mishaps.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace redlock::bench {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

/// Counters at one moment.
struct reading {
    std::uint64_t executed;
    std::uint64_t sent;
    std::uint64_t tenures;
    clock::time_point time;

    reading(field const& where, board const& seen)
        : executed(where.executed()), sent(where.sent()), tenures(seen.tenures.load()), time(clock::now())
    {}
};

void add_rates(outcome& told, reading const& first, reading const& last)
{
    auto const tenures = static_cast<double>(last.tenures - first.tenures);
    auto const each = [&](std::uint64_t more, std::uint64_t less) {
        return static_cast<double>(more - less) / std::max(1.0, tenures);
    };
    told.per_second = tenures / std::chrono::duration<double>(last.time - first.time).count();
    told.sent_each = each(last.sent, first.sent);
    told.executed_each = each(last.executed, first.executed);
}

std::size_t samples(board const& seen)
{
    return std::min(seen.samples.load(), board::most);
}

void add_samples(outcome& told, board const& seen)
{
    for (std::size_t i = 0; i != samples(seen); ++i) {
        told.hand_off_us.push_back(seen.hand_off_ns[i] / 1000.0);
        told.waited.push_back(seen.tenures_waited[i]);
        told.waited_ms.push_back(seen.waited_us[i] / 1000.0);
        auto& mine = seen.process[i] % 2 == 0 ? told.queued : told.unqueued;
        mine.waited_ms.push_back(told.waited_ms.back());
    }
    auto const all = std::max(1.0, static_cast<double>(samples(seen)));
    for (auto* one : {&told.queued, &told.unqueued}) {
        one->share = static_cast<double>(one->waited_ms.size()) / all;
        std::ranges::sort(one->waited_ms);
    }
    told.again = static_cast<double>(seen.again.load()) / all;
}

/// Adds the shares of processes that had no mishap.
void add_shares(outcome& told, contest const& what, board const& seen, std::vector<mishap> const& mishaps)
{
    std::vector<double> leases;
    double sum = 0;
    for (unsigned i = 0; i != what.processes; ++i) {
        if (std::ranges::find(mishaps, i, &mishap::process) != mishaps.end())
            continue;
        leases.push_back(static_cast<double>(seen.seats[i].leases.load()));
        sum += leases.back();
    }
    double const even = std::max(1.0, sum / static_cast<double>(leases.size()));
    told.least_share = std::ranges::min(leases) / even;
    told.most_share = std::ranges::max(leases) / even;
}

void add_mishaps(outcome& told, contest const& what, board const& seen, std::vector<mishap> const& mishaps)
{
    told.troubled = static_cast<unsigned>(mishaps.size());
    for (auto const& one : mishaps)
        told.as_holders += one.held ? 1U : 0U;
    for (std::size_t i = 0; i != samples(seen); ++i) {
        bool const after = std::ranges::any_of(mishaps, [&](mishap const& one) {
            return i >= one.before_sample && i <= one.before_sample + what.processes + 1;
        });
        double& worst = after ? told.worst_after_us : told.worst_else_us;
        worst = std::max(worst, told.hand_off_us[i]);
        told.over_half_window += told.hand_off_us[i] > claim_window_us / 2 ? 1U : 0U;
    }
}

using children = std::vector<std::unique_ptr<child>>;

children start(contest const& what, field const& where, board& seen, int cpu)
{
    children all;
    for (unsigned i = 0; i != what.processes; ++i)
        all.push_back(std::make_unique<child>(cpu, [&, i] { compete(where.doors(), what, i, seen); }));
    while (seen.ready.load() != what.processes)
        std::this_thread::sleep_for(1ms);
    return all;
}

void finish(children const& all, board& seen, std::vector<mishap> const& mishaps)
{
    resume(all, mishaps);
    std::this_thread::sleep_for(mishaps.empty() ? 0ms : 200ms); // until paused processes have resumed
    seen.stop = true;
    for (auto const& one : all)
        (void)one->wait_for(10s);
}

} // namespace

double at(std::vector<double> const& sorted, double share)
{
    if (sorted.empty())
        return 0;
    return sorted[std::min(sorted.size() - 1,
                           static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

outcome run(contest const& what, placement const& cpus)
{
    if (what.processes > board::most_processes)
        throw std::runtime_error{"too many processes"};
    field const where{what.nodes, what.delay, what.all_cpus ? -1 : cpus.server_cpu};
    shared_memory<board> seen;
    auto const all = start(what, where, *seen, what.all_cpus ? -1 : cpus.client_cpu);
    seen->go = true;
    std::this_thread::sleep_for(std::max<std::chrono::duration<double>>(500ms, what.window / 4));
    reading const first{where, *seen};
    seen->measuring = true;
    auto const mishaps = pass_window(what, *seen, all);
    seen->measuring = false;
    reading const last{where, *seen};
    finish(all, *seen, mishaps);

    outcome told;
    told.overlaps = seen->overlaps.load();
    told.failures = seen->failures.load();
    add_rates(told, first, last);
    add_samples(told, *seen);
    add_shares(told, what, *seen, mishaps);
    add_mishaps(told, what, *seen, mishaps);
    for (auto* each : {&told.hand_off_us, &told.waited, &told.waited_ms})
        std::ranges::sort(*each);
    return told;
}

double round_us(contest const& what, placement const& cpus)
{
    field const where{what.nodes, what.delay, what.all_cpus ? -1 : cpus.server_cpu};
    int const times = what.delay == 0us ? 2000 : 500;
    return measure_in_child(what.all_cpus ? -1 : cpus.client_cpu, 30s,
                            [&] { return idle_round_us(where.doors(), times); });
}

} // namespace redlock::bench

// SPDX-License-Identifier: BSL-1.0
// Tables T6 to T9: one key, many contenders in one or several processes.
#include "contention_rows.hpp"

#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>

namespace redlock::bench {

namespace {

/// Measured once for all contests on the same servers.
class rounds {
public:
    explicit rounds(placement const& cpus) : cpus_(cpus) {}

    double of(contest const& what)
    {
        auto const [where, fresh] = known_.try_emplace({what.nodes, what.delay.count(), what.all_cpus}, 0.0);
        if (fresh)
            where->second = round_us(what, cpus_);
        return where->second;
    }

private:
    placement const& cpus_;
    std::map<std::tuple<std::size_t, std::chrono::microseconds::rep, bool>, double> known_;
};

void print_head()
{
    std::printf(
        "%-13s %2s %9s %4s %6s %5s %4s %8s %8s %8s %8s %8s %6s %6s %6s %6s %6s %6s %6s %6s %6s %7s %7s "
        "%7s %7s\n",
        "", "N", "processes", "each", "hold", "delay", "cpus", "round", "leases/s", "p50 us", "p99 us",
        "most us", "rounds", "p99", "sent", "exec", "least%", "most%", "before", "p99", "most", "wait ms",
        "p99", "most", "again %");
}

void print(contest const& what, outcome const& told, double round)
{
    double const p50 = at(told.hand_off_us, 0.5);
    double const p99 = at(told.hand_off_us, 0.99);
    std::printf(
        "%-13s %2zu %9u %4u %6.1f %5.2f %4s %8.0f %8.0f %8.0f %8.0f %8.0f %6.2f %6.2f %6.1f %6.1f %6.0f "
        "%6.0f %6.0f %6.0f %6.0f %7.1f %7.1f %7.1f %7.0f%s\n",
        name(what).c_str(), what.nodes, what.processes, what.each,
        static_cast<double>(what.hold.count()) / 1000.0, static_cast<double>(what.delay.count()) / 1000.0,
        what.all_cpus ? "all" : "1", round, told.per_second, p50, p99, at(told.hand_off_us, 1.0), p50 / round,
        p99 / round, told.sent_each, told.executed_each, 100 * told.least_share, 100 * told.most_share,
        at(told.waited, 0.5), at(told.waited, 0.99), at(told.waited, 1.0), at(told.waited_ms, 0.5),
        at(told.waited_ms, 0.99), at(told.waited_ms, 1.0), 100 * told.again,
        told.overlaps == 0 ? "" : "  OVERLAPS");
    if (what.how == manner::mixed)
        std::printf(
            "    in line: %.0f %% of the leases, wait ms %.1f, p99 %.1f; by turns: %.0f %%, %.1f, %.1f\n",
            100 * told.queued.share, at(told.queued.waited_ms, 0.5), at(told.queued.waited_ms, 0.99),
            100 * told.unqueued.share, at(told.unqueued.waited_ms, 0.5), at(told.unqueued.waited_ms, 0.99));
    if (what.with != trouble::none)
        std::printf(
            "    %u %s%s; longest hand-off among the next %u: %.1f ms, otherwise: %.1f ms; over 25 ms: %u\n",
            told.troubled, name(what).c_str(), told.as_holders == 0 ? "" : " (SOME AS HOLDERS)",
            what.processes + 1, told.worst_after_us / 1000, told.worst_else_us / 1000, told.over_half_window);
    if (told.failures != 0)
        std::printf("    FAILURES: %u operations failed\n", told.failures);
    std::fflush(stdout);
}

void write_contest(contest const& what, double round, std::FILE* json)
{
    std::fprintf(json,
                 R"({"how":"%s","nodes":%zu,"processes":%u,"contenders":%u,"hold_us":%lld,"delay_us":%lld,)"
                 R"("all_cpus":%s,"round_us":%.2f,)",
                 name(what).c_str(), what.nodes, what.processes, what.processes * what.each,
                 static_cast<long long>(what.hold.count()), static_cast<long long>(what.delay.count()),
                 what.all_cpus ? "true" : "false", round);
}

void write_waiting(outcome const& told, std::FILE* json)
{
    std::fprintf(json,
                 R"("before_p50":%.0f,"before_p99":%.0f,"before_most":%.0f,"waited_ms_p50":%.3f,)"
                 R"("waited_ms_p99":%.3f,"waited_ms_most":%.3f,)",
                 at(told.waited, 0.5), at(told.waited, 0.99), at(told.waited, 1.0), at(told.waited_ms, 0.5),
                 at(told.waited_ms, 0.99), at(told.waited_ms, 1.0));
    std::fprintf(json, R"("line_share":%.4f,"line_waited_ms_p50":%.3f,"line_waited_ms_p99":%.3f,)",
                 told.queued.share, at(told.queued.waited_ms, 0.5), at(told.queued.waited_ms, 0.99));
    std::fprintf(json, R"("turns_share":%.4f,"turns_waited_ms_p50":%.3f,"turns_waited_ms_p99":%.3f,)",
                 told.unqueued.share, at(told.unqueued.waited_ms, 0.5), at(told.unqueued.waited_ms, 0.99));
}

void write(contest const& what, outcome const& told, double round, std::FILE* json)
{
    write_contest(what, round, json);
    std::fprintf(json,
                 R"("leases_per_second":%.1f,"p50_us":%.2f,"p99_us":%.2f,"p999_us":%.2f,"most_us":%.2f,)"
                 R"("commands_sent":%.3f,"commands":%.3f,"least_share":%.4f,"most_share":%.4f,)",
                 told.per_second, at(told.hand_off_us, 0.5), at(told.hand_off_us, 0.99),
                 at(told.hand_off_us, 0.999), at(told.hand_off_us, 1.0), told.sent_each, told.executed_each,
                 told.least_share, told.most_share);
    write_waiting(told, json);
    std::fprintf(json,
                 R"("troubled":%u,"as_holders":%u,"worst_after_us":%.1f,"worst_else_us":%.1f,)"
                 R"("over_half_window":%u,"same_process_again":%.4f,"failures":%u,"overlaps":%u})"
                 "\n",
                 told.troubled, told.as_holders, told.worst_after_us, told.worst_else_us,
                 told.over_half_window, told.again, told.failures, told.overlaps);
    std::fflush(json);
}

/// \return whether no two held the lock at once
bool measure(plan const& wanted)
{
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> const json(
        wanted.json.empty() ? nullptr : std::fopen(wanted.json.c_str(), "we"), &std::fclose);
    if (!wanted.json.empty() && !json)
        throw std::runtime_error{"cannot write " + wanted.json};
    auto const cpus = choose_cpus();
    rounds known{cpus};
    bool sound = true;
    print_head();
    for (auto const& what : wanted.contests) {
        double const round = known.of(what);
        auto const told = run(what, cpus);
        print(what, told, round);
        if (json)
            write(what, told, round, json.get());
        sound = sound && told.overlaps == 0;
    }
    return sound;
}

} // namespace

std::string name(contest const& what)
{
    if (what.with != trouble::none)
        return what.with == trouble::killed ? "killed" : "paused";
    if (what.how == manner::polling)
        return "polling " + std::to_string(what.poll_pause.count() / 1000) + "ms";
    switch (what.how) {
    case manner::line: return "line";
    case manner::turns: return "turns";
    default: return "mixed";
    }
}

} // namespace redlock::bench

int main(int argc, char** argv)
{
    using namespace redlock::bench;
    auto const wanted = parse_plan({argv + 1, argv + argc});
    if (!wanted)
        return 64;
    try {
        return measure(*wanted) ? 0 : 1;
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}

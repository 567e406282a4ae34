// SPDX-License-Identifier: BSL-1.0
#include "tables.hpp"

#include <algorithm>
#include <stdexcept>

namespace redlock::bench {

namespace {

double throughput(result const& of)
{
    return of.seconds > 0 ? static_cast<double>(of.cycles) / of.seconds : 0;
}

std::uint64_t failures(series const& of)
{
    std::uint64_t sum = 0;
    for (auto const& round : of.rounds)
        sum += round.failed;
    return sum;
}

double median_throughput(series const& of)
{
    std::vector<double> values;
    for (auto const& round : of.rounds)
        values.push_back(throughput(round));
    return median(std::move(values));
}

template <class Figure>
double paired_ratio(series const& of, series const& base, Figure const& figure)
{
    std::vector<double> values;
    for (std::size_t round = 0; round < std::min(of.rounds.size(), base.rounds.size()); ++round)
        if (auto const limit = figure(base.rounds[round]); limit > 0)
            values.push_back(figure(of.rounds[round]) / limit);
    return median(std::move(values));
}

} // namespace

double median(std::vector<double> values)
{
    if (values.empty())
        return 0;
    std::sort(values.begin(), values.end());
    auto const middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double median_of(series const& of, double result::*figure)
{
    std::vector<double> values;
    for (auto const& round : of.rounds)
        values.push_back(round.*figure);
    return median(std::move(values));
}

double ratio_of(series const& of, series const& base, double result::*figure)
{
    return paired_ratio(of, base, [figure](result const& round) { return round.*figure; });
}

double throughput_ratio(series const& of, series const& base)
{
    return paired_ratio(of, base, throughput);
}

void print_heading(std::string_view title)
{
    std::printf("\n%.*s\n", static_cast<int>(title.size()), title.data());
    std::printf("%2s %5s %-20s %10s %9s %9s %9s %9s %7s | %6s %6s %6s %6s\n", "N", "C", "contestant",
                "cycles/s", "p50 us", "p99 us", "client us", "server us", "allocs", "client", "server", "p50",
                "rate");
}

void print_point(point const& where, std::span<series const> all)
{
    auto const& base = all.front();
    for (auto const& each : all) {
        std::printf("%2zu %5u %-20.*s %10.0f %9.1f %9.1f %9.3f %9.3f %7.3f | %5.2fx %5.2fx %5.2fx %5.2fx",
                    where.nodes, where.concurrency, static_cast<int>(each.contestant.size()),
                    each.contestant.data(), median_throughput(each), median_of(each, &result::p50_us),
                    median_of(each, &result::p99_us), median_of(each, &result::client_cpu_us_per_cycle),
                    median_of(each, &result::server_cpu_us_per_cycle),
                    median_of(each, &result::allocations_per_cycle),
                    ratio_of(each, base, &result::client_cpu_us_per_cycle),
                    ratio_of(each, base, &result::server_cpu_us_per_cycle),
                    ratio_of(each, base, &result::p50_us), throughput_ratio(each, base));
        if (auto const failed = failures(each); failed != 0)
            std::printf("  FAILED CYCLES: %llu", static_cast<unsigned long long>(failed));
        std::printf("\n");
    }
    std::fflush(stdout);
}

bool sound(std::span<series const> all)
{
    return std::ranges::all_of(all, [](series const& each) {
        return std::ranges::all_of(each.rounds,
                                   [](result const& round) { return round.cycles > 0 && round.failed == 0; });
    });
}

json_lines::json_lines(std::string const& path)
{
    if (path.empty())
        return;
    file_ = std::fopen(path.c_str(), "we");
    if (file_ == nullptr)
        throw std::runtime_error{"cannot write " + path};
}

json_lines::~json_lines()
{
    if (file_ != nullptr)
        std::fclose(file_);
}

void json_lines::write(point const& where, std::span<series const> all)
{
    if (file_ == nullptr)
        return;
    auto const place = [&](char const* kind, series const& each) {
        std::fprintf(file_,
                     R"({"kind":"%s","servers":"%.*s","nodes":%zu,"concurrency":%u,"contestant":"%.*s")",
                     kind, static_cast<int>(where.servers.size()), where.servers.data(), where.nodes,
                     where.concurrency, static_cast<int>(each.contestant.size()), each.contestant.data());
    };
    for (auto const& each : all)
        for (std::size_t round = 0; round < each.rounds.size(); ++round) {
            auto const& one = each.rounds[round];
            place("measurement", each);
            std::fprintf(file_,
                         R"(,"round":%zu,"cycles":%llu,"failed":%llu,"seconds":%.6f,)"
                         R"("client_us":%.4f,"server_us":%.4f,)"
                         R"("p50_us":%.3f,"p99_us":%.3f,"allocations":%.5f})"
                         "\n",
                         round, static_cast<unsigned long long>(one.cycles),
                         static_cast<unsigned long long>(one.failed), one.seconds,
                         one.client_cpu_us_per_cycle, one.server_cpu_us_per_cycle, one.p50_us, one.p99_us,
                         one.allocations_per_cycle);
        }
    for (auto const& each : all) {
        auto const& base = all.front();
        place("summary", each);
        std::fprintf(file_,
                     R"(,"rate":%.1f,"client_us":%.4f,"server_us":%.4f,"p50_us":%.3f,"allocations":%.5f,)"
                     R"("client_ratio":%.4f,"server_ratio":%.4f,"p50_ratio":%.4f,"rate_ratio":%.4f})"
                     "\n",
                     median_throughput(each), median_of(each, &result::client_cpu_us_per_cycle),
                     median_of(each, &result::server_cpu_us_per_cycle), median_of(each, &result::p50_us),
                     median_of(each, &result::allocations_per_cycle),
                     ratio_of(each, base, &result::client_cpu_us_per_cycle),
                     ratio_of(each, base, &result::server_cpu_us_per_cycle),
                     ratio_of(each, base, &result::p50_us), throughput_ratio(each, base));
    }
    std::fflush(file_);
}

void json_lines::write(memory_result const& memory, std::size_t nodes, std::size_t round)
{
    if (file_ == nullptr)
        return;
    std::fprintf(file_,
                 R"({"kind":"memory","nodes":%zu,"round":%zu,"leases":%llu,"failed":%llu,)"
                 R"("heap_bytes":%.1f,"rss_bytes":%.1f})"
                 "\n",
                 nodes, round, static_cast<unsigned long long>(memory.leases),
                 static_cast<unsigned long long>(memory.failed), memory.heap_bytes_per_lease,
                 memory.rss_bytes_per_lease);
    std::fflush(file_);
}

} // namespace redlock::bench

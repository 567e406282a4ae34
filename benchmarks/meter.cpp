// SPDX-License-Identifier: BSL-1.0
#include "meter.hpp"

#include "allocation_counter.hpp"
#include "processes.hpp"

#include <cstdio>

namespace redlock::bench {

std::string resource_name(unsigned run_number, unsigned slot)
{
    std::array<char, resource_name_length + 1> text{};
    std::snprintf(text.data(), text.size(), "lock:%04x:%06u", run_number % 0x10000U, slot % 1'000'000U);
    return text.data();
}

double latency_histogram::quantile_us(double q) const noexcept
{
    auto const wanted = static_cast<std::uint64_t>(q * static_cast<double>(total_));
    std::uint64_t seen = 0;
    for (std::size_t index = 0; index < counts_.size(); ++index) {
        seen += counts_[index];
        if (seen > wanted) {
            auto const octave = index / steps;
            auto const low = index % steps;
            return static_cast<double>((low << octave) + ((1ULL << octave) >> 1)) / 1000.0;
        }
    }
    return 0;
}

meter::meter(setup const& what) : servers_{what.servers} {}

double meter::server_cpu_us() const
{
    double sum = 0;
    for (pid_t const server : servers_)
        sum += cpu_time_us(server);
    return sum;
}

void meter::read_own(reading& into) const
{
    into.cpu_us = own_cpu_us();
    into.time = clock::now();
    into.allocations = allocations();
    into.cycles = cycles_;
    into.failed = failed_;
}

void meter::open()
{
    // Reading the servers' files costs this process time and heap: outside our own two readings.
    first_.server_cpu_us = server_cpu_us();
    open_ = true;
    read_own(first_);
}

void meter::close()
{
    read_own(last_);
    open_ = false;
    last_.server_cpu_us = server_cpu_us();
}

result meter::summary() const
{
    result out;
    out.cycles = last_.cycles - first_.cycles;
    out.failed = last_.failed - first_.failed;
    out.seconds = std::chrono::duration<double>(last_.time - first_.time).count();
    auto const per_cycle = [&](double amount) {
        return out.cycles == 0 ? 0 : amount / static_cast<double>(out.cycles);
    };
    out.client_cpu_us_per_cycle = per_cycle(last_.cpu_us - first_.cpu_us);
    out.server_cpu_us_per_cycle = per_cycle(last_.server_cpu_us - first_.server_cpu_us);
    out.allocations_per_cycle = per_cycle(static_cast<double>(last_.allocations - first_.allocations));
    out.p50_us = latencies_.quantile_us(0.50);
    out.p99_us = latencies_.quantile_us(0.99);
    return out;
}

} // namespace redlock::bench

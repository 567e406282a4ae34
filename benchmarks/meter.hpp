// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cycle_client.hpp"

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace redlock::bench {

/// Log-linear counts, true to 0.8 %: recording touches no heap and few cache lines.
class latency_histogram {
public:
    void record(std::chrono::nanoseconds latency) noexcept
    {
        auto const value = static_cast<std::uint64_t>(latency.count());
        auto const octave = static_cast<unsigned>(std::bit_width(value | (steps - 1))) - step_bits;
        auto const index = octave * steps + (value >> octave);
        ++counts_[index < counts_.size() ? index : counts_.size() - 1];
        ++total_;
    }

    [[nodiscard]] double quantile_us(double q) const noexcept;

private:
    static constexpr unsigned step_bits = 7;
    static constexpr std::uint64_t steps = 1U << step_bits;

    std::array<std::uint32_t, steps * 34> counts_{};
    std::uint64_t total_ = 0;
};

/// The measuring every contestant shares, so that none pays more for it than another. Warm-up, then one
/// window; cycles in flight run on across both edges of the window.
class meter {
public:
    using clock = std::chrono::steady_clock;

    explicit meter(setup const& what);

    void open();
    void close();

    void count(bool complete) noexcept
    {
        ++cycles_;
        failed_ += complete ? 0U : 1U;
    }

    /// Sixteen slots tell their latency, however many there are: reading the clock in every cycle would be a
    /// visible share of the fastest ones.
    [[nodiscard]] static bool tells_latency(std::size_t slot) noexcept { return slot < 16; }

    void record(clock::duration latency) noexcept
    {
        if (open_)
            latencies_.record(latency);
    }

    [[nodiscard]] result summary() const;

private:
    struct reading {
        clock::time_point time;
        double cpu_us = 0;
        double server_cpu_us = 0;
        std::uint64_t allocations = 0;
        std::uint64_t cycles = 0;
        std::uint64_t failed = 0;
    };

    [[nodiscard]] double server_cpu_us() const;
    void read_own(reading& into) const;

    std::vector<pid_t> servers_;
    latency_histogram latencies_;
    reading first_;
    reading last_;
    std::uint64_t cycles_ = 0;
    std::uint64_t failed_ = 0;
    bool open_ = false;
};

} // namespace redlock::bench

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cycle_client.hpp"

#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::bench {

/// One point of the grid: every contestant is measured on it, in sequence.
struct point {
    std::string_view servers; ///< "redis", on a CPU of their own if there is one, or "null", on the client's
    std::size_t nodes = 0;
    unsigned concurrency = 0;
};

struct series {
    std::string_view contestant;
    std::vector<result> rounds;
};

/// Median over the rounds of one figure, and of its ratio to the first contestant's figure in the same round.
[[nodiscard]] double median(std::vector<double> values);
[[nodiscard]] double median_of(series const& of, double result::*figure);
[[nodiscard]] double ratio_of(series const& of, series const& base, double result::*figure);
[[nodiscard]] double throughput_ratio(series const& of, series const& base);

void print_heading(std::string_view title);
void print_point(point const& where, std::span<series const> all);

/// False when a cycle failed or a measurement saw none: its figures mean nothing then.
[[nodiscard]] bool sound(std::span<series const> all);

/// One JSON object a line: every single measurement, then the summary of every point.
class json_lines {
public:
    explicit json_lines(std::string const& path); ///< empty: writes nothing
    json_lines(json_lines const&) = delete;
    json_lines& operator=(json_lines const&) = delete;
    ~json_lines();

    void write(point const& where, std::span<series const> all);
    void write(memory_result const& memory, std::size_t nodes, std::size_t round);

private:
    std::FILE* file_ = nullptr;
};

} // namespace redlock::bench

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "tables.hpp"

#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::bench {

struct options {
    std::vector<std::string> only;        ///< tables (T1 …); empty: all
    std::vector<std::string> contestants; ///< by name; empty: all
    std::vector<unsigned> nodes;          ///< empty: what the tables ask for
    std::vector<unsigned> concurrency;
    std::chrono::duration<double> seconds{0.5};
    unsigned rounds = 5;
    std::string json;
    bool quick = false;

    [[nodiscard]] bool table(std::string_view name) const;
    [[nodiscard]] bool includes(std::string_view contestant) const;
    [[nodiscard]] std::vector<point> redis_points() const;
    [[nodiscard]] std::vector<point> null_points() const;
};

/// Nothing, with a word on stderr, when the arguments are not understood or help is asked for.
[[nodiscard]] std::optional<options> parse_options(std::vector<std::string> const& arguments);

/// At commas.
[[nodiscard]] std::vector<std::string> split(std::string const& text);
/// A list of numbers from `least` on; throws where it is none.
[[nodiscard]] std::vector<unsigned> numbers(std::string const& text, unsigned least = 1);

/// The main() of a program without tables to choose from: `measure` returns whether all went well. \return the exit
/// status
int run_with_few_options(int argc, char const* const* argv,
                         std::function<bool(bool quick, std::FILE* json)> const& measure);

} // namespace redlock::bench

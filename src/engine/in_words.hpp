// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

/// Numbers in sentences.
namespace redlock::detail {

/// "1 node", "3 nodes"
[[nodiscard]] inline std::string count(std::size_t n, std::string const& what)
{
    return std::to_string(n) + ' ' + what + (n == 1 ? "" : "s");
}

/// "first in the queue", "third in the queue, behind 2 others", "12th in the queue, behind 11 others"
[[nodiscard]] inline std::string position_in_words(std::size_t before)
{
    constexpr std::array<std::string_view, 3> words{"first", "second", "third"};
    bool const has_word = before < words.size();
    auto const position = has_word ? std::string(words[before]) : std::to_string(before + 1) + "th";
    return position + " in the queue" + (before == 0 ? "" : ", behind " + count(before, "other"));
}

/// "0.4 ms", "3 ms", "350 ms", "11.1 s": rounded down.
[[nodiscard]] inline std::string in_words(core::duration time)
{
    using namespace std::chrono_literals;
    auto const tenths = [time](core::duration unit) {
        auto const all = time / (unit / 10);
        return std::to_string(all / 10) + '.' + std::to_string(all % 10);
    };
    if (time < core::duration::zero())
        return '-' + in_words(-time);
    if (time >= 1s)
        return tenths(1s) + " s";
    bool const whole = time >= 10ms || time % 1ms == 0ms;
    return (whole ? std::to_string(time / 1ms) : tenths(1ms)) + " ms";
}

} // namespace redlock::detail

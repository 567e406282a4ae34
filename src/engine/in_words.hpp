#pragma once

#include "core/instant.hpp"

#include <chrono>
#include <cstddef>
#include <string>

/// Numbers in sentences.
namespace redlock::detail {

/// "1 node", "3 nodes"
[[nodiscard]] inline std::string count(std::size_t n, std::string const& what)
{
    return std::to_string(n) + ' ' + what + (n == 1 ? "" : "s");
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

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>

namespace redlock::test {

inline bool contains(std::string const& text, std::string const& part)
{
    return text.find(part) != std::string::npos;
}

/// Empty if there is no such file.
inline std::string text_of(std::string const& path)
{
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

/// To the microsecond.
inline std::string in_seconds(std::chrono::nanoseconds t)
{
    auto const us = t / std::chrono::microseconds{1};
    std::string const rest = std::to_string(us % 1'000'000);
    return std::to_string(us / 1'000'000) + '.' + std::string(6 - rest.size(), '0') + rest;
}

} // namespace redlock::test

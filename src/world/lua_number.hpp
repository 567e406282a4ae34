// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

/// Numbers as the library's scripts read and write them.
namespace redlock::world {

/// As Lua's tonumber().
inline std::optional<double> to_number(std::string const& text)
{
    char* end = nullptr;
    double const value = std::strtod(text.c_str(), &end);
    if (end == text.c_str())
        return {};
    while (*end == ' ' || (*end >= '\t' && *end <= '\r'))
        ++end;
    return end == text.c_str() + text.size() ? std::optional(value) : std::nullopt;
}

inline double number_of(std::string const& text)
{
    return to_number(text).value_or(0);
}

/// As '%.0f' has it.
inline std::string whole(double value)
{
    std::array<char, 400> text{};
    int const size = std::snprintf(text.data(), text.size(), "%.0f", value);
    return {text.data(), static_cast<std::size_t>(size)};
}

} // namespace redlock::world

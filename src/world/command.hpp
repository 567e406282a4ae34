// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace redlock::world {

inline std::string lower(std::string text)
{
    std::ranges::transform(text, text.begin(),
                           [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
    return text;
}

/// Nothing: it is not a whole number, or something follows it.
inline std::optional<std::int64_t> whole_number(std::string_view text)
{
    std::int64_t value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Reads a score as Redis does.
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

/// One command from the front of what a client has sent; nothing: it is not whole yet.
inline std::optional<std::vector<std::string>> take_command(std::string& in)
{
    std::size_t at = 0;
    auto const number = [&](char type) -> std::optional<std::size_t> {
        auto const end = in.find("\r\n", at);
        if (end == std::string::npos || in[at] != type)
            return {};
        std::size_t value = 0;
        std::from_chars(in.data() + at + 1, in.data() + end, value);
        at = end + 2;
        return value;
    };
    auto const count = number('*');
    if (!count)
        return {};
    std::vector<std::string> words;
    while (words.size() != *count) {
        auto const size = number('$');
        if (!size || in.size() < at + *size + 2)
            return {};
        words.push_back(in.substr(at, *size));
        at += *size + 2;
    }
    in.erase(0, at);
    return words;
}

} // namespace redlock::world

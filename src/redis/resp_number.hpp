// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "redis/text_number.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

/// How RESP writes numbers.
namespace redlock::redis {

inline bool read_integer(std::string_view text, std::int64_t& number) noexcept
{
    // read_number() knows no plus sign, the protocol does.
    if (text.size() > 1 && text[0] == '+' && is_digit(text[1]))
        text.remove_prefix(1);
    return read_number(text, number);
}

inline bool is_real(std::string_view text) noexcept
{
    if (text.size() > 1 && text[0] == '+' && text[1] != '-')
        text.remove_prefix(1);
    double ignored = 0;
    auto const end = text.data() + text.size();
    auto const [stop, error] = std::from_chars(text.data(), end, ignored);
    return stop == end && error != std::errc::invalid_argument;
}

inline bool is_big_number(std::string_view text) noexcept
{
    if (!text.empty() && (text[0] == '-' || text[0] == '+'))
        text.remove_prefix(1);
    return !text.empty() && std::ranges::all_of(text, is_digit);
}

} // namespace redlock::redis

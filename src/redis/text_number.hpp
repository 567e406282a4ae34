// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

namespace redlock::redis {

constexpr bool is_digit(char c) noexcept
{
    return c >= '0' && c <= '9';
}

/// The whole text must be the number: no spaces, no plus sign.
template <class Number>
bool read_number(std::string_view text, Number& number) noexcept
{
    auto const end = text.data() + text.size();
    auto const [stop, error] = std::from_chars(text.data(), end, number);
    return error == std::errc{} && stop == end;
}

/// The part up to the next space, which goes.
inline std::string_view take_word(std::string_view& text) noexcept
{
    auto const word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    return word;
}

} // namespace redlock::redis

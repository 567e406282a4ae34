#pragma once

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

} // namespace redlock::redis

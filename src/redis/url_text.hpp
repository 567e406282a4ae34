// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "redis/text_number.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

/// The parts of URLs, whatever they mean.
namespace redlock::redis::url_parts {

/// Ends the parsing; parse_url() makes a url_error of it.
struct failure {
    std::string reason;
};

[[noreturn]] void fail(std::string reason);

constexpr bool is_name_char(char c) noexcept
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' ||
           c == '_';
}

constexpr bool is_visible(char c) noexcept
{
    return c > ' ' && c < '\x7f';
}

bool is_name(std::string_view text) noexcept;

std::string lower(std::string_view text);

/// Returns the text up to the mark; `rest` keeps the text after the mark, or nothing if there is none.
std::string_view split(std::string_view& rest, char mark) noexcept;

/// Undoes percent-encoding; a failure's reason says `where`.
std::string decode(std::string_view text, std::string_view where);
std::string decode_without_zero(std::string_view text, std::string_view where);
std::string encode_path(std::string_view path);

/// A number with at most nine digits on either side of the point, and a unit: "500ms", "2s", "1.5s", "1m".
std::optional<std::chrono::milliseconds> read_duration(std::string_view text);

std::optional<bool> read_bool(std::string_view text);

} // namespace redlock::redis::url_parts

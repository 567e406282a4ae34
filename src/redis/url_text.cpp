// SPDX-License-Identifier: BSL-1.0
#include "redis/url_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>

namespace redlock::redis::url_parts {

void fail(std::string reason)
{
    throw failure{std::move(reason)};
}

bool is_name(std::string_view text) noexcept
{
    return !text.empty() && std::ranges::all_of(text, is_name_char);
}

std::string lower(std::string_view text)
{
    std::string result{text};
    for (auto& c : result)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    return result;
}

std::string_view split(std::string_view& rest, char mark) noexcept
{
    auto const at = rest.find(mark);
    auto const head = rest.substr(0, at);
    rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + 1);
    return head;
}

std::string decode(std::string_view text, std::string_view where)
{
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            result.push_back(text[i]);
            continue;
        }
        unsigned char byte = 0;
        auto const digits = text.substr(i + 1, 2);
        auto const end = digits.data() + digits.size();
        auto const [stop, error] = std::from_chars(digits.data(), end, byte, 16);
        if (digits.size() != 2 || error != std::errc{} || stop != end)
            fail("a '%' that is no percent-encoding in " + std::string{where});
        result.push_back(static_cast<char>(byte));
        i += 2;
    }
    return result;
}

std::string decode_without_zero(std::string_view text, std::string_view where)
{
    auto result = decode(text, where);
    if (result.find('\0') != std::string::npos)
        fail("a zero byte in " + std::string{where});
    return result;
}

std::string encode_path(std::string_view path)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string result;
    for (char const c : path) {
        auto const byte = static_cast<unsigned char>(c);
        if (is_name_char(c) || c == '/')
            result.push_back(c);
        else
            (result += '%').append(1, digits[byte >> 4U]).append(1, digits[byte & 15U]);
    }
    return result;
}

std::optional<std::chrono::milliseconds> read_duration(std::string_view text)
{
    auto const unit_at = std::ranges::find_if_not(text, [](char c) { return is_digit(c) || c == '.'; });
    auto const unit = text.substr(static_cast<std::size_t>(unit_at - text.begin()));
    auto fraction = text.substr(0, text.size() - unit.size());
    bool const has_point = fraction.find('.') != std::string_view::npos;
    auto const whole = split(fraction, '.');
    std::int64_t const scale = unit == "ms" ? 1 : unit == "s" ? 1000 : unit == "m" ? 60'000 : 0;
    std::int64_t count = 0;
    if (scale == 0 || whole.size() > 9 || fraction.size() > 9 || !read_number(whole, count))
        return std::nullopt;
    std::int64_t part = 0;
    if (has_point && !read_number(fraction, part))
        return std::nullopt;
    part *= scale;
    for (std::size_t i = 0; i < fraction.size(); ++i) {
        if (part % 10 != 0)
            return std::nullopt;
        part /= 10;
    }
    return std::chrono::milliseconds{count * scale + part};
}

std::optional<bool> read_bool(std::string_view text)
{
    if (text == "true" || text == "1")
        return true;
    if (text == "false" || text == "0")
        return false;
    return std::nullopt;
}

} // namespace redlock::redis::url_parts

// SPDX-License-Identifier: BSL-1.0
#include "redis/ipv6.hpp"

#include "redis/text_number.hpp"
#include "redis/url_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <span>
#include <system_error>

namespace redlock::redis {

namespace {

constexpr std::size_t group_size = 2;
constexpr std::size_t ipv4_size = 4;
constexpr ipv6_bytes mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

/// One to four hexadecimal digits.
bool read_group(std::string_view digits, std::uint8_t* bytes) noexcept
{
    std::uint16_t value = 0;
    auto const end = digits.data() + digits.size();
    auto const [stop, error] = std::from_chars(digits.data(), end, value, 16);
    bytes[0] = static_cast<std::uint8_t>(value >> 8U);
    bytes[1] = static_cast<std::uint8_t>(value);
    return digits.size() <= 4 && error == std::errc{} && stop == end;
}

bool read_ipv4(std::string_view text, std::uint8_t* bytes) noexcept
{
    if (std::ranges::count(text, '.') != ipv4_size - 1)
        return false;
    for (std::size_t i = 0; i != ipv4_size; ++i) {
        auto const number = url_parts::split(text, '.');
        bool const octal = number.size() > 1 && number[0] == '0'; // to some readers
        if (octal || !read_number(number, bytes[i]))
            return false;
    }
    return true;
}

} // namespace

std::optional<ipv6_bytes> parse_ipv6(std::string_view text) noexcept
{
    ipv6_bytes bytes{};
    std::size_t filled = 0;
    std::optional<std::size_t> gap; // the position of "::"
    if (text.starts_with("::")) {
        gap = 0;
        text.remove_prefix(2);
    }
    while (!text.empty()) {
        auto const group = text.substr(0, text.find(':'));
        bool const ipv4 = group.size() == text.size() && group.find('.') != std::string_view::npos;
        std::size_t const size = ipv4 ? ipv4_size : group_size;
        if (filled + size > bytes.size() ||
            !(ipv4 ? read_ipv4(group, &bytes[filled]) : read_group(group, &bytes[filled])))
            return std::nullopt;
        filled += size;
        text.remove_prefix(group.size());
        if (text.empty())
            break;
        text.remove_prefix(1);
        if (text.empty() || (text[0] == ':' && gap))
            return std::nullopt;
        if (text[0] == ':') {
            gap = filled;
            text.remove_prefix(1);
        }
    }
    if (gap.has_value() == (filled == bytes.size()))
        return std::nullopt;
    if (gap) {
        auto const behind = std::span(bytes).subspan(*gap, filled - *gap);
        auto const zeros = std::span(bytes).subspan(*gap, bytes.size() - filled);
        std::ranges::copy_backward(behind, bytes.end());
        std::ranges::fill(zeros, std::uint8_t{});
    }
    return bytes;
}

std::string canonical(ipv6_bytes const& address)
{
    std::span const bytes(address);
    std::size_t const prefix = address.size() - ipv4_size;
    std::string text;
    if (std::ranges::equal(bytes.first(prefix), std::span(mapped).first(prefix))) {
        for (unsigned const byte : bytes.last(ipv4_size))
            text.append(text.empty() ? "" : ".").append(std::to_string(byte));
        return text;
    }
    for (unsigned const byte : bytes) // a colon is in no name
        text.append(":").append(std::to_string(byte));
    return text;
}

} // namespace redlock::redis

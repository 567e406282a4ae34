// SPDX-License-Identifier: BSL-1.0
#include "redis/server_words.hpp"

#include <utility>

namespace redlock::redis {

namespace {

bool is_control(char c)
{
    auto const byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
}

/// Terminals obey U+0080 to U+009F as well: U+009B begins a sequence as ESC [ does. UTF-8 has two bytes for them.
constexpr char first_of_two = '\xc2';

/// Is this the second byte of such a control character?
/// \param before the bytes before it
bool ends_control(std::string_view before, char c)
{
    auto const byte = static_cast<unsigned char>(c);
    return before.ends_with(first_of_two) && byte >= 0x80 && byte <= 0x9f;
}

} // namespace

std::string printable(std::string_view text)
{
    std::string result;
    for (char const c : text)
        if (ends_control(result, c))
            result.pop_back();
        else if (!is_control(c))
            result += c;
    return result;
}

std::string shorten(std::string text)
{
    constexpr std::string_view ellipsis = "...";
    if (text.size() > longest_words)
        text.replace(longest_words - ellipsis.size(), std::string::npos, ellipsis);
    return text;
}

std::string quote(std::string_view words)
{
    return shorten(printable(words.substr(0, 4 * longest_words)));
}

std::string quote_name(std::string_view name)
{
    constexpr std::string_view hex = "0123456789abcdef";
    std::string text;
    auto const append_hex = [&](char c) {
        auto const byte = static_cast<unsigned char>(c);
        text.append("\\x").append({hex[byte >> 4], hex[byte & 15]});
    };
    for (char const c : name.substr(0, longest_words + 1)) { // it may have any length
        if (ends_control(text, c)) {
            text.pop_back();
            append_hex(first_of_two);
            append_hex(c);
        } else if (is_control(c)) {
            append_hex(c);
        } else {
            text += c;
        }
    }
    return shorten(std::move(text));
}

} // namespace redlock::redis

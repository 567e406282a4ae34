// SPDX-License-Identifier: BSL-1.0
#include "redis/server_words.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace redlock::redis {

namespace {

bool is_control(char c)
{
    auto const byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
}

} // namespace

std::string printable(std::string_view text)
{
    std::string result;
    std::ranges::remove_copy_if(text, std::back_inserter(result), is_control);
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
    for (char const c : name.substr(0, longest_words + 1)) { // it may have any length
        auto const byte = static_cast<unsigned char>(c);
        if (is_control(c))
            text.append("\\x").append({hex[byte >> 4], hex[byte & 15]});
        else
            text += c;
    }
    return shorten(std::move(text));
}

} // namespace redlock::redis

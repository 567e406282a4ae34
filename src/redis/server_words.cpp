// SPDX-License-Identifier: BSL-1.0
#include "redis/server_words.hpp"

#include <algorithm>
#include <iterator>

namespace redlock::redis {

std::string printable(std::string_view text)
{
    std::string result;
    std::ranges::copy_if(text, std::back_inserter(result), [](char c) {
        auto const byte = static_cast<unsigned char>(c);
        return byte >= 0x20 && byte != 0x7f;
    });
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
    return shorten(printable(words.substr(0, 4 * longest_words))); // a name may have any length
}

} // namespace redlock::redis

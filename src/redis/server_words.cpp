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

std::string quote(std::string_view words)
{
    return printable(words.substr(0, longest_words));
}

} // namespace redlock::redis

#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace redlock::world {

/// One command from the front of what a client has sent; nothing: it is not whole yet.
inline std::optional<std::vector<std::string>> take_command(std::string& in)
{
    std::size_t at = 0;
    auto const number = [&](char type) -> std::optional<std::size_t> {
        auto const end = in.find("\r\n", at);
        if (end == std::string::npos || in[at] != type)
            return {};
        std::size_t value = 0;
        std::from_chars(in.data() + at + 1, in.data() + end, value);
        at = end + 2;
        return value;
    };
    auto const count = number('*');
    if (!count)
        return {};
    std::vector<std::string> words;
    while (words.size() != *count) {
        auto const size = number('$');
        if (!size || in.size() < at + *size + 2)
            return {};
        words.push_back(in.substr(at, *size));
        at += *size + 2;
    }
    in.erase(0, at);
    return words;
}

} // namespace redlock::world

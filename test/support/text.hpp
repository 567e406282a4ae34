#pragma once

#include <string>

namespace redlock::test {

inline bool contains(std::string const& text, std::string const& part)
{
    return text.find(part) != std::string::npos;
}

} // namespace redlock::test

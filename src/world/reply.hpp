// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// A server's answers as bytes.
namespace redlock::world::reply {

inline constexpr std::string_view wrong_type =
    "WRONGTYPE Operation against a key holding the wrong kind of value";

inline std::string status(std::string_view text)
{
    return '+' + std::string(text) + "\r\n";
}
inline std::string error(std::string_view text)
{
    return '-' + std::string(text) + "\r\n";
}
inline std::string number(std::int64_t value)
{
    return ':' + std::to_string(value) + "\r\n";
}
inline std::string bulk(std::string_view text)
{
    return '$' + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

} // namespace redlock::world::reply

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <ostream>
#include <string_view>
#include <type_traits>

namespace redlock {

namespace detail {

template <class Enum>
concept named_enum = std::is_enum_v<Enum> && requires(Enum value) {
    {
        to_string(value)
    } -> std::same_as<std::string_view>;
};

} // namespace detail

/// Writes the name of a value of one of this library's enumerations, as its `to_string` gives it.
template <detail::named_enum Enum>
std::ostream& operator<<(std::ostream& out, Enum value)
{
    return out << to_string(value);
}

} // namespace redlock

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace redlock::redis {

enum class resp_type : std::uint8_t {
    simple_string,
    simple_error,
    number,
    null,
    boolean,
    real,
    big_number,
    bulk_string,
    bulk_error,
    verbatim_string,
    array,
    map,
    set,
    attribute,
    push
};

/// One value of a message. A message is its values in the order of the wire; an aggregate stands before its
/// elements.
struct resp_node {
    resp_type type = resp_type::null;
    std::uint8_t depth = 0;     ///< how many aggregates enclose the value
    std::uint32_t size = 0;     ///< aggregates: elements one level deeper; a pair counts two
    std::int64_t number = 0;    ///< number; boolean as 0 or 1
    std::string_view text = {}; ///< text-like types, real and big_number: the payload, in the caller's buffer
};

constexpr bool is_aggregate(resp_type type) noexcept
{
    return type >= resp_type::array;
}

constexpr bool is_error(resp_type type) noexcept
{
    return type == resp_type::simple_error || type == resp_type::bulk_error;
}

/// The message without its leading attributes: the value and, if it is an aggregate, its elements. Never
/// empty for a complete message.
constexpr std::span<resp_node const> body(std::span<resp_node const> message) noexcept
{
    while (!message.empty() && message.front().type == resp_type::attribute) {
        do
            message = message.subspan(1);
        while (!message.empty() && message.front().depth > 0);
    }
    return message;
}

/// Calls `pair(key, value)` for the elements of a map (RESP3), or of an array instead (RESP2).
template <class Pair>
constexpr void for_each_pair(std::span<resp_node const> reply, Pair pair)
{
    resp_node const* key = nullptr;
    for (resp_node const& node : reply) {
        if (node.depth != 1 || node.type == resp_type::attribute)
            continue;
        if (key)
            pair(*key, node);
        key = key ? nullptr : &node;
    }
}

/// The value a complete message carries.
constexpr resp_node const& value(std::span<resp_node const> message) noexcept
{
    return body(message).front();
}

} // namespace redlock::redis

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "redis/resp.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace redlock::redis {

/// A push of client tracking: these keys have changed. If the server names none, any key may have changed.
struct invalidation {
    bool all = false;
    std::span<resp_node const> keys; ///< bulk strings; one level down
};

/// Empty for other pushes.
[[nodiscard]] constexpr std::optional<invalidation>
read_invalidation(std::span<resp_node const> push) noexcept
{
    if (push.size() < 3 || push[0].type != resp_type::push || push[1].text != "invalidate")
        return std::nullopt;
    if (push[2].type != resp_type::array)
        return invalidation{true, {}};
    return invalidation{false, push.subspan(3)};
}

/// A published message.
struct message {
    std::string_view channel;
    std::string_view text;
};

/// Empty for other pushes.
[[nodiscard]] constexpr std::optional<message> read_message(std::span<resp_node const> push) noexcept
{
    if (push.size() != 4 || push[0].type != resp_type::push || push[1].text != "message")
        return std::nullopt;
    if (push[2].type != resp_type::bulk_string || push[3].type != resp_type::bulk_string)
        return std::nullopt;
    return message{push[2].text, push[3].text};
}

/// Does the push confirm the subscription to a channel?
[[nodiscard]] constexpr bool is_subscription(std::span<resp_node const> push) noexcept
{
    return push.size() > 1 && push[0].type == resp_type::push && push[1].text == "subscribe";
}

} // namespace redlock::redis

#pragma once

#include "redis/resp.hpp"

#include <optional>
#include <span>

namespace redlock::redis {

/// What client tracking says: these keys have changed, or, where the server names none, any may have.
struct invalidation {
    bool all = false;
    std::span<resp_node const> keys; ///< bulk strings; one level down
};

/// Nothing for other pushes.
[[nodiscard]] constexpr std::optional<invalidation>
read_invalidation(std::span<resp_node const> push) noexcept
{
    if (push.size() < 3 || push[0].type != resp_type::push || push[1].text != "invalidate")
        return std::nullopt;
    if (push[2].type != resp_type::array)
        return invalidation{true, {}};
    return invalidation{false, push.subspan(3)};
}

} // namespace redlock::redis

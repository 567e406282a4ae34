// SPDX-License-Identifier: BSL-1.0
#include "engine/lock_access.hpp"
#include "kind/kind.hpp"
#include <redlock/multi_mutex.hpp>

#include <utility>

namespace redlock {

multi_mutex::multi_mutex(client& owner, std::vector<std::string> names, lock_options options)
    : basic_lock(detail::lock_access::make(owner, std::move(names), options, kind::multi))
{}

std::span<std::string const> multi_mutex::names() const noexcept
{
    return several_names();
}

lease multi_mutex::adopt(std::string_view nonce)
{
    return adopt_lease(nonce, 0);
}

} // namespace redlock

// SPDX-License-Identifier: BSL-1.0
#include "engine/lock_access.hpp"
#include "kind/kind.hpp"
#include <redlock/multi_mutex.hpp>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace redlock {

multi_mutex::multi_mutex(client& owner, std::span<std::string const> names, lock_options options)
    : any_lock(detail::lock_access::make(owner, {names.begin(), names.end()}, options, kind::multi))
{}

multi_mutex::multi_mutex(client& owner, std::initializer_list<std::string_view> names, lock_options options)
    : any_lock(detail::lock_access::make(owner, names, options, kind::multi))
{}

std::span<std::string const> multi_mutex::names() const noexcept
{
    return several_names();
}

lease multi_mutex::adopt(std::string_view nonce) const
{
    return adopt_lease(nonce, 0);
}

} // namespace redlock

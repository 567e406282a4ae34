// SPDX-License-Identifier: BSL-1.0
#include "engine/fence_terms.hpp"
#include "engine/lock_access.hpp"
#include "kind/kind.hpp"
#include <redlock/fenced_multi_mutex.hpp>

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace redlock {

fenced_multi_mutex::fenced_multi_mutex(client& owner, std::span<std::string const> names,
                                       lock_options options, fence_options fence)
    : any_lock(detail::lock_access::make(owner, {names.begin(), names.end()}, {options, fence},
                                         kind::fenced_multi))
{}

fenced_multi_mutex::fenced_multi_mutex(client& owner, std::initializer_list<std::string_view> names,
                                       lock_options options, fence_options fence)
    : any_lock(detail::lock_access::make(owner, names, {options, fence}, kind::fenced_multi))
{}

std::span<std::string const> fenced_multi_mutex::names() const noexcept
{
    return several_names();
}

lease fenced_multi_mutex::adopt(std::string_view nonce, std::uint64_t fencing_token) const
{
    detail::check_token(fencing_token, name());
    return adopt_lease(nonce, fencing_token);
}

} // namespace redlock

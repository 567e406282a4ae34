// SPDX-License-Identifier: BSL-1.0
#include "engine/fence_terms.hpp"
#include "engine/lock_access.hpp"
#include "kind/kind.hpp"
#include <redlock/fenced_multi_mutex.hpp>

#include <utility>

namespace redlock {

fenced_multi_mutex::fenced_multi_mutex(client& owner, std::vector<std::string> names, lock_options options,
                                       fence_options fence)
    : basic_lock(detail::lock_access::make(owner, std::move(names), {options, fence}, kind::fenced_multi))
{}

std::span<std::string const> fenced_multi_mutex::names() const noexcept
{
    return several_names();
}

lease fenced_multi_mutex::adopt(std::string_view nonce, std::uint64_t fencing_token)
{
    detail::check_token(fencing_token, name());
    return adopt_lease(nonce, fencing_token);
}

} // namespace redlock

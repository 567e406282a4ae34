// SPDX-License-Identifier: BSL-1.0
#include "engine/fence_terms.hpp"
#include "engine/lock_access.hpp"
#include "kind/kind.hpp"
#include <redlock/fenced_mutex.hpp>

namespace redlock {

fenced_mutex::fenced_mutex(client& owner, std::string_view name, lock_options options, fence_options fence)
    : inspectable_lock(detail::lock_access::make(owner, name, {options, fence}, kind::fenced))
{}

lease fenced_mutex::adopt(std::string_view nonce, std::uint64_t fencing_token) const
{
    detail::check_token(fencing_token, name());
    return adopt_lease(nonce, fencing_token);
}

} // namespace redlock

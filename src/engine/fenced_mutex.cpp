// SPDX-License-Identifier: BSL-1.0
#include "engine/fence_terms.hpp"
#include "engine/lock_access.hpp"
#include "kind/kind.hpp"
#include <redlock/fenced_mutex.hpp>

#include <utility>

namespace redlock {

fenced_mutex::fenced_mutex(client& owner, std::string name, lock_options options, fence_options fence)
    : basic_lock(detail::lock_access::make(owner, std::move(name), {options, fence}, kind::fenced))
{}

lease fenced_mutex::adopt(std::string_view nonce, std::uint64_t fencing_token)
{
    detail::check_token(fencing_token, name());
    return adopt_lease(nonce, fencing_token);
}

} // namespace redlock

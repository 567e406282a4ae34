// SPDX-License-Identifier: BSL-1.0
#include "core/fencing.hpp"
#include "engine/configuration.hpp"
#include "engine/fence_terms.hpp"
#include "engine/lock_access.hpp"
#include "kind/kind.hpp"
#include <redlock/fenced_shared_mutex.hpp>

#include <string>

namespace redlock {

fenced_shared_mutex::fenced_shared_mutex(client& owner, std::string_view name, lock_options options,
                                         fence_options fence)
    : basic_shared_lock(detail::lock_access::make(owner, name, {options, fence}, kind::fenced_writer),
                        detail::lock_access::make(owner, name, {options, fence}, kind::fenced_reader))
{}

lease fenced_shared_mutex::adopt(std::string_view nonce, std::uint64_t fencing_token) const
{
    detail::check_token(fencing_token, name());
    if (core::hand_offs_of(fencing_token) == core::readers_hand_off)
        detail::misconfigured("a reader's lease cannot be adopted, and this is its token: " +
                                  std::to_string(fencing_token),
                              name());
    return adopt_lease(nonce, fencing_token);
}

} // namespace redlock

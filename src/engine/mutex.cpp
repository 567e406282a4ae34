// SPDX-License-Identifier: BSL-1.0
#include "engine/lock_access.hpp"
#include "kind/kind.hpp"
#include <redlock/mutex.hpp>

namespace redlock {

mutex::mutex(client& owner, std::string_view name, lock_options options)
    : inspectable_lock(detail::lock_access::make(owner, name, options, kind::plain))
{}

lease mutex::adopt(std::string_view nonce) const
{
    return adopt_lease(nonce, 0);
}

} // namespace redlock

// SPDX-License-Identifier: BSL-1.0
#include "engine/lock_access.hpp"
#include "kind/kind.hpp"
#include <redlock/shared_mutex.hpp>

namespace redlock {

shared_mutex::shared_mutex(client& owner, std::string_view name, lock_options options)
    : basic_shared_lock(detail::lock_access::make(owner, name, options, kind::writer),
                        detail::lock_access::make(owner, name, options, kind::reader))
{}

lease shared_mutex::adopt(std::string_view nonce) const
{
    return adopt_lease(nonce, 0);
}

} // namespace redlock

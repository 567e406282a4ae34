// SPDX-License-Identifier: BSL-1.0
#include "engine/configuration.hpp"
#include "engine/lock_access.hpp"
#include "kind/kind.hpp"
#include <redlock/mutex.hpp>

#include <utility>

namespace redlock {

mutex::mutex(client& owner, std::string name, lock_options options)
    : basic_lock(detail::lock_access::make(owner, std::move(name), options, kind::plain))
{}

lease mutex::adopt(std::string_view nonce)
{
    return adopt_lease(nonce, 0);
}

lease mutex::adopt(std::string_view nonce, std::uint64_t fencing_token)
{
    if (fencing_token != 0)
        detail::misconfigured("a fencing token is given for a lock without tokens", name());
    return adopt(nonce);
}

} // namespace redlock

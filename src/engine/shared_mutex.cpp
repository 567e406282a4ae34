#include "engine/lock_access.hpp"
#include "kind/kind.hpp"
#include <redlock/shared_mutex.hpp>

#include <utility>

namespace redlock {

shared_mutex::shared_mutex(client& owner, std::string name, lock_options options)
    : basic_lock(detail::lock_access::make(owner, name, options, kind::writer)),
      shared_(detail::lock_access::make(owner, std::move(name), options, kind::reader))
{}

lease shared_mutex::adopt(std::string_view nonce)
{
    return adopt_lease(nonce, 0);
}

} // namespace redlock

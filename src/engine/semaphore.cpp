// SPDX-License-Identifier: BSL-1.0
#include "kind/semaphore.hpp"

#include "engine/configuration.hpp"
#include "engine/lock_access.hpp"
#include "engine/lock_descriptor.hpp"
#include "kind/kind.hpp"
#include <redlock/any_lock.hpp>
#include <redlock/fence_options.hpp>
#include <redlock/fenced_semaphore.hpp>
#include <redlock/semaphore.hpp>

namespace redlock {

unsigned detail::basic_semaphore::permits() const noexcept
{
    return kind::permits_of(state()->config->kind_terms).limit;
}

unsigned detail::basic_semaphore::count() const noexcept
{
    return kind::permits_of(state()->config->kind_terms).count;
}

detail::lock_ptr detail::basic_semaphore::state_with(unsigned count) const
{
    return lock_access::with_terms(*state(), checked_permits(state()->name(), permits(), count));
}

any_lock detail::basic_semaphore::with_count(unsigned count) const
{
    return basic_semaphore(state_with(count));
}

semaphore::semaphore(client& owner, std::string_view name, unsigned permits, lock_options options)
    : basic_semaphore(detail::lock_access::make(owner, name, options, kind::semaphore,
                                                detail::checked_permits(name, permits, 1)))
{}

semaphore semaphore::taking(unsigned count) const
{
    return semaphore(state_with(count));
}

fenced_semaphore::fenced_semaphore(client& owner, std::string_view name, unsigned permits,
                                   lock_options options, fence_options fence)
    : basic_semaphore(detail::lock_access::make(owner, name, {options, fence}, kind::fenced_semaphore,
                                                detail::checked_permits(name, permits, 1)))
{}

fenced_semaphore fenced_semaphore::taking(unsigned count) const
{
    return fenced_semaphore(state_with(count));
}

} // namespace redlock

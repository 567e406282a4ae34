// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/basic_lock.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/detail/lock_operations.hpp>

#include <memory>
#include <utility>

namespace redlock {

namespace detail {
class basic_shared_lock;
} // namespace detail

/// A `shared_mutex` or `fenced_shared_mutex` as its readers see it: a lock for `with_lock`, whose leases are shared. A
/// copy of what it was made from.
class REDLOCK_EXPORT shared_view : public detail::basic_lock {
private:
    friend class detail::basic_shared_lock;
    explicit shared_view(std::shared_ptr<detail::lock_state> state) noexcept : basic_lock(std::move(state)) {}
};

} // namespace redlock

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/export.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>

namespace redlock::detail {

struct lock_descriptor;
REDLOCK_EXPORT void intrusive_ptr_add_ref(lock_descriptor*) noexcept;
REDLOCK_EXPORT void intrusive_ptr_release(lock_descriptor*) noexcept;

/// The common state of all copies of a lock, of its acquisitions and its leases.
using lock_ptr = boost::intrusive_ptr<lock_descriptor>;

} // namespace redlock::detail

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/lease.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <utility>

namespace redlock::detail {

/// Makes leases. No other class can.
struct lease_access {
    static held_lease const* get(lease const& of) { return of.held_.get(); }
    static lease make(boost::intrusive_ptr<held_lease> held) { return lease(std::move(held)); }
};

} // namespace redlock::detail

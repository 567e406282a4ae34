// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kind/kind.hpp"

namespace redlock::kind {

class permit_list;

/// Arguments of one lease's commands, besides key, nonce and number. Only some kinds of lock have any.
class lease_arguments {
public:
    lease_arguments() = default;
    lease_arguments(lease_arguments const&) = delete;
    lease_arguments& operator=(lease_arguments const&) = delete;
    virtual ~lease_arguments() = default;

    /// \param exact is the command about these arguments alone? A node may have granted others, too.
    virtual void add_to(command_arguments&, bool exact) const = 0;
    /// Null: they are no permits.
    [[nodiscard]] virtual permit_list const* as_permits() const { return nullptr; }
    /// Do observers read them on the nodes, once an extension has told them?
    [[nodiscard]] virtual bool are_observed() const { return false; }
};

} // namespace redlock::kind

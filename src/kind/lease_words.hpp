// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "kind/kind.hpp"

namespace redlock::kind {

class permit_list;

/// Words of one lease that its commands carry beside key, nonce and number. Only some kinds of lock have any.
class lease_words {
public:
    lease_words() = default;
    lease_words(lease_words const&) = delete;
    lease_words& operator=(lease_words const&) = delete;
    virtual ~lease_words() = default;

    /// \param exact is the command about these words alone? A node may have granted others, too.
    virtual void add_to(subject&, bool exact) const = 0;
    /// Null: they are no permits.
    [[nodiscard]] virtual permit_list const* as_permits() const { return nullptr; }
    /// Do observers read them on the nodes, once an extension has told them?
    [[nodiscard]] virtual bool are_observed() const { return false; }
};

} // namespace redlock::kind

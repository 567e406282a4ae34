// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/tally.hpp"

#include <boost/intrusive/list_hook.hpp>

namespace redlock::detail {

/// An observer of a leader, as the key's queue knows it.
class onlooker {
public:
    using hook =
        boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
    hook place;

    /// It may have changed on these nodes. Nobody stops looking on from here.
    virtual void leader_changed(core::node_set where) = 0;

protected:
    ~onlooker() = default;
};

} // namespace redlock::detail

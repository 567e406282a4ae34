// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/tally.hpp"

#include <boost/intrusive/list_hook.hpp>

namespace redlock::detail {

/// Receives changes of an election's leader from the key's local queue.
class leader_listener {
public:
    using hook_type =
        boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
    hook_type hook;

    /// The leader may have changed on these nodes. The list of listeners must not change during the call.
    virtual void leader_changed(core::node_set where) = 0;

protected:
    ~leader_listener() = default;
};

} // namespace redlock::detail

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/batch_policy.hpp"
#include "core/instant.hpp"
#include "core/passage.hpp"

#include <cstdint>

namespace redlock::core {

/// How an operation begins to ask the nodes.
enum class start_mode : std::uint8_t {
    at_once,
    others_first ///< this client has had the lock, and other clients get their chance first
};

/// Knowledge of other clients that want the lock (docs/protocol.md, rules W4, W5 and Q19).
struct contention {
    batch_policy batch;
    passage passing;

    /// The nodes are asked from now on.
    /// \param window how long a lock is left free so that other clients hear of it
    // rule W5
    [[nodiscard]] start_mode ask(batch_policy::terms const& terms, batch_policy::next who, instant now,
                                 duration window)
    {
        if (batch.look(now, window))
            passing.interrupted();
        return batch.may_go_on(terms, who, now) ? start_mode::at_once : start_mode::others_first;
    }
    /// An exclusive lease has begun in this client.
    void granted(instant now)
    {
        batch.granted(now);
        passing.granted(now);
    }
    /// Another client has the lock.
    void met_others()
    {
        batch.somebody_came();
        passing.interrupted();
    }
};

} // namespace redlock::core

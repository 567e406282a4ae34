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

/// Decides which operation of one client has a lock next, and when other clients get their chance first
/// (docs/protocol.md, rules W1, W4 and W5). Events come in; consequences come out. The nodes are asked for at most one
/// waiter.
class local_queue {
public:
    /// Held by this client, or asked for?
    [[nodiscard]] bool busy() const { return held_ || asking_; }
    [[nodiscard]] bool held() const { return held_; }
    [[nodiscard]] bool asking() const { return asking_; }
    /// Did other clients appear the last time?
    // rule Q11
    [[nodiscard]] bool has_rivals() const { return batch_.has_rivals(); }

    /// The nodes are asked from now on.
    /// \param window how long a lock is left free so that other clients hear of it
    // rule W5
    start_mode ask(batch_policy::terms const& first, batch_policy::next who, instant now, duration window)
    {
        asking_ = true;
        if (batch_.paused(now, window))
            passing_.interrupted();
        batch_.look(now, window);
        return batch_.may_go_on(first, who, now) ? start_mode::at_once : start_mode::others_first;
    }
    /// There is no waiter left to ask for.
    void stop_asking() { asking_ = false; }

    /// \param asked_for it is the waiter that the nodes were asked for, not an operation that did not wait
    /// \param offered_window other clients could have had it before, and did not
    void won(bool asked_for, bool offered_window, instant now)
    {
        won_shared(asked_for, offered_window);
        hold(now);
    }
    /// Won by a reader, or on a semaphore: this client's next operation need not wait for the lease's end (rule S18).
    void won_shared(bool asked_for, bool offered_window)
    {
        if (asked_for)
            asking_ = false;
        if (offered_window)
            batch_.nobody_came();
    }
    /// Won elsewhere, or handed over by the previous owner.
    void hold(instant now)
    {
        held_ = true;
        batch_.granted(now);
        passing_.granted(now);
    }
    /// May the ending lease go to this client's first waiter, as far as other clients are concerned?
    // rule W4
    [[nodiscard]] bool may_hand_over(batch_policy::terms const& first, instant now) const
    {
        return !asking_ && batch_.may_go_on(first, batch_policy::next::waiting, now);
    }
    void lease_ended(instant now)
    {
        held_ = false;
        batch_.ended(now);
    }

    /// Another client has it.
    void refused()
    {
        batch_.somebody_came();
        passing_.interrupted();
    }
    [[nodiscard]] passage& passing() { return passing_; }

private:
    batch_policy batch_;
    passage passing_;
    bool held_ = false;
    bool asking_ = false;
};

} // namespace redlock::core

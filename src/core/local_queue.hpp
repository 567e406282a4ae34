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
    in_turn ///< this client has had the lock, and others get their chance first
};

/// Who of one client has a lock next, and when others get their chance first (docs/protocol.md, rules W1, W4 and W5).
/// Events come in; what follows comes out. Of those who wait, one at most is asked for.
class local_queue {
public:
    /// Held by this client, or asked for?
    [[nodiscard]] bool busy() const { return held_ || asking_; }
    [[nodiscard]] bool held() const { return held_; }
    [[nodiscard]] bool asking() const { return asking_; }
    /// Were others met the last time?
    // rule Q11
    [[nodiscard]] bool has_rivals() const { return batch_.has_rivals(); }

    /// The nodes are asked from now on.
    /// \param turn how long a lock is left alone so that others hear that it is free
    // rule W5
    start_mode ask(batch_policy::terms const& first, batch_policy::next who, instant now, duration turn)
    {
        asking_ = true;
        if (batch_.paused(now, turn))
            passing_.interrupted();
        batch_.look(now, turn);
        return batch_.may_go_on(first, who, now) ? start_mode::at_once : start_mode::in_turn;
    }
    /// Nobody is left to ask for.
    void stop_asking() { asking_ = false; }

    /// \param asked_for it is the one for whom the nodes were asked, not one that did not wait
    /// \param offered_turn others could have had it before, and did not
    void won(bool asked_for, bool offered_turn, instant now)
    {
        won_beside_others(asked_for, offered_turn);
        hold(now);
    }
    /// By a reader, or of a semaphore: who comes next of this client need not wait for its end (rule S18).
    void won_beside_others(bool asked_for, bool offered_turn)
    {
        if (asked_for)
            asking_ = false;
        if (offered_turn)
            batch_.nobody_came();
    }
    /// Won elsewhere, or handed over by the one before.
    void hold(instant now)
    {
        held_ = true;
        batch_.granted(now);
        passing_.granted(now);
    }
    /// May the lease that ends go to the first of those who wait, as far as others are concerned?
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

    /// Others have it.
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

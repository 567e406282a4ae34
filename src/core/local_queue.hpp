// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/batch_policy.hpp"
#include "core/fairness.hpp"
#include "core/instant.hpp"
#include "core/passage.hpp"

#include <cstdint>
#include <utility>

namespace redlock::core {

/// How an operation begins to ask the nodes.
enum class start_mode : std::uint8_t {
    at_once,
    in_turn,     ///< this client has had the lock for long; others get their chance first
    after_rivals ///< it has just had the lock, nobody else of it waits, and others are known to
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
    [[nodiscard]] bool has_rivals() const { return batch_.has_rivals(); }
    /// Do some of them not stand in line?
    [[nodiscard]] bool has_outsiders() const { return batch_.has_outsiders(); }

    /// The nodes are asked from now on.
    /// \param turn how long a lock is left alone so that others hear that it is free
    start_mode ask(batch_policy::terms const& first, batch_policy::next who, instant now, duration turn)
    {
        asking_ = true;
        if (batch_.paused(now, turn))
            passing_.interrupted();
        batch_.look(now, turn);
        if (batch_.may_go_on(first, who, now))
            return start_mode::at_once;
        bool const overtakes = who == batch_policy::next::coming && batch_.has_rivals();
        return overtakes ? start_mode::after_rivals : start_mode::in_turn;
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
        if (asked_for) {
            asking_ = false;
            fairness_.granted();
        }
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
    /// After that wait it was free, and nobody had left it free for a while.
    void outsider_left() { batch_.outsider_left(); }
    /// This owner was found where all meet.
    /// \param owner the first part of its nonce
    void met(std::uint64_t owner)
    {
        auto const name = static_cast<std::uint32_t>(owner ^ owner >> 32U);
        if (std::exchange(last_met_, name) != name)
            fairness_.another_had_it();
    }
    [[nodiscard]] passage& passing() { return passing_; }
    /// How long to let others go first when the lock is free.
    [[nodiscard]] duration yield_delay(duration most) const { return fairness_.yield_delay(most); }

private:
    batch_policy batch_;
    passage passing_;
    std::uint32_t last_met_ = 0;
    fairness fairness_;
    bool held_ = false;
    bool asking_ = false;
};

} // namespace redlock::core

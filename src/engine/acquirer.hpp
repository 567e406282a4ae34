// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/acquiring.hpp"
#include "core/contention.hpp"
#include "core/instant.hpp"
#include "core/outage.hpp"
#include "core/tally.hpp"
#include "core/timer_wheel.hpp"
#include "engine/attempt.hpp"
#include "engine/attempt_limit.hpp"
#include "engine/key_state.hpp"
#include "engine/lock_descriptor.hpp"
#include "engine/pause.hpp"
#include "engine/poll_pause.hpp"
#include "engine/pool.hpp"
#include "engine/queue_pause.hpp"
#include "engine/runtime.hpp"
#include "engine/waiter.hpp"
#include "net/loop.hpp"
#include <redlock/error.hpp>

#include <optional>
#include <string_view>

namespace redlock::detail {

/// Knows the waiters for which an acquirer asks, in their order: the queue of one name, or an operation on several.
class acquirer_owner {
public:
    /// Returns the next waiter that the same acquirer can serve. Null: there is none.
    [[nodiscard]] virtual waiter* after(waiter const&) = 0;
    /// The waiter is done. Returns the next one that its acquirer serves from now on.
    virtual waiter* drop(waiter&) = 0;
    /// The lock is won.
    virtual void won(acquirer&, held_lease&) = 0;
    /// There is no waiter left to ask for.
    virtual void acquirer_ended() = 0;
    /// The attempt has failed. Returns true if the waiter goes on without the acquirer (rule M8).
    [[nodiscard]] virtual bool on_attempt_lost(errc) { return false; }
    /// Returns nonces that were given up for the next attempt, one for each of several names, whose keys it may take.
    [[nodiscard]] virtual std::string_view given_up() const { return {}; }

protected:
    ~acquirer_owner() = default;
};

/// Asks the nodes for a lock on behalf of one waiter, and of the next one when that leaves: attempts, with pauses between
/// them, until one wins or nobody wants the lock any more.
class acquirer final : private attempt_listener,
                       private pause_listener,
                       private core::timer,
                       private net::task,
                       private throttled {
public:
    acquirer(runtime&, pool<acquirer>& home);
    acquirer(acquirer const&) = delete;
    acquirer& operator=(acquirer const&) = delete;

    void start(acquirer_owner&, key_state&, waiter& first, core::start_mode);
    /// The waiter has left, and this one is the next.
    void serve(waiter& next_waiter);
    [[nodiscard]] waiter* current_waiter() const { return wanted_.current_waiter; }
    /// Could other clients have had the lock before, and did not take it?
    [[nodiscard]] bool nobody_came() const { return wanted_.nobody_came; }
    /// Is this the name that it has looked at?
    [[nodiscard]] bool awaits(key_state const& name) const { return &wanted_.awaited_key() == &name; }
    /// Returns the attempt that won.
    [[nodiscard]] attempt const& won() const { return attempt_; }
    /// Nobody wants the lock any more: what was voted is taken back.
    void stop() { go(state_.no_waiter()); }
    /// The waiter's time is up: an attempt for it alone counts as it stands. Returns whether that is won, which the waiter hears
    /// in a task.
    [[nodiscard]] bool decide_now(waiter& one);
    /// Returns since when no majority has been in reach for an operation that began at `started`. Empty: one is, or may be.
    [[nodiscard]] std::optional<core::instant> outage_since(core::instant started) const
    {
        return outage_.since(started);
    }
    /// Do too few nodes answer, as far as it can be told by now?
    [[nodiscard]] bool lacks_nodes() const;
    /// A waiter that gives up between two attempts for want of nodes finds the reason in the table of its lock. Returns false
    /// if the nodes are being asked.
    [[nodiscard]] bool tell_of_nodes(lock_descriptor const&);
    /// Does it wait for others without a position in the queue?
    [[nodiscard]] bool polls() const { return state_.at == phase::pausing && pause_ == &poll_; }

    /// A node became usable, or certainly unusable.
    void nodes_changed();
    /// A node says that a key has changed: its own, or one of several.
    void invalidated(unsigned node, key_state const& which);
    /// The same, but the change was sent by this client, behind what the acquirer has sent so far.
    void changed_by_us(core::node_set);
    /// Lets go of the lock.
    void discard()
    {
        wanted_.current_waiter = nullptr;
        attempt_.discard();
    }

private:
    using phase = core::acquiring::phase;
    using step = core::acquiring::step;

    [[nodiscard]] lock_descriptor const& lock() const { return wanted_.lock(); }

    void go(core::acquiring::answer);
    [[nodiscard]] step settle(core::acquiring::answer);
    void expire() override;
    void run() override;
    void finish();
    void on_drained() override;

    /// \name Attempts
    ///@{
    void on_admitted() override { connect_then_vote(); }
    void connect_then_vote();
    void enter_then_vote();
    void on_won() override;
    void on_lost(errc cause) override;
    void roll_back();
    void tell(errc result) const;
    void on_contended();
    void drop_ended_waiters(errc cause, core::node_census const&);
    void retry_in_next_turn();
    void back_off(errc cause);
    ///@}

    /// \name Pauses
    ///@{
    void pause_for(pause_reason const&);
    void on_step(pause_step) override;
    void watch_majority();
    void schedule_pause();
    [[nodiscard]] std::optional<core::instant> patience_ends() const;
    ///@}

    runtime& runtime_;
    pool<acquirer>& home_;
    acquisition wanted_;
    attempt attempt_;
    queue_pause queue_;
    poll_pause poll_;
    pause* pause_ = &queue_;
    core::acquiring state_;
    pause_reason::cause why_{};       ///< it pauses
    bool meeting_node_first_ = false; ///< the next attempt asks first where contenders meet
    bool expects_pushes_ = false;
    bool awaits_quarantine_ = false; ///< while it backs off

    core::outage outage_;
    core::instant connecting_since_;
};

} // namespace redlock::detail

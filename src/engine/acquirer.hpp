// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "core/local_queue.hpp"
#include "core/outage.hpp"
#include "core/tally.hpp"
#include "core/timer_wheel.hpp"
#include "engine/attempt.hpp"
#include "engine/attempt_limit.hpp"
#include "engine/candidate.hpp"
#include "engine/key_state.hpp"
#include "engine/lock_state.hpp"
#include "engine/node_group.hpp"
#include "engine/pause.hpp"
#include "engine/poll_pause.hpp"
#include "engine/pool.hpp"
#include "engine/queue_pause.hpp"
#include "engine/runtime.hpp"
#include "kind/kind.hpp"
#include "net/loop.hpp"
#include <redlock/error.hpp>

#include <boost/system/error_code.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace redlock::detail {

/// Asks the nodes for a lock on behalf of one waiter, and of the next one when that leaves: attempts, with pauses between
/// them, until one wins or nobody wants the lock any more.
class acquirer final : private attempt_listener,
                       private pause_listener,
                       private core::timer,
                       private net::task,
                       private limited {
public:
    acquirer(runtime&, pool<acquirer>& home);
    acquirer(acquirer const&) = delete;
    acquirer& operator=(acquirer const&) = delete;

    void start(key_state&, candidate& waiter, core::start_mode);
    /// The waiter has left, and this one is the next.
    void serve(candidate& successor);
    [[nodiscard]] candidate* waiter() const { return wanted_.waiter; }
    /// Could other clients have had the lock before, and did not take it?
    [[nodiscard]] bool nobody_came() const { return nobody_came_; }
    /// Is what it won handed over by another client?
    [[nodiscard]] bool claims() const { return attempt_.claims(); }
    /// Returns the nodes that hold what it won.
    [[nodiscard]] core::node_set holders() const { return attempt_.votes().holders(); }
    /// Nobody wants the lock any more: what was voted is taken back.
    void stop();
    /// Time is up: a node that has not answered now does not count.
    void hurry();
    /// Do too few nodes answer, as far as it can be told by now?
    [[nodiscard]] bool lacks_nodes() const;
    /// A waiter that gives up between two attempts for want of nodes finds the reason in the lock's table. Returns false if
    /// the nodes are being asked.
    [[nodiscard]] bool tell_of_nodes();
    /// Does it wait for others without a position in the queue?
    [[nodiscard]] bool polls() const { return phase_ == phase::pausing && &now() == &poll_; }

    /// A node became usable, or certainly unusable.
    void nodes_changed();
    /// A node says that a key has changed: its own, or one of several.
    void invalidated(unsigned node, key_state const& which);
    /// The same, but the change was sent by this client, behind what the acquirer has sent so far.
    void changed_here(core::node_set);
    /// Lets go of the lock.
    void discard();

private:
    enum class phase : std::uint8_t {
        retired,
        connecting,
        held_up, ///< there are too many attempts of this client
        voting,
        backing_off, ///< for want of nodes
        pausing,     ///< for others
        won,
        draining
    };

    [[nodiscard]] node_group& nodes() const { return runtime_.nodes; }
    [[nodiscard]] lock_state const& lock() const { return wanted_.lock(); }
    [[nodiscard]] pause& now() const { return *ways_[way_]; }

    void begin(core::start_mode);
    void expire() override;
    void run() override;
    void enter(phase);
    void finish();
    void retire_if_drained();

    /// \name Attempts
    ///@{
    void connect_or_vote();
    void hasten_nodes();
    void vote();
    void claim();
    void go_on() override { connect_or_vote(); }
    void fail_waiter(boost::system::error_code);
    void on_won() override;
    void on_lost(errc cause) override;
    void on_attempt_drained() override { retire_if_drained(); }
    void take_back();
    void tell(errc result);
    void refused();
    void await_most_refused();
    /// Gives the waiter back to its queue (rule M8) and ends. Returns false if the acquirer goes on.
    [[nodiscard]] bool yield_waiter(errc cause);
    void drop_those_who_end(errc cause, core::node_census const&);
    [[nodiscard]] errc end_after(errc cause, core::node_census const&) const;
    candidate& drop_waiter();
    void back_off(errc cause);
    void vote_soon();
    ///@}

    /// \name Pauses
    ///@{
    void pause_from(std::size_t way, pause_reason const&);
    void follow(pause_step) override;
    void on_sighting(unsigned node, kind::sighting const&) override;
    void on_others() override;
    void on_position(std::size_t before) override;
    void on_pause_drained() override { retire_if_drained(); }
    void watch_majority();
    void schedule_pause();
    /// Returns when the waiter has waited in vain for long enough. Nothing: not yet, or its limit ends it.
    [[nodiscard]] std::optional<core::instant> vain_at() const;
    void end_pause_and_vote();
    ///@}

    runtime& runtime_;
    pool<acquirer>& home_;
    acquisition wanted_;
    attempt attempt_;
    queue_pause queue_;
    poll_pause poll_;
    std::array<pause*, 2> const ways_{&queue_, &poll_}; ///< to pause, in the order in which they are tried
    std::uint8_t way_ = 0;
    phase phase_ = phase::retired;
    pause_reason::cause why_{}; ///< it pauses
    bool in_sequence_ = false;  ///< the next attempt asks first where contenders meet
    bool nobody_came_ = false;
    bool listening_ = false;

    core::outage outage_;
    core::instant connecting_since_;
    unsigned refusals_ = 0; ///< in a row, for the back-off
};

} // namespace redlock::detail

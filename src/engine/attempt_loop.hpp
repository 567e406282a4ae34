// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "core/local_queue.hpp"
#include "core/outage.hpp"
#include "core/tally.hpp"
#include "core/timer_wheel.hpp"
#include "core/vote_pause.hpp"
#include "engine/attempt.hpp"
#include "engine/attempt_limit.hpp"
#include "engine/candidate.hpp"
#include "engine/key_state.hpp"
#include "engine/lock_state.hpp"
#include "engine/node_group.hpp"
#include "engine/place_in_line.hpp"
#include "engine/pool.hpp"
#include "engine/replies.hpp"
#include "engine/round.hpp"
#include "engine/runtime.hpp"
#include "kind/kind.hpp"
#include "net/connect.hpp"
#include "net/loop.hpp"
#include "redis/command.hpp"
#include <redlock/error.hpp>

#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace redlock::detail {

/// Asks the nodes for a lock on behalf of one candidate, and of the next one when that leaves: attempts, with pauses
/// between them that end when the lock may be free, until one wins or nobody wants it any more. What has to be decided is
/// in core; its members are what is left: one state, of which each pause and attempt needs nearly all.
class attempt_loop final : private round<attempt_loop>,
                           private attempt_listener,
                           private place_listener,
                           private core::timer,
                           private net::task,
                           private limited {
public:
    attempt_loop(runtime&, pool<attempt_loop>& home);

    void start(key_state&, candidate& whom, core::start_mode);
    /// The one it asked for has left.
    void serve(candidate& next);
    [[nodiscard]] candidate* whom() const { return whom_; }
    [[nodiscard]] bool offered_turn() const { return offered_turn_; }
    /// Is what it won handed over by another client?
    [[nodiscard]] bool claims() const { return attempt_.claims(); }
    /// Where what it won is held.
    [[nodiscard]] core::node_set holders() const { return attempt_.votes().holders(); }
    /// Nobody wants the lock any more: what was voted is taken back.
    void stop();
    /// Time is up: who has not answered now does not count.
    void hurry();
    /// Do too few nodes answer, as far as it can be told by now?
    [[nodiscard]] bool lacks_nodes() const;
    /// Whoever gives up between two attempts, for want of nodes, finds in the lock's table why. False: they are being asked.
    [[nodiscard]] bool tell_of_nodes();
    [[nodiscard]] bool waits_for_others() const
    {
        return phase_ == phase::waiting && cause_ == errc::contended;
    }

    /// A node became usable, or certainly unusable.
    void nodes_changed();
    /// A node says that a key has changed: its own, or one of several.
    void invalidated(unsigned node, key_state const& which);
    /// The same, but the change was sent by this client, behind what this loop has sent so far.
    void changed_here(core::node_set);
    /// Lets go of the lock.
    void discard();

private:
    enum class phase : std::uint8_t { retired, connecting, held_up, voting, waiting, in_line, won, draining };
    friend class round<attempt_loop>;

    /// \name Peeks
    ///@{
    [[nodiscard]] node_group& nodes() const { return runtime_.nodes; }
    [[nodiscard]] kind::lock_kind const& type() const { return *type_; }
    void append(std::string& out, kind::request what, redis::script_form form) const
    {
        type_->append(out, what, {awaited_key(), {}}, form);
    }
    void on_answer(node_answer const&);
    void on_silence(unsigned, kind::request, bool, net::failure const&) {}
    void on_drained() { retire_if_drained(); }
    void peek(unsigned node);
    void peek_in_the_way();
    [[nodiscard]] redis::lock_key awaited_key() const;
    /// What this client knows of others that want it.
    [[nodiscard]] core::local_queue& of_name() const { return key_->one(awaited_).local(); }
    void await_most_refused();
    ///@}

    /// \name Attempts
    ///@{
    void connect_or_vote();
    void hasten_nodes();
    void vote();
    void go_on() override { connect_or_vote(); }
    void fail_candidate(boost::system::error_code);
    void on_won() override;
    void on_lost(errc cause) override;
    void on_attempt_drained() override { retire_if_drained(); }
    void take_back();
    void tell(errc result);
    void refused();
    void note_rivals();
    /// Gives the candidate back to its queue (rule M8) and ends this loop. False: the loop goes on.
    [[nodiscard]] bool yield_candidate(errc cause);
    void drop_those_who_end(errc cause, core::node_census const&);
    [[nodiscard]] errc end_after(errc cause, core::node_census const&) const;
    ///@}

    /// \name Pauses
    ///@{
    void offer_turn();
    void somebody_came();
    void listen();
    void wait_for_nodes(errc cause);
    void wait_for_others();
    void key_changed();
    void schedule_vote();
    [[nodiscard]] core::vote_pause::pace pace() const;
    ///@}

    /// \name The line
    ///@{
    [[nodiscard]] bool wants_line() const;
    /// \param then the lock is left to others until then
    [[nodiscard]] bool stand_in_line(core::instant then, bool in_front = false);
    [[nodiscard]] bool take_place(core::instant then, bool in_front);
    void claim();
    void leave_line();
    void on_held(unsigned node, kind::sighting const&) override;
    void on_placed() override;
    void on_moved() override;
    void on_other_line() override;
    void on_called() override;
    void tell_place();
    void watch_majority();
    /// When whoever is asked for has waited in vain for long enough. Nothing: not yet, or its limit ends it.
    [[nodiscard]] std::optional<core::instant> vain_at() const;
    void stand_on();
    void on_doubt(unsigned node) override;
    void found_free(unsigned node);
    void on_no_line() override;
    void on_place_drained() override { retire_if_drained(); }
    ///@}

    void begin(core::start_mode);
    void expire() override;
    void run() override;
    void note_terms();
    void enter(phase);
    void finish();
    void retire_if_drained();
    [[nodiscard]] lock_state const& lock() const { return *whom_->lock(); }
    candidate& drop_candidate();

    runtime& runtime_;
    pool<attempt_loop>& home_;
    attempt attempt_;
    place_in_line place_;
    key_state* key_ = nullptr;
    kind::lock_kind const* type_ = nullptr; ///< of the last one it asked for; so is the next
    std::chrono::milliseconds key_ttl_{};
    candidate* whom_ = nullptr;
    phase phase_ = phase::retired;
    bool in_turn_ = false; ///< the next attempt asks first where all meet
    bool offered_turn_ = false;
    bool listening_ = false;
    bool barred_ =
        false; ///< from the line, for one refusal: others took what was handed to us, or do not let us in
    core::node_set free_{}; ///< nodes without a key while the one where it stands in line has one
    std::optional<std::uint64_t> told_{}; ///< how many stand before it in line
    errc cause_{};                        ///< of the wait; contended: for the others
    std::uint8_t awaited_ = 0;            ///< of several names, the one that is in the way

    core::vote_pause pause_;
    core::outage outage_;
    core::instant connecting_since_;
    unsigned refusals_ = 0; ///< in a row, for the back-off
};

} // namespace redlock::detail

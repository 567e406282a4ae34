// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>

namespace redlock::core {

/// The step that follows an event of a pause.
enum class pause_step : std::uint8_t {
    wait,                    ///< until `due()`
    vote,                    ///< at all nodes at once
    vote_meeting_node_first, ///< first where contenders meet (rule W3)
    claim,                   ///< a remote handoff gave it the lock
    closed,                  ///< this way to pause is not open any more: the next one is tried
};

/// Decides in which order an acquirer connects, votes, pauses and ends. Each function is an event, and its arguments are facts.
struct acquiring {
    enum class phase : std::uint8_t {
        idle,
        connecting,
        held_up, ///< there are too many attempts of this client
        voting,
        backing_off, ///< for want of nodes
        pausing,     ///< for others
        won,
        draining
    };
    enum class step : std::uint8_t {
        nothing,
        connect,
        await_nodes,
        enter, ///< among this client's attempts
        vote,
        deliver,
        back_off,
        retry, ///< in the next turn
        pause,
        watch, ///< for a majority, while it pauses
        reschedule,
        end_of_pause,
        finish
    };
    /// A node that is told something may answer at once. So the old phase is cleared up before the new one begins.
    struct answer {
        step then;
        phase next;
        bool takes_back = false; ///< the votes
        bool ends_pause = false;
    };

    phase at = phase::idle;

    [[nodiscard]] constexpr bool has_votes() const { return at == phase::voting || at == phase::won; }
    [[nodiscard]] constexpr answer stays(step then = step::nothing) const { return {then, at}; }

    [[nodiscard]] static constexpr answer connected(bool may_vote)
    {
        return may_vote ? answer{step::enter, phase::held_up} : answer{step::await_nodes, phase::connecting};
    }
    [[nodiscard]] static constexpr answer admitted() { return {step::vote, phase::voting}; }
    [[nodiscard]] static constexpr answer won() { return {step::deliver, phase::won}; }
    /// \param wanted there is a waiter that does not go on without the acquirer
    [[nodiscard]] constexpr answer lost(bool wanted, bool contended) const
    {
        if (!wanted)
            return stays(step::finish);
        return contended ? stays(step::pause) : answer{step::back_off, phase::backing_off};
    }
    [[nodiscard]] constexpr answer paused(bool open) const
    {
        return open ? answer{step::watch, phase::pausing} : stays(step::connect);
    }
    [[nodiscard]] constexpr answer pause_says(pause_step what) const
    {
        if (at != phase::pausing)
            return stays();
        switch (what) {
        case pause_step::wait: return stays(step::reschedule);
        case pause_step::closed: return stays(step::pause);
        case pause_step::claim:
            return {step::connect, phase::backing_off}; // the position goes with the claim
        default: return {.then = step::connect, .next = phase::backing_off, .ends_pause = true};
        }
    }
    /// \param due the pause itself is over
    /// \param in_vain the patience of its waiter is over
    [[nodiscard]] constexpr answer time_is_up(bool due, bool in_vain) const
    {
        switch (at) {
        case phase::connecting: return {step::enter, phase::held_up};
        case phase::backing_off: return stays(step::connect);
        case phase::pausing:
            return due ? stays(step::end_of_pause)
                       : pause_says(in_vain ? pause_step::vote : pause_step::wait);
        default: return stays();
        }
    }
    /// \param quarantined it waits for the end of a quarantine, and the nodes in it may be gone
    [[nodiscard]] constexpr answer nodes_changed(bool majority, bool quarantined) const
    {
        switch (at) {
        case phase::connecting: return stays(step::connect);
        case phase::backing_off:
            return majority ? answer{step::enter, phase::held_up}
                            : stays(quarantined ? step::back_off : step::nothing);
        case phase::pausing: return stays(step::watch);
        default: return stays();
        }
    }
    /// \param fits the next waiter can have the votes, or the place in the pause
    [[nodiscard]] constexpr answer next_waiter(bool fits) const
    {
        if (fits && at == phase::backing_off) // nodes may be ready for its lock
            return stays(step::retry);
        if (fits)
            return stays(at == phase::pausing ? step::reschedule : step::nothing); // its patience is another
        return {step::retry, phase::backing_off, has_votes(), !has_votes()};
    }
    [[nodiscard]] constexpr answer no_waiter() const { return {step::finish, at, has_votes()}; }
};

} // namespace redlock::core

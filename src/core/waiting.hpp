// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/backoff.hpp"
#include "core/contention.hpp"
#include "core/instant.hpp"
#include "core/tally.hpp"

namespace redlock::core {

/// Between two attempts of somebody who waits for a lock: when to vote again, and which nodes to ask for the key
/// meanwhile (docs/protocol.md, rules W2, W3 and W5). Events come in; `decide` says what follows from all of them.
class waiting {
public:
    /// How long to wait where nobody tells what for.
    struct pace {
        duration min_delay;
        duration max_delay;
        duration round_trip;
    };
    struct chances {
        random_fraction poll;
        random_fraction dodge;
    };
    struct step {
        bool vote = false;     ///< now
        bool in_turn = false;  ///< and at the meeting point first
        instant at{};          ///< otherwise: when to decide again
        bool roughly = false;  ///< then, or a little later
        node_set peek{};       ///< nodes to be asked how long their key still lives
        node_set peek_owner{}; ///< of them, those to be asked whose it is
    };

    explicit waiting(unsigned nodes) { known_.start(nodes, 0); } // for the memory

    /// For somebody new: nothing is known.
    void start();
    /// Of several keys another one is waited for now (rule M7).
    void await_another();

    /// \name Nodes
    ///@{
    [[nodiscard]] bool knows_nodes() const { return knows_; }
    /// \param first where contenders meet
    /// \param refusing nodes that have refused a vote
    void meet(unsigned nodes, unsigned first, node_set refusing);
    [[nodiscard]] contention const& known() const { return known_; }
    void usable(unsigned node, bool yes) { known_.usable(node, yes); }
    /// Does it vote, one way or the other?
    void votes(unsigned node, bool yes) { known_.votes(node, yes); }
    /// Some may be asked for their keys who could not be before.
    void nodes_changed() { peeks_all_ = true; }
    ///@}

    /// \name Attempts
    ///@{
    /// What was asked before is not believed any more.
    void attempt_began();
    void refused(unsigned node);
    void attempt_lost(instant began);
    ///@}

    /// \name The beginning of a wait
    ///@{
    /// Others may go first until then. \param rivals they are known: the turn is over when one of them takes it
    void offer_turn(instant until, bool rivals);
    /// After a turn that was offered, or votes that were refused.
    /// \param refusals in a row
    void wait(instant now, pace const&, unsigned refusals, chances const&);
    /// \param crossed some nodes had granted it
    void dodge(instant now, pace const&, bool crossed, chances const&);
    [[nodiscard]] bool yields() const { return yields_; }
    /// From now on it is one of those who wait.
    void turn_taken(instant now);
    ///@}

    /// \name What is heard
    ///@{
    /// This connection's server will tell when the key changes.
    void listens(unsigned node) { listening_.insert(node); }
    /// These will not, or not any more.
    void deaf(node_set where) { listening_.erase(where); }
    /// A node was asked for the key. \param tracks its server tells of changes
    void peeked(unsigned node, bool tracks);
    /// What was asked there has failed.
    void failed(unsigned node);
    void found_free(unsigned node) { known_.found_free(node); }
    void found_held(unsigned node) { known_.found_held(node); }
    void found_held_until(unsigned node, instant until) { known_.found_held_until(node, until); }
    /// All that a node was asked is answered.
    void answered(unsigned node) { peeking_.erase(node); }
    /// A node says that the key has changed. True: the lease ends of whoever had the lock.
    [[nodiscard]] bool changed(unsigned node);
    /// While a turn is offered: somebody came. He is asked for.
    void somebody_came(unsigned node);
    /// This client itself has changed the key there, behind what was sent so far: it is not told, and the server has
    /// forgotten that it listens (NOLOOP).
    /// \param waits it is asked again at once
    void changed_here(node_set where, bool waits);
    /// Those who have waited longer go first.
    void leave_alone_until(instant then, instant now);
    ///@}

    /// \param tracking nodes whose servers tell of changes when they are asked, as far as is known by now
    [[nodiscard]] step decide(instant now, node_set tracking);

private:
    [[nodiscard]] bool hears(node_set tracking) const;
    [[nodiscard]] instant next_vote(instant now, node_set tracking) const;
    void peek(unsigned node, bool at_owner);
    void peek_all();

    contention known_;
    node_set listening_;  ///< nodes that will tell when the key changes
    node_set peeking_;    ///< nodes that were asked for the key, and have not answered
    node_set outdated_;   ///< whose answers to the last attempt are older than what this client changed
    node_set peek_;       ///< nodes to be asked
    node_set peek_owner_; ///< of them
    instant not_before_;
    instant poll_at_;       ///< while nobody tells us
    instant try_anyway_at_; ///< while nobody knows when the keys expire
    instant peek_all_at_;
    unsigned collisions_ = 0; ///< attempts in a row that others crossed
    bool knows_ = false;
    bool peeks_all_ = false;
    bool yields_ = false; ///< the turn that was offered goes on
};

} // namespace redlock::core

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/fencing.hpp"
#include "core/instant.hpp"
#include "core/tally.hpp"

#include <cstdint>

namespace redlock::core {

/// The values that must agree: a majority of votes, and with `one_number` also of their numbers (docs/protocol.md, rule
/// F2).
enum class agreement : std::uint8_t { majority, one_number };

/// One attempt to win a majority: answers go in, what to do next comes out (docs/protocol.md, rules A1 to A6 and F2).
///
/// An attempt for one number is not over with its majority of grants: a majority of the counters must be at one token.
/// If they are not, the lower ones are raised. Each node raises its counter only while the key is ours and no other
/// client came after us.
class attempt {
public:
    /// \param sent the clocks before the first byte was sent
    attempt(agreement, unsigned nodes, instant sent);

    /// heeding: won, unless the heeded node refuses. Returned once.
    enum class step : std::uint8_t { pending, heeding, write_back, won, lost };
    /// \param counter of a granting node, if there must be one number
    step voted(unsigned node, vote, fence counter = 0);
    /// The answer to a raise: granted if the node's counter is now at the token.
    step wrote_back(unsigned node, vote);
    /// Ends the wait for answers.
    step time_out();

    /// \param node whose refusal refuses the attempt: the queue node (rule Q10). A majority waits for its answer.
    void heed(unsigned node) { heeded_ = node_set(node); }
    /// The heeded node has not answered in the time that a majority of grants waits for it.
    step heed_no_longer();

    /// Loses the attempt to a client that was first: no other node is asked.
    step give_way();

    /// Takes a defeat by refusals back, so that the nodes that refused can be asked again. Returns false if these nodes and
    /// those that granted are no majority.
    bool reopen();
    /// Returns the nodes to ask again: those whose answer was a refusal. A node that has not answered is not asked again,
    /// because it may still execute the first message.
    node_set ask_again();
    /// Nodes whose last answer was a refusal. They have set nothing, so nothing has to be rolled back.
    [[nodiscard]] node_set refused() const { return refused_; }

    [[nodiscard]] bool awaits(unsigned node) const;
    [[nodiscard]] bool has_answered(unsigned node) const { return answered().contains(node); }
    [[nodiscard]] node_set answered() const
    {
        node_set all = votes_.answered();
        all.insert(uncounted_);
        return all;
    }
    [[nodiscard]] node_set to_write_back() const { return fences_.behind(); }
    /// The agreed number, if there must be one. Valid while the attempt is raising, or won.
    [[nodiscard]] fence token() const { return fences_.highest(); }
    /// Nodes that may be relied on: their key is ours, and their counter is at the token if there is one.
    [[nodiscard]] node_set holders() const;
    /// After a defeat: true if a majority answered, or may still answer, so that other clients hold the lock; false if too
    /// few nodes could be asked.
    /// \param unreached nodes to which the vote has not been sent yet
    [[nodiscard]] bool contended(node_set unreached = {}) const;

    [[nodiscard]] instant sent() const { return sent_; }
    [[nodiscard]] unsigned granted() const { return votes_.granted(); }
    [[nodiscard]] unsigned nodes() const { return votes_.nodes(); }
    [[nodiscard]] bool writing_back() const { return writing_back_ && !decided_; }
    [[nodiscard]] bool decided() const { return decided_; }
    /// Does a majority of grants wait for the heeded node?
    [[nodiscard]] bool heeding() const { return heeding_ && !writing_back_ && !decided_; }

private:
    void record(unsigned node, vote, fence counter);
    step conclude();
    step decide(verdict);
    step agree();
    void heard_late(unsigned node, vote, fence counter);

    instant sent_;
    tally votes_;
    tally write_backs_; ///< nodes at the token
    fence_tally fences_;
    node_set late_;
    node_set refused_;
    node_set heeded_;    ///< until it has answered
    node_set uncounted_; ///< nodes that answered while a majority waited for it
    agreement on_;
    bool writing_back_ = false;
    bool decided_ = false;
    bool timed_out_ = false;
    bool gave_way_ = false;
    bool heeding_ = false;
};

} // namespace redlock::core

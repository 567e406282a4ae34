// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "core/tally.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace redlock::core {

struct lease_terms {
    duration ttl;
    duration slack;
    duration max_hold = duration::max();
    duration progress_within = duration::max();
    bool renew = true;
    bool tolerate_suspect = false;
    bool guarded = false; ///< a node itself sees whether another client came in between (rule F4)
};

enum class lease_phase : std::uint8_t { held, suspect, lost, released };

/// A node's answer to an extension. Repaired: the key was gone, and has been set again under the fence's guard.
enum class extension_answer : std::uint8_t { mine, repaired, not_mine, failed };

/// One round of extensions. Between rounds a lease does without it, once all nodes have confirmed the last one.
struct lease_round {
    tally answers{0};        ///< without nodes: there has been no round
    node_set holders_before; ///< a late own vote found by this round proves nothing yet (rule H5)
    node_set refused_by;     ///< also after the verdict (rule H6)
    node_set confirmed;      ///< also after the verdict
    instant sent;
    std::uint8_t repaired = 0;   ///< the number of such answers that count
    bool hears_refusals = false; ///< until its time is over

    [[nodiscard]] bool awaits(unsigned node) const { return !answers.has_answered(node); }
    /// Have all nodes confirmed it? Then nothing follows from it any more.
    [[nodiscard]] bool is_complete() const { return confirmed.size() == answers.nodes(); }
};

/// The nodes that hold the key of a lease, as far as the lease knows.
struct lease_facts {
    node_set holders;  ///< that were found to hold it when they were last asked
    node_set lately;   ///< the holders that said so in the last round
    instant asked;     ///< when that round began
    instant confirmed; ///< when the round began that is relied on
    std::uint8_t nodes = 0;
    bool confirmed_once = false; ///< granted here, or confirmed since

    /// When the last round began that this node confirmed, of those that did; of votes that came late a little less is said.
    [[nodiscard]] instant confirmed_by(unsigned node) const
    {
        return lately.contains(node) && reached(confirmed, asked) ? asked : confirmed;
    }
};

/// Decides when a lease is renewed, whether a renewal counts, and when the lease is over. Time comes in as an argument,
/// and every answer is a value; docs/protocol.md, rules H1 to H7.
class lease_machine {
public:
    /// \param terms must outlive the machine
    /// \param sent when the winning attempt started, before its first byte was sent
    lease_machine(lease_terms const&, unsigned nodes, instant sent, node_set granted);

    /// The loss is reported this long before the deadline, so that the report itself is in time.
    // rule H7
    static constexpr duration notice = std::chrono::milliseconds{1};

    /// The same ownership, with the same deadline, for another holder, whose longest hold counts from now. A round that
    /// is under way is forgotten.
    /// \param terms the next holder's; of the same `ttl` and `slack`
    [[nodiscard]] lease_machine handed_over(lease_terms const& terms, instant now) const;

    /// Takes over the renewal by another lease, whose key is this one's, too (rule S18).
    void follow(lease_machine const& renewer);
    /// A renewal by the other lease has failed: nodes that do not hold the key do not hold it for this lease either.
    void see_as(lease_machine const& renewer) { seen_ = renewer.seen_; }
    /// The other lease ends, and this one renews the key from now on. A round that is under way is forgotten.
    void become_renewer(lease_machine const& former);
    /// The other lease has lost the key.
    void lose_with(lease_machine const& renewer);

    /// Makes a lease that was granted elsewhere (rule H9): suspect until a round has found its key on a majority.
    [[nodiscard]] static lease_machine adopted(lease_terms const& terms, unsigned nodes, instant now);

    enum class duty : std::uint8_t { none, renew, tell_suspect, tell_lost };
    /// Returns the present duty. Calling it early or often does no harm.
    [[nodiscard]] duty due(instant now);
    /// Is a lease that is not over yet to be reported lost?
    [[nodiscard]] bool lost_at(instant now) const;
    /// When `due` has to be called at the latest; empty if nothing will be due again.
    [[nodiscard]] std::optional<instant> next_due() const;

    /// Opens a round; the answers to an earlier one do not count any more.
    /// \param round the one before, if it is still kept
    void extension_started(lease_round& round, instant sent);

    enum class outcome : std::uint8_t { pending, extended, failed, lost };
    [[nodiscard]] outcome answer(lease_round&, unsigned node, extension_answer, instant now);

    /// A renewal is due, but the holder makes no progress: the renewal is postponed, like one that failed (rule H8).
    void postpone_renewal(instant now);

    /// A renewal is due then.
    void renew_at(instant when) { renew_after_ = elapsed(sent_, when); }

    /// The round is over: a node that is silent now has no vote in it.
    [[nodiscard]] outcome time_out(lease_round&, instant now);

    /// This node cannot be reached now: it does not count as a holder of the key until it confirms.
    void away(unsigned node) { seen_.erase(node); }

    /// A vote granted to this lease's attempt that arrived after its verdict.
    void late_grant(unsigned node, instant now);

    /// True if the lease was still ours to give up.
    bool release();

    enum class loss : std::uint8_t { expired, refused, hold_ended };
    /// Why a lost lease is over.
    [[nodiscard]] loss cause() const;

    /// Is it useful to renew it?
    [[nodiscard]] bool may_renew() const;
    /// Granted here, or confirmed since.
    [[nodiscard]] bool confirmed_once() const { return !unconfirmed_; }
    [[nodiscard]] lease_phase phase() const { return phase_; }
    [[nodiscard]] bool over() const { return phase_ == lease_phase::lost || phase_ == lease_phase::released; }
    [[nodiscard]] instant deadline() const;
    /// The time until it is lost at the latest.
    [[nodiscard]] duration left(instant now) const { return remaining(end(), now); }
    /// Is a round open?
    [[nodiscard]] bool extending() const { return extending_; }
    /// When the round that the lease relies on was confirmed, or earlier.
    [[nodiscard]] instant confirmed() const { return sent_; }
    /// \param last round; null: it is not kept
    [[nodiscard]] lease_facts facts(lease_round const* last) const;
    /// Is it to be renewed again?
    [[nodiscard]] bool renewal_planned() const { return renew_after_ != duration::max(); }
    /// For an expired lease: how late its thread noticed the end of the open round, or that a renewal was due. Zero:
    /// not late enough to explain the loss. Otherwise the thread did not run, and the nodes' answers are not the cause.
    /// \param round_ends empty: no round is open
    [[nodiscard]] duration late_by(std::optional<instant> round_ends, instant now) const;
    /// Nodes that were found to hold our key when they were last asked.
    [[nodiscard]] unsigned votes() const { return seen_.size(); }
    [[nodiscard]] unsigned nodes() const { return nodes_; }

private:
    [[nodiscard]] instant grace_ends() const;
    [[nodiscard]] bool is_refused(lease_round const&) const;
    [[nodiscard]] instant end() const;
    [[nodiscard]] bool ended(instant now) const;
    void note(lease_round&, unsigned node, extension_answer, instant now);
    void note_refusal(lease_round&, unsigned node);
    [[nodiscard]] vote judge(lease_round const&, unsigned node, extension_answer) const;
    [[nodiscard]] bool counts(lease_round const&, instant now) const;
    [[nodiscard]] outcome settle(lease_round const&, instant now);
    void rely_on(instant sent);

    // A server holds a hundred thousand of these: values that can be computed are not stored.
    lease_terms const* terms_;
    instant sent_;         ///< start of the round that the lease relies on
    duration hold_left_;   ///< rest of max_hold, from sent_ on
    duration renew_after_; ///< from sent_ on
    node_set holders_;
    node_set seen_; ///< the holders that confirmed it when last asked
    std::uint8_t nodes_;
    lease_phase phase_ = lease_phase::held;
    bool extending_ = false;
    bool refused_ = false;     ///< lost because too many nodes said so
    bool unconfirmed_ = false; ///< adopted, and not confirmed yet
};

} // namespace redlock::core

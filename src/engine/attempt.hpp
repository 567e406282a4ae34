// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/attempt.hpp"
#include "core/claim.hpp"
#include "core/fencing.hpp"
#include "core/instant.hpp"
#include "core/outage.hpp"
#include "core/permit_choice.hpp"
#include "core/tally.hpp"
#include "core/timer_wheel.hpp"
#include "engine/held_lease.hpp"
#include "engine/lock_plan.hpp"
#include "engine/lock_state.hpp"
#include "engine/node_group.hpp"
#include "engine/node_report.hpp"
#include "engine/nonce_source.hpp"
#include "engine/replies.hpp"
#include "engine/round.hpp"
#include "engine/runtime.hpp"
#include "engine/undo.hpp"
#include "kind/kind.hpp"
#include "kind/semaphore.hpp"
#include "net/connect.hpp"
#include "redis/command.hpp"
#include <redlock/error.hpp>
#include <redlock/observer.hpp>
#include <redlock/server_error.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// A lock that was handed over, to be claimed from the nodes.
struct inheritance {
    nonce heir;
    nonce giver; ///< the heir's, where the lock was free
    /// For how long it has passed from one to the next; nothing: it was free.
    std::optional<core::duration> passed{};
    std::uint8_t which = 0;             ///< index of the name that was handed over
    std::string permits{};              ///< a semaphore's
    std::chrono::milliseconds window{}; ///< for which the lock is kept for the claim
};

/// Receives the result of an attempt. Called while replies are handled: no user code may run from here.
class attempt_listener {
public:
    virtual void on_won() = 0;
    virtual void on_lost(errc cause) = 0;
    /// All that was sent is answered.
    virtual void on_drained() = 0;

protected:
    ~attempt_listener() = default;
};

/// One attempt: the five steps of the Redlock page. Note the time, ask the nodes, count, compare with the validity, and
/// take everything back if it came to nothing. Used again for the next attempt, so it has members for both ends of one: what
/// a lease or an undo will need is taken before the first vote.
class attempt final : private round<attempt>, private core::timer {
public:
    attempt(runtime&, attempt_listener&);
    ~attempt();

    /// Allocates everything that an attempt and either end of it need, so that sent votes do not fail for lack of memory.
    [[nodiscard]] boost::system::error_code provide(lock_state const&) noexcept;
    /// \param in_turn ask first where all meet (rule W3)
    /// \param given_up nonces of others that it may take the place of (rule M8); must stay until it is decided
    void start(std::shared_ptr<lock_state> const&, bool in_turn, std::string_view given_up);
    /// The votes of the one whom the lock is handed to (rule Q6).
    void claim(std::shared_ptr<lock_state> const&, inheritance const&);
    /// Time is up: who has not answered now does not count.
    void time_out();
    /// Everywhere but where the vote was certainly not executed: a reply may have been lost, not the vote (rule A6).
    /// \return where that may be
    [[nodiscard]] core::node_set take_back();
    /// Instead of what they answered, into the lock's table: what is known of the nodes without asking them.
    void tell_of_nodes(lock_state const&);
    /// Makes the lease of a won attempt.
    /// \param lock of the operation that gets it, which may not be the one that the attempt began for
    [[nodiscard]] boost::intrusive_ptr<held_lease> make_lease(std::shared_ptr<lock_state> const& lock,
                                                              unsigned attempts, core::duration waited);
    /// There is no next attempt for now: gives back what it has. The lock is kept while answers are on their way.
    void finish();
    /// All that was sent is answered.
    [[nodiscard]] bool drained() const { return round::drained(); }
    /// Lets go of the lock and the lease.
    void discard();

    /// Another attempt has another one.
    [[nodiscard]] std::uint32_t number() const { return round::round_number(); }
    /// Are others asked only when the first has granted?
    [[nodiscard]] bool asks_in_turn() const { return in_turn_; }
    [[nodiscard]] bool claims() const { return giver_.has_value(); }
    /// Of several names: which one was handed over to it?
    [[nodiscard]] std::uint8_t claimed_name() const { return claimed_name_; }
    /// Does its time tell of a round trip? Not if it paused before it asked again.
    [[nodiscard]] bool is_one_round() const { return !asked_again_; }
    [[nodiscard]] core::attempt const& votes() const { return votes_; }
    [[nodiscard]] std::vector<node_report>& rows() { return rows_; }
    [[nodiscard]] std::vector<node_report> const& rows() const { return rows_; }
    /// Nodes where others have the lock.
    [[nodiscard]] core::node_set refused() const { return refused_; }
    [[nodiscard]] core::node_census census() const;
    /// Is its validity over?
    [[nodiscard]] bool too_late(core::instant now) const;
    /// Counted as it stands, after more time than nodes take that are well: too few?
    [[nodiscard]] bool hears_too_few() const;

private:
    friend class round<attempt>;
    using step = core::attempt::step;

    [[nodiscard]] node_group& nodes() const { return runtime_.nodes; }
    [[nodiscard]] kind::lock_kind const& type() const { return plan_->kind; }
    void append(std::string& out, kind::request, redis::script_form) const;
    [[nodiscard]] bool repeats(unsigned node, kind::request, bool late)
    {
        exactly_for_ = node;
        return open_ && !late;
    }
    void on_answer(node_answer const&);
    void count_answer(node_answer const&);
    void on_silence(unsigned node, kind::request, bool late, net::failure const&);
    void on_drained();
    void expire() override;

    void begin(std::shared_ptr<lock_state> const&);
    [[nodiscard]] kind::request vote_request() const
    {
        return claims() ? kind::request::claim : kind::request::vote;
    }
    void ask_in_turn(unsigned node);
    void ask_all();
    [[nodiscard]] bool is_refused_elsewhere() const;
    [[nodiscard]] bool will_claim_again();
    void claim_again();
    void await_answers();
    void await_queue_node();
    void heed_queue_node();
    [[nodiscard]] step ask_the_rest();
    [[nodiscard]] step ask(unsigned node, draft const& vote);
    void write_back();
    [[nodiscard]] step count(node_answer const&);
    [[nodiscard]] core::node_set reached() const;
    void on_vote(node_answer const&);
    void fill(node_report& row, node_answer const&) const;
    void on_late_vote(node_answer const&);
    [[nodiscard]] step fail_vote(unsigned node, kind::request, net::failure const&);
    void follow(step);
    void follow_vote(unsigned node, step);
    void on_permits(node_answer const&, kind::grant const&);
    void on_late_permits(node_answer const&);
    [[nodiscard]] step choose_first();
    [[nodiscard]] step settle_permits();
    [[nodiscard]] step settle_permits(unsigned node);
    [[nodiscard]] step count_permits(unsigned node);
    [[nodiscard]] step ask_exactly(unsigned node);
    void decide_won();
    void close();
    void tell_lease(unsigned node);
    [[nodiscard]] bool waits_behind_others() const;
    void tell_vote(unsigned node, node_report const& row)
    {
        if (observer* const watcher = runtime_.its.watcher())
            tell_vote(*watcher, node, row);
    }
    void tell_vote(observer&, unsigned node, node_report const&) const;
    [[nodiscard]] bool may_be_told_another(unsigned node, server_error) const;

    // Members that every reply uses are adjacent: at depth, cold memory costs most.
    runtime& runtime_;
    lock_plan const* plan_ = nullptr; ///< the lock's: shared by many, and so never cold
    bool open_ = false;
    bool in_turn_ = false;
    core::attempt votes_{core::agreement::majority, 0, {}};
    std::shared_ptr<lock_state> lock_;
    std::vector<node_report> rows_;
    boost::intrusive_ptr<held_lease> lease_; ///< to tell it of late grants
    core::node_set asked_;
    core::node_set
        queued_; ///< nodes where the vote waited for a connection, and that have not been heard of since
    core::node_set refused_; ///< nodes that certainly did not execute the vote
    nonce nonce_;
    std::optional<nonce> giver_; ///< a claim's previous owner
    std::optional<core::claim> claim_;
    bool pauses_ = false; ///< before the claim is sent again
    std::uint8_t claimed_name_ = 0;
    bool asked_again_ = false;
    std::string_view given_up_; ///< for a vote
    core::fence proposal_ = 0;
    std::unique_ptr<kind::permit_list> permits_;  ///< a semaphore's: for the lease, should it be won
    std::unique_ptr<core::permit_choice> choice_; ///< null: no permits are wanted, or not any more
    std::uint16_t start_ = 0;                     ///< the permit at which nodes look first
    unsigned exactly_for_ = 0;                    ///< the node that is told which permits are wanted

    attempt_listener& listener_;
    void* block_ = nullptr; ///< for the lease, should it be won
    undo* undo_ = nullptr;  ///< for the votes, should it be lost
};

extern template class round<attempt>; // instantiated where its answers are handled

} // namespace redlock::detail

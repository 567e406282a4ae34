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
#include "engine/lock_config.hpp"
#include "engine/lock_descriptor.hpp"
#include "engine/node_group.hpp"
#include "engine/node_report.hpp"
#include "engine/nonce_source.hpp"
#include "engine/replies.hpp"
#include "engine/rollback.hpp"
#include "engine/round.hpp"
#include "engine/runtime.hpp"
#include "kind/kind.hpp"
#include "kind/semaphore.hpp"
#include "net/connect.hpp"
#include "redis/command.hpp"
#include <redlock/error.hpp>
#include <redlock/node_outcome.hpp>
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

/// A lock that another client handed to a position of ours. It has to be claimed from the nodes.
struct remote_handoff {
    nonce next_owner;
    nonce previous_owner; ///< the next owner's own, if the lock was free
    /// How long the lock has passed from owner to owner. Empty: it was free.
    std::optional<core::duration> passed{};
    std::uint8_t which = 0;             ///< index of the name of the remote handoff
    std::string permits{};              ///< a semaphore's
    std::chrono::milliseconds window{}; ///< for which the lock is kept for the claim
};

/// Receives the result of an attempt. Called while replies are handled: no user code may run from here.
class attempt_listener {
public:
    virtual void on_won() = 0;
    virtual void on_lost(errc cause) = 0;
    /// All commands are answered.
    virtual void on_drained() = 0;

protected:
    ~attempt_listener() = default;
};

/// One attempt: the five steps of the Redlock page. Note the time, ask the nodes, count the votes, compare with the
/// validity, and take the votes back if it is lost. The object is used for many attempts. It takes the memory for a
/// lease and for a rollback before the first vote.
class attempt final : private round<attempt>, private core::timer {
public:
    attempt(runtime&, attempt_listener&);
    ~attempt();

    /// Allocates everything that an attempt and either end of it need, so that sent votes do not fail for lack of memory.
    [[nodiscard]] boost::system::error_code provide(lock_descriptor const&) noexcept;
    /// \param meeting_node_first ask the node first where all contenders meet (rule W3)
    /// \param given_up nonces that its votes may replace (rule M8); must live until it is decided
    void start(lock_ptr const&, bool meeting_node_first, std::string_view given_up);
    /// Sends the claim of a next owner (rule Q6).
    void claim(lock_ptr const&, remote_handoff const&);
    /// Ends the wait: a node that has not answered does not count.
    void time_out();
    /// Takes the votes back on all nodes that may have executed one: only the reply may be lost (rule A6).
    /// \return these nodes
    [[nodiscard]] core::node_set roll_back();
    /// Replaces the lock's table by what is known of the nodes without asking them.
    void tell_of_nodes(lock_descriptor const&);
    /// Makes the lease of a won attempt.
    /// \param lock of the operation that gets it, which may not be the one that the attempt began for
    [[nodiscard]] boost::intrusive_ptr<held_lease> make_lease(lock_ptr const& lock, unsigned attempts,
                                                              core::duration waited);
    /// No attempt follows for now: frees the reserved memory. The lock is kept until all answers have come.
    void finish();
    /// All commands are answered.
    using round::drained;
    /// Lets go of the lock and the lease.
    void discard();

    /// Returns a number that differs for each attempt.
    using round::round_number;
    /// Are the other nodes asked only after the meeting node has granted?
    [[nodiscard]] bool asks_meeting_node_first() const { return meeting_node_first_; }
    [[nodiscard]] bool claims() const { return previous_owner_.has_value(); }
    /// Returns the index of the name of the remote handoff, among several names.
    [[nodiscard]] std::uint8_t claimed_name() const { return claimed_name_; }
    /// Notes the time of a round trip, without the wait for the queue node, unless it paused before it asked again.
    void measure(core::instant now) const
    {
        if (!paused_)
            runtime_.measured(core::elapsed(votes_.sent(), heeds_since_.value_or(now)));
    }
    [[nodiscard]] core::attempt const& votes() const { return votes_; }
    /// Returns what the nodes said, but for some of the grants.
    [[nodiscard]] std::vector<node_report> const& rows() const { return rows_; }
    /// Returns the nodes where another client has the lock.
    [[nodiscard]] core::node_set held_by_others() const { return held_by_others_; }
    /// Returns the nodes to which the vote was sent, and that did not refuse it.
    [[nodiscard]] core::node_set reached() const;
    [[nodiscard]] core::node_census census() const;
    /// Would a lease of this attempt have expired?
    [[nodiscard]] bool too_late(core::instant now) const;
    /// Do too few nodes answer, although healthy ones would have answered by now?
    [[nodiscard]] bool hears_too_few() const;
    /// Have too few nodes answered, because there was hardly any time?
    [[nodiscard]] bool has_only_begun() const;

private:
    friend class round<attempt>;
    using step = core::attempt::step;

    [[nodiscard]] node_group& nodes() const { return runtime_.nodes; }
    [[nodiscard]] kind::lock_kind const& type() const { return config_->kind; }
    void append(std::string& out, kind::request what, redis::script_form form) const
    {
        append_for(0, out, what, form); // no node has given a permit yet
    }
    void append_for(unsigned node, std::string& out, kind::request, redis::script_form) const;
    [[nodiscard]] bool repeats(unsigned, kind::request, bool late) const { return open_ && !late; }
    void on_answer(node_answer const&);
    void count_answer(node_answer const&);
    void on_silence(unsigned node, kind::request, bool late, net::failure const&);
    void on_drained() { listener_.on_drained(); }
    void expire() override;

    void begin(lock_ptr const&);
    [[nodiscard]] kind::request vote_request() const
    {
        return claims() ? kind::request::claim : kind::request::vote;
    }
    void ask_meeting_node_first(unsigned node);
    void ask_all();
    [[nodiscard]] bool is_refused_elsewhere() const;
    [[nodiscard]] bool will_claim_again();
    void claim_again();
    void await_answers();
    void await_queue_node();
    void heed_queue_node();
    [[nodiscard]] step ask_the_rest();
    [[nodiscard]] step ask(unsigned node);
    void write_back();
    [[nodiscard]] step count(node_answer const&);
    void on_vote(node_answer const&);
    [[nodiscard]] bool needs_no_row(node_answer const&) const;
    [[nodiscard]] node_report& row_of(unsigned node)
    {
        rows_written_ = true;
        return rows_[node];
    }
    [[nodiscard]] std::vector<node_report>& all_rows();
    void fill(node_report& row, node_answer const&) const;
    void on_late_vote(node_answer const&);
    [[nodiscard]] step fail_vote(unsigned node, kind::request, net::failure const&);
    void act_on(step);
    void act_on_vote(node_result said, step);
    void on_permits(node_answer const&, kind::grant const&);
    void on_late_permits(node_answer const&);
    [[nodiscard]] step stop_awaiting_chooser();
    [[nodiscard]] step settle_permits();
    [[nodiscard]] step settle_permits(unsigned node);
    [[nodiscard]] step count_permits(unsigned node);
    [[nodiscard]] step ask_exactly(unsigned node);
    [[nodiscard]] core::node_set unreached() const;
    void decide_won();
    void decide_lost();
    void close();
    void tell_lease(unsigned node);
    [[nodiscard]] bool is_behind_other_commands() const;
    [[nodiscard]] bool is_young() const;
    void tell_vote(unsigned node, node_report const& row)
    {
        if (observer* const watcher = runtime_.its.watcher())
            tell_vote(*watcher, node, row);
    }
    void tell_vote(observer&, unsigned node, node_report const&) const;
    [[nodiscard]] bool may_be_told_another(unsigned node, server_error) const;

    // Members that every reply uses are adjacent: at depth, cold memory costs most.
    runtime& runtime_;
    lock_config const* config_ = nullptr; ///< the lock's: shared by many, and so never cold
    bool open_ = false;
    bool meeting_node_first_ = false;
    core::attempt votes_{core::agreement::majority, 0, {}};
    lock_ptr lock_;
    std::vector<node_report> rows_;
    bool rows_written_ = false;              ///< since the attempt began
    boost::intrusive_ptr<held_lease> lease_; ///< to tell it of late grants
    core::node_set asked_;
    core::node_set
        queued_; ///< nodes where the vote waited for a connection, and that have not been heard of since
    core::node_set held_by_others_; ///< nodes that certainly did not execute the vote
    nonce nonce_;
    std::optional<nonce> previous_owner_; ///< a claim's previous owner
    std::optional<core::claim> claim_;
    bool pauses_ = false; ///< before the claim is sent again
    std::uint8_t claimed_name_ = 0;
    bool paused_ = false;
    std::optional<core::instant> heeds_since_; ///< a majority waits for the queue node
    std::string_view given_up_;                ///< for a vote
    core::fence proposal_ = 0;
    std::unique_ptr<kind::permit_list> permits_;  ///< a semaphore's: for the lease, should it be won
    std::unique_ptr<core::permit_choice> choice_; ///< null: no permits are wanted, or not any more
    std::uint16_t start_ = 0;                     ///< the permit at which nodes look first

    attempt_listener& listener_;
    void* block_ = nullptr;        ///< for the lease, should it be won
    rollback* rollback_ = nullptr; ///< for the votes, should it be lost
};

extern template class round<attempt>; // instantiated where its answers are handled

} // namespace redlock::detail

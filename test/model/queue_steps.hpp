// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/attempt.hpp"
#include "model/queue_scripts.hpp"
#include "model/queue_world.hpp"

#include <span>
#include <string>
#include <vector>

namespace redlock::model {

/// The rules by which one state of the queue's world follows another. The production core decides attempts and repeats.
///
/// Messages are executed at any time or never, in any order. An answer is known at once, or of no use: then the attempt is
/// given up. A client may stop in any state, because no action has to be taken.
class queue_steps {
public:
    using scope = queue_scope;
    using world = queue_world;
    using action = queue_action;

    explicit queue_steps(queue_scope const& s) : scope_(s), scripts_(s) {}

    [[nodiscard]] static world first() { return {}; }
    [[nodiscard]] std::span<action const> situation() const { return scope_.situation; }
    static void clear_padding(world&) {}

    void possible(world const&, std::vector<action>& out) const;
    void take(world&, action) const;
    [[nodiscard]] std::string tell(world const& before, action, world const& after) const;
    /// Null: none.
    [[nodiscard]] char const* flaw(world const&) const;

private:
    using attempt = world::attempt;
    using side = world::side;
    using doing = world::doing;
    using vote = world::vote;
    using message = world::message;
    using undo = world::undo;
    using kind = action::kind;

    void names_actions(world const&, unsigned a, std::vector<action>&) const;
    void idle_actions(world const&, unsigned a, std::vector<action>&) const;
    void asking_actions(world const&, unsigned a, std::vector<action>&) const;
    void waiting_actions(world const&, unsigned a, std::vector<action>&) const;
    void holding_actions(world const&, unsigned a, std::vector<action>&) const;
    void message_actions(world const&, unsigned a, unsigned node, std::vector<action>&) const;
    void vote_actions(world const&, unsigned a, unsigned node, std::vector<action>&) const;
    void node_actions(world const&, std::vector<action>&) const;

    void act(world&, action) const;
    void send_votes(world&, unsigned a, unsigned previous) const;
    void gather(world&, unsigned a) const;
    void execute_vote(world&, unsigned a, unsigned node, unsigned first) const;
    void execute_exactly(world&, unsigned a, unsigned node) const;
    void execute_extension(world&, unsigned a, unsigned node) const;
    void win(world&, unsigned a) const;
    void give_up(world&, unsigned a) const;
    void send_again(world&, unsigned a) const;
    void begin_extension(world&, unsigned a, bool downgrade) const;
    void confirm(world&, unsigned a) const;
    void release(world&, unsigned a) const;
    void restart(world&, unsigned node) const;
    void step_clock(world&, unsigned node) const;

    [[nodiscard]] core::attempt answers(world const&, unsigned a) const;
    [[nodiscard]] bool counts(attempt const&, unsigned a, unsigned node) const;
    [[nodiscard]] bool may_send_again(world const&, unsigned a) const;
    [[nodiscard]] unsigned confirmations(attempt const&) const;
    [[nodiscard]] bool has_two_queues() const { return scope_.two_queues || names_of(scope_, 0) != 0; }
    [[nodiscard]] bool relies(world const&, unsigned a) const;
    /// Can the lease still come, or come back?
    [[nodiscard]] bool may_hold(world const&, unsigned a) const;
    [[nodiscard]] bool worth_looking_at(world const&) const;

    // Makes one of states that are alike (queue_tidy.cpp).
    void tidy(world&) const;
    void end_what_is_over(world&, unsigned a) const;
    void forget_what_has_no_effect(world&, unsigned a) const;
    void forget_what_has_no_effect(attempt&, unsigned a, unsigned node) const;
    [[nodiscard]] side what_is_left(side const&) const;
    [[nodiscard]] attempt what_is_left(world const&, unsigned a) const;
    void forget_expired(world&) const;
    void rename(world&) const;
    void sort_nodes(world&) const;
    void sort_attempts(world&) const;

    queue_scope const& scope_;
    queue_scripts scripts_;
};

} // namespace redlock::model

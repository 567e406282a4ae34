// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "core/position_timing.hpp"
#include "core/tally.hpp"
#include "engine/attempt.hpp"
#include "engine/key_state.hpp"
#include "engine/lock_config.hpp"
#include "engine/lock_descriptor.hpp"
#include "engine/node_group.hpp"
#include "engine/pause.hpp"
#include "engine/queue_registry.hpp"
#include "engine/replies.hpp"
#include "engine/rollback.hpp"
#include "engine/round.hpp"
#include "engine/runtime.hpp"
#include "kind/kind.hpp"
#include "kind/queue.hpp"
#include "net/connect.hpp"
#include "redis/command.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::detail {

/// Waits with a position in the queue of the name, at the node where its contenders meet (docs/protocol.md, rules Q2 and Q13
/// to Q18). Positions are hints: what is won is won by the claim.
class queue_pause final : public pause, private round<queue_pause>, private queued_waiter {
public:
    queue_pause(runtime& on, acquisition& wanted, pause_listener& listener)
        : runtime_(on), wanted_(wanted), listener_(listener)
    {}

    /// Enters the queue, with a nonce of its own (rule K6).
    [[nodiscard]] bool begin(pause_reason const&) override;
    [[nodiscard]] bool serve(waiter& next) override;
    /// Gives up the position, and what may have been handed to it.
    void end() override;
    void on_time() override;
    void on_key_changed(unsigned node) override;
    void on_changed_by_us(core::node_set where) override;
    void on_nodes_changed() override;
    [[nodiscard]] core::instant due() const override { return timing_.due(); }
    [[nodiscard]] bool drained() const override { return round::drained(); }

    /// Was the lock handed to this position?
    [[nodiscard]] bool called() const { return stands() && called_; }
    /// Returns the remote handoff. There is no position to leave any more.
    [[nodiscard]] remote_handoff const& take_handoff();

private:
    friend class round<queue_pause>;

    [[nodiscard]] node_group& nodes() const { return runtime_.nodes; }
    [[nodiscard]] kind::lock_kind const& type() const { return *type_; }
    void append(std::string& out, kind::request what, redis::script_form form) const
    {
        type_->append(out, what,
                      {wanted_.awaited_key().key(),
                       handoff_.next_owner.text(),
                       0,
                       {},
                       {.position = position_text_, .at_front = in_front_}},
                      form);
    }
    [[nodiscard]] bool repeats(unsigned, kind::request, bool late) const { return !late; }
    void on_answer(node_answer const&);
    void on_silence(unsigned node, kind::request, bool late, net::failure const&);
    void on_drained() { listener_.on_drained(); }
    [[nodiscard]] std::string_view nonce_text() const override { return handoff_.next_owner.text(); }
    void on_call(kind::call const&) override;

    [[nodiscard]] bool stands() const { return hook.is_linked(); }
    [[nodiscard]] lock_config const& config() const { return *wanted_.lock().config; }
    [[nodiscard]] bool move_if_needed();
    [[nodiscard]] bool enter_somewhere();
    [[nodiscard]] bool prepare(unsigned node);
    void ask();
    void on_position(node_answer const&);
    void hear_of_changes();
    void forget_call();
    void answer_call(std::string_view permits);
    void pass_over_and_reenter();
    [[nodiscard]] core::node_set passed_over() const
    {
        core::node_set all = refused_;
        all.insert(silent_);
        return all;
    }
    void reenter_queue();
    [[nodiscard]] bool position_lost() const { return !runtime_.registry.stands(node_, connection_, polls_); }
    void on_entry_refused(node_answer const&);
    void tell_position();
    void reschedule();
    void look_elsewhere();
    void on_time_left(node_answer const&);

    runtime& runtime_;
    acquisition& wanted_;
    pause_listener& listener_;
    kind::lock_kind const* type_ = nullptr; ///< the kind of the position
    rollback* rollback_ = nullptr;          ///< for the position
    remote_handoff handoff_;
    std::string position_text_; ///< the position's text
    core::position_timing timing_;
    core::instant window_ends_;           ///< until then only unqueued clients may take the lock
    core::node_set refused_;              ///< nodes that are not asked again in this wait
    core::node_set silent_;               ///< nodes that gave no answer in time
    core::instant silent_until_;          ///< and may be asked again
    core::node_set without_key_;          ///< nodes without a key while the queue node has one
    std::optional<std::uint64_t> told_{}; ///< how many stand before it
    std::uint32_t connection_ = 0;        ///< the position ends with it
    unsigned node_ = 0;
    bool in_front_ = false;    ///< it is to be the first; until it is known where it stands
    bool was_tracked_ = false; ///< was the server to tell of the key when it was asked last?
    bool had_one_owner_ =
        false; ///< did one owner have the lock then? Readers and permits serve the queue themselves (rule Q13)
    bool called_ = false;
    bool polls_ = false; ///< nobody calls it (rule Q18)
};

extern template class round<queue_pause>; // in queue_pause.cpp

} // namespace redlock::detail

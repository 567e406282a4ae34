// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "core/tally.hpp"
#include "core/vote_pause.hpp"
#include "engine/attempt.hpp"
#include "engine/node_group.hpp"
#include "engine/pause.hpp"
#include "engine/replies.hpp"
#include "engine/round.hpp"
#include "engine/runtime.hpp"
#include "engine/waiter.hpp"
#include "kind/kind.hpp"
#include "net/connect.hpp"
#include "redis/command.hpp"

#include <string>

namespace redlock::detail {

/// Waits without a position: for a random time, which ends early when the key of the lock is gone (docs/protocol.md, rule
/// W2), or for an open window that is left to other clients (rule W5).
class poll_pause final : public pause, private round<poll_pause> {
public:
    poll_pause(runtime& on, acquisition& wanted, attempt const& last, pause_listener& listener)
        : runtime_(on), wanted_(wanted), last_(last), listener_(listener)
    {}

    [[nodiscard]] bool begin(pause_reason const&) override;
    [[nodiscard]] bool serve(waiter&) override { return true; }
    void end() override { open_round(); }
    void on_time() override
    {
        listener_.on_step(blocked_ ? pause_step::vote : pause_step::vote_meeting_node_first);
    }
    void on_key_changed(unsigned node) override;
    void on_changed_by_us(core::node_set) override { probe_in_the_way(); }
    void on_nodes_changed() override { probe_in_the_way(); } // the connection that was to tell may be gone
    [[nodiscard]] core::instant due() const override { return pause_.at(); }
    [[nodiscard]] bool drained() const override { return round::drained(); }

private:
    friend class round<poll_pause>;

    [[nodiscard]] node_group& nodes() const { return runtime_.nodes; }
    [[nodiscard]] kind::lock_kind const& type() const { return *type_; }
    void append(std::string& out, kind::request what, redis::script_form form) const
    {
        type_->append(out, what, {wanted_.awaited_key().key(), {}}, form);
    }
    void on_answer(node_answer const&);
    void on_silence(unsigned, kind::request, bool, net::failure const&) {}
    void on_drained() { listener_.on_drained(); }

    void probe_in_the_way();
    void probe(unsigned node);
    void look_elsewhere(unsigned node);
    void vote_soon();
    [[nodiscard]] core::vote_pause::pace pace() const;

    runtime& runtime_;
    acquisition& wanted_;
    attempt const& last_;
    pause_listener& listener_;
    kind::lock_kind const* type_ = nullptr;
    core::vote_pause pause_;
    core::node_set granted_; ///< nodes that tell no news: the key there is the last vote's, and goes with it
    bool refused_ = false;   ///< the last attempt was for this waiter
    bool blocked_ = false;   ///< no contender's key is in the way: it has no expiry
    bool window_is_unused_ = false; ///< the lock is left to other clients, and none has come yet
};

extern template class round<poll_pause>; // in poll_pause.cpp

} // namespace redlock::detail

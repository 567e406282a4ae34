// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/fencing.hpp"
#include "core/instant.hpp"
#include "core/key_answers.hpp"
#include "core/tally.hpp"
#include "engine/lifecycle.hpp"
#include "engine/node_group.hpp"
#include "engine/node_report.hpp"
#include "engine/pool.hpp"
#include "engine/replies.hpp"
#include "engine/round.hpp"
#include "engine/runtime.hpp"
#include "kind/kind.hpp"
#include "net/connect.hpp"
#include "net/loop.hpp"
#include "redis/command.hpp"
#include "redis/resp.hpp"
#include <redlock/detail/completion_handler.hpp>
#include <redlock/detail/lock_operations.hpp>
#include <redlock/detail/lock_ptr.hpp>
#include <redlock/inspection.hpp>
#include <redlock/node_outcome.hpp>

#include <boost/system/error_code.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace redlock::detail {

/// One call of `inspect`: asks every node for the key. It uses no queue, and changes neither the nodes nor this
/// client's knowledge of the lock.
class inspector final : private round<inspector>, public activity, private net::task {
public:
    using handler_type = completion_handler<inspection_signature>;

    inspector(runtime&, pool<inspector>& home);

    void start(lock_ptr, handler_type);
    [[nodiscard]] std::uint32_t generation() const { return generation_; }
    void cancel(std::uint32_t generation);
    /// Ends it with this error, unless it has ended.
    void abort(boost::system::error_code) override;
    [[nodiscard]] lock_descriptor const* wanted_lock() const override { return nullptr; }
    /// It was taken from its pool, and is not started.
    void recycle() { home_.recycle(*this); }
    /// Lets go of the handler without calling it, and of the lock.
    void discard();

private:
    enum class phase : std::uint8_t { idle, asking, finished, draining };
    /// One node's answer.
    struct finding {
        core::key_answer key{};
        core::instant read{}; ///< when it told how long the key lives
        bool immortal = false;
        bool ours = false;
    };

    friend class round<inspector>;

    [[nodiscard]] node_group& nodes() const { return runtime_.nodes; }
    [[nodiscard]] kind::lock_kind const& type() const { return *type_; }
    void append(std::string& out, kind::request what, redis::script_form form) const
    {
        type().append(out, what, {lock_->redis_key(), {}}, form);
    }
    void on_answer(node_answer const&);
    void on_silence(unsigned node, kind::request, bool late, net::failure const&);
    void on_drained();
    void expire() override;
    void run() override;

    void ask(unsigned node);
    [[nodiscard]] bool connected_to_majority() const;
    void take_owner(unsigned node, kind::key_observation const&, redis::resp_node const&);
    [[nodiscard]] bool take_holder(unsigned node, kind::key_observation const&);
    void take_time_left(unsigned node, kind::key_observation const&);
    void ask_for_readers(unsigned node);
    [[nodiscard]] holder_kind holder_of(core::lock_verdict const&) const;
    void found_absent(unsigned node);
    void ask_again_or_report(unsigned node, net::failure const&);
    void finish(boost::system::error_code);
    [[nodiscard]] core::key_answer aged(unsigned node, core::instant now) const;
    [[nodiscard]] inspection report() const;
    void recycle_if_drained();

    runtime& runtime_;
    pool<inspector>& home_;
    kind::lock_kind const* type_ = nullptr;
    lock_ptr lock_;
    handler_type handler_;
    std::vector<node_report> rows_;
    std::vector<finding> found_;
    boost::system::error_code result_;
    core::instant sent_;
    core::fence highest_number_ = 0;
    core::node_set asked_again_;
    core::node_set asked_for_readers_;
    unsigned known_ = 0; ///< nodes that have named the key's owner
    std::uint32_t generation_ = 0;
    bool connecting_ = false; ///< the time for that is not over
    phase phase_ = phase::idle;
};

} // namespace redlock::detail

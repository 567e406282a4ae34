// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "core/leading.hpp"
#include "core/tally.hpp"
#include "engine/leader_listener.hpp"
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
#include <redlock/detail/completion_handler.hpp>
#include <redlock/detail/election_operations.hpp>
#include <redlock/detail/lock_ptr.hpp>
#include <redlock/leader_info.hpp>

#include <boost/system/error_code.hpp>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

namespace redlock::detail {

/// One call of `leader` or `observe`: asks every node who leads; to observe, again whenever a node says that this has
/// changed, until there is news (docs/protocol.md, rules EL3 and EL5). It changes nothing on the nodes.
class leader_watch final : private round<leader_watch>,
                           public activity,
                           public leader_listener,
                           private net::task {
public:
    using handler_type = completion_handler<leader_signature>;

    leader_watch(runtime&, pool<leader_watch>& home);

    /// \param known what is to be observed; nothing: it is asked once
    void start(lock_ptr, std::optional<leader_info> known, handler_type);
    [[nodiscard]] std::uint32_t generation() const { return generation_; }
    void cancel(std::uint32_t generation);
    /// Ends it with this error, unless it has ended.
    void abort(boost::system::error_code) override;
    [[nodiscard]] lock_descriptor const* wanted_lock() const override
    {
        return observes_ ? lock_.get() : nullptr;
    }
    void on_usable(unsigned node) override;
    /// Answers on a connection that has ended do not count any more.
    void on_nodes_changed() override;
    void on_retired() override;
    void leader_changed(core::node_set where) override;
    /// It was taken from its pool, and is not started.
    void recycle() { home_.recycle(*this); }
    /// Lets go of the handler without calling it, and of the lock.
    void discard();

private:
    enum class phase : std::uint8_t { idle, asking, finished, draining };
    /// One node's answer.
    struct finding {
        core::leader_answer answer{};
        std::string value{};
        core::leader_version since{}; ///< proven when it was asked last
        std::uint32_t connection = 0; ///< on which it was asked last
        bool asked = false;
        bool ask_again = false; ///< when the present answer has come
    };

    friend class round<leader_watch>;

    [[nodiscard]] node_group& nodes() const { return runtime_.nodes; }
    [[nodiscard]] kind::lock_kind const& type() const { return kind::election_view; }
    void append(std::string& out, kind::request what, redis::script_form form) const
    {
        type().append(out, what, {lock_->redis_key(), {}}, form);
    }
    void on_answer(node_answer const&);
    void on_silence(unsigned node, kind::request, bool late, net::failure const&);
    void on_drained();
    void expire() override;
    void run() override;

    void begin();
    void end();
    void ask(unsigned node);
    void ask_all();
    void question_ended(unsigned node); ///< with an answer or without one
    void take(unsigned node, node_answer const&);
    [[nodiscard]] bool connected_to_majority() const;
    [[nodiscard]] core::leader_version proven() const;
    [[nodiscard]] bool counts(unsigned node, core::leader_version proven);
    [[nodiscard]] std::optional<core::leader_verdict> conclude();
    void weigh();
    void judge_query(std::optional<core::leader_verdict> const&);
    void judge_change(std::optional<core::leader_verdict> const&);
    [[nodiscard]] core::duration pause_between_questions() const;
    void schedule();
    void report(core::leader_verdict const&);
    void finish(boost::system::error_code);
    [[nodiscard]] std::exception_ptr failure(boost::system::error_code) const noexcept;
    void recycle_if_drained();

    runtime& runtime_;
    pool<leader_watch>& home_;
    lock_ptr lock_;
    handler_type handler_;
    std::vector<node_report> rows_;
    std::vector<finding> found_;
    core::leader_verdict known_; ///< by the caller
    leader_info result_;
    boost::system::error_code error_;
    core::instant asked_;                    ///< when all nodes were asked last
    std::optional<core::instant> unsettled_; ///< since then
    std::optional<core::instant> too_few_;   ///< nodes have answered, since then
    std::uint32_t generation_ = 0;
    bool observes_ = false;
    bool connecting_ = false; ///< asked once: the time for that is not over
    phase phase_ = phase::idle;
};

} // namespace redlock::detail

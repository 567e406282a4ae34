// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/attempt.hpp"
#include "core/fencing.hpp"
#include "core/tally.hpp"
#include "core/timer_wheel.hpp"
#include "engine/lease_status.hpp"
#include "engine/node_group.hpp"
#include "engine/node_report.hpp"
#include "engine/replies.hpp"
#include "engine/round.hpp"
#include "engine/wait_op.hpp"
#include "kind/kind.hpp"
#include "net/connect.hpp"
#include "redis/command.hpp"
#include <redlock/error.hpp>

#include <boost/system/error_code.hpp>

#include <string>
#include <vector>

namespace redlock::detail {

/// What a lease needs once it has been a reader's and a writer's: what renews it, and the round that makes a reader a writer
/// (docs/protocol.md, rules S7, S8, S12 and S13).
class conversion : private round<conversion>, private core::timer {
public:
    virtual ~conversion() = default;

    /// Its keys may be a reader's on some nodes and a writer's on others. Those of a writer follow what becomes a reader's
    /// with its renewals; those of a reader do not count for what becomes a writer's.
    [[nodiscard]] kind::request renewal() const { return renewal_; }
    void keep_as(kind::request what) { renewal_ = what; }
    /// May that node's answer to a renewal count? A downgrade that it has not answered may be executed after what makes it a
    /// writer's.
    [[nodiscard]] bool may_rely_on(unsigned node) const
    {
        return renewal_ != kind::request::adopt || !unsure_.contains(node);
    }
    void downgrade_in_silence(unsigned node) { unsure_.insert(node); }

    /// \name Its upgrade
    ///@{
    /// \throws std::bad_alloc and has done nothing
    void upgrade(wait_op&);
    [[nodiscard]] bool upgrading() const { return open_; }
    /// It is not waited for any more.
    void stop(boost::system::error_code why);
    /// Nor is anybody told.
    void drop();
    ///@}

protected:
    explicit conversion(lease_status const& of) : lease_(&of) {}
    /// The key is that lease's from now on.
    /// \param heard all that the one before has asked is answered
    void pass_to(lease_status const& another, bool heard);
    [[nodiscard]] bool busy() const { return !drained(); }

    /// \name What the lease does
    ///@{
    /// False: it is too late.
    [[nodiscard]] virtual bool become_writer(core::attempt const& won) = 0;
    virtual void stay_reader(wait_list& asked, errc why) = 0;
    /// A vote for the writer that it has become.
    virtual void late_vote(unsigned node) = 0;
    /// Its memory is needed, until it is let go.
    virtual void hold() = 0;
    virtual void let_go() = 0;
    ///@}

private:
    friend class round<conversion>;

    [[nodiscard]] node_group& nodes() const { return lease_->on().nodes; }
    [[nodiscard]] kind::lock_kind const& type() const { return lease_->lock().plan->kind; }
    void append(std::string& out, kind::request, redis::script_form) const;
    [[nodiscard]] bool repeats(unsigned, kind::request, bool late) const { return open_ && !late; }
    void on_busy() { hold(); }
    void on_drained() { let_go(); }
    void on_answer(node_answer const&);
    void on_silence(unsigned node, kind::request, bool late, net::failure const&);
    void expire() override;

    void ask(unsigned node);
    void write_back();
    void follow(core::attempt::step);
    void close();

    lease_status const* lease_;
    core::node_set unsure_; ///< nodes that have not answered a downgrade
    core::attempt votes_{core::agreement::majority, 0, {}};
    std::vector<node_report> rows_;
    core::fence proposal_ = 0;
    wait_list waits_;
    kind::request renewal_ = kind::request::downgrade;
    bool open_ = false;
};

extern template class round<conversion>; // where its answers are dealt with

} // namespace redlock::detail

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/timer_wheel.hpp"
#include "engine/lock_descriptor.hpp"
#include "engine/node_group.hpp"
#include "engine/release_backlog.hpp"
#include "net/loop.hpp"

#include <boost/intrusive/list.hpp>
#include <boost/system/error_code.hpp>

#include <atomic>
#include <functional>

namespace redlock::detail {

/// Something that a client has under way: an operation, or a lease. Each has a timer.
class activity : public core::timer {
public:
    using hook_type =
        boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
    hook_type link;

    /// Ends it, because of its client's end or of a fork. A lease is over then; an operation stays listed until its task
    /// has run.
    virtual void abort(boost::system::error_code) = 0;
    /// Returns the lock that it wants or holds; null: it concerns no node.
    [[nodiscard]] virtual lock_descriptor const* wanted_lock() const = 0;
    /// A node can be asked, on a connection that may be new.
    virtual void on_usable(unsigned) {}
    /// A node became usable, or certainly unusable.
    virtual void on_nodes_changed() {}
    /// The client's nodes were replaced: the awaited change will appear on the next ones.
    virtual void on_retired() {}
    /// Sends a postponed message now.
    virtual void send_postponed() {}

protected:
    ~activity() = default;
};

/// The activities of one client, and whether the client may end.
class lifecycle {
public:
    /// \param closer is run whenever the client may end now
    lifecycle(net::loop& loop, node_group& nodes, release_backlog& backlog, net::task& closer)
        : loop_(loop), nodes_(nodes), backlog_(backlog), closer_(closer)
    {}

    void begin_operation(activity& operation) { begin(operations_, operation); }
    void end_operation(activity& operation) { end(operations_, operation); }
    void begin_lease(activity& lease) { begin(leases_, lease); }
    void end_lease(activity& lease) { end(leases_, lease); }
    /// Begins an operation that keeps no connections.
    void begin_inspection(activity& inspection) { operations_.push_back(inspection); }
    void end_inspection(activity& inspection)
    {
        operations_.erase(operations_.iterator_to(inspection));
        see_whether_drained();
    }
    /// Do operations or leases keep the connections?
    [[nodiscard]] bool busy() const { return under_way_ != 0; }

    void for_each_lock(std::function<void(lock_descriptor const&)> const&) const;
    /// Nothing of these ends meanwhile.
    void tell_usable(unsigned node)
    {
        for (list* const all : {&operations_, &leases_})
            for (activity& each : *all)
                each.on_usable(node);
    }
    void tell_nodes_changed()
    {
        for (activity& operation : operations_)
            operation.on_nodes_changed();
    }
    void abort_operations(boost::system::error_code why)
    {
        for (activity& operation : operations_) // listed until their tasks have run
            operation.abort(why);
    }
    void abort_leases(boost::system::error_code why)
    {
        while (!leases_.empty())
            leases_.front().abort(why);
    }

    /// A release began or ended; a client's end waits for the last.
    void release_began() { ++releasing_; }
    void release_ended(bool confirmed);
    /// The release waits for the queue node's answer before the other nodes are told. Only this list keeps the lease
    /// meanwhile.
    void postpone_release(activity& lease) { postponed_.push_back(lease); }
    void send_postponed_releases()
    {
        while (!postponed_.empty()) {
            activity& lease = postponed_.front();
            postponed_.pop_front();
            lease.send_postponed();
        }
    }
    /// Ends a count that only delayed the client's end.
    void release_done() { --releasing_; }
    /// The same for the rollback of votes.
    void rollback_began() { ++rolling_back_; }
    void rollback_ended(bool confirmed);

    /// The client's nodes were replaced: no operation or lease begins here any more. The closer runs when the last one
    /// has ended.
    void retire();
    [[nodiscard]] bool drained() const
    {
        return retired_ && under_way_ == 0 && operations_.empty() &&
               expected_leases_.load(std::memory_order_relaxed) == 0;
    }
    /// Any thread. A lease was adopted. It begins with its first operation.
    void expect_lease() { expected_leases_.fetch_add(1, std::memory_order_relaxed); }
    /// The adopted lease has begun.
    void lease_came()
    {
        expected_leases_.fetch_sub(1, std::memory_order_relaxed);
        see_whether_drained();
    }
    /// Is the client ending, so that nothing new begins?
    [[nodiscard]] bool closing() const { return closing_; }
    void start_closing() { closing_ = true; }
    [[nodiscard]] bool closed() const { return closed_; }
    /// Returns false if it was closed already.
    bool close();
    /// Rollbacks are not waited for any longer.
    void stop_waiting();
    void run_closer_if_done();
    [[nodiscard]] bool may_close() const
    {
        return closing_ && releasing_ == 0 && (rolling_back_ == 0 || rollback_too_long_);
    }
    /// Were all releases and rollbacks confirmed?
    [[nodiscard]] bool all_released() const { return all_released_; }

private:
    using list =
        boost::intrusive::list<activity,
                               boost::intrusive::member_hook<activity, activity::hook_type, &activity::link>,
                               boost::intrusive::constant_time_size<false>>;

    void begin(list& of, activity& begun)
    {
        of.push_back(begun);
        if (under_way_++ == 0)
            keep_connections();
    }
    void end(list& of, activity& ended)
    {
        of.erase(of.iterator_to(ended));
        if (--under_way_ == 0)
            keep_connections();
        see_whether_drained();
    }
    void keep_connections();
    void see_whether_drained()
    {
        if (drained())
            loop_.enqueue(closer_);
    }

    net::loop& loop_;
    node_group& nodes_;
    release_backlog& backlog_;
    net::task& closer_;
    list operations_;
    list leases_;
    list postponed_;
    unsigned under_way_ = 0;
    unsigned releasing_ = 0;
    unsigned rolling_back_ = 0;
    std::atomic<unsigned> expected_leases_{0};
    bool retired_ = false;
    bool closing_ = false;
    bool closed_ = false;
    bool rollback_too_long_ = false;
    bool all_released_ = true;
};

} // namespace redlock::detail

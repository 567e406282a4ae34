// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/timer_wheel.hpp"
#include "engine/lock_state.hpp"
#include "engine/node_group.hpp"
#include "engine/pending_releases.hpp"
#include "net/loop.hpp"

#include <boost/intrusive/list.hpp>
#include <boost/system/error_code.hpp>

#include <atomic>
#include <functional>

namespace redlock::detail {

/// Something that a client has under way: an operation, or a lease. Each has a timer.
class activity : public core::timer {
public:
    using hook =
        boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
    hook link;

    /// Ends it, because of its client's end or of a fork. A lease is over then; an operation stays listed until its task
    /// has run.
    virtual void abort(boost::system::error_code) = 0;
    /// Which lock it wants or holds; null: it does not matter to the nodes.
    [[nodiscard]] virtual lock_state const* wanted_lock() const = 0;
    /// A node can be asked, on a connection that may be new.
    virtual void on_usable(unsigned) {}
    /// One became usable, or certainly unusable.
    virtual void on_nodes_changed() {}
    /// The awaited change is to be looked for on other nodes.
    virtual void on_retired() {}
    /// A postponed message is to be sent now.
    virtual void hurry() {}

protected:
    ~activity() = default;
};

/// The activities of one client, and whether the client may end.
class lifecycle {
public:
    /// \param closer is run whenever the client may end now
    lifecycle(net::loop& loop, node_group& nodes, pending_releases& pending, net::task& closer)
        : loop_(loop), nodes_(nodes), pending_(pending), closer_(closer)
    {}

    void begin_operation(activity& one) { begin(operations_, one); }
    void end_operation(activity& one) { end(operations_, one); }
    void begin_lease(activity& one) { begin(leases_, one); }
    void end_lease(activity& one) { end(leases_, one); }
    /// An operation for whose sake no connection is kept.
    void begin_inspection(activity& one) { operations_.push_back(one); }
    void end_inspection(activity& one)
    {
        operations_.erase(operations_.iterator_to(one));
        see_whether_drained();
    }
    /// Somebody keeps the connections.
    [[nodiscard]] bool busy() const { return under_way_ != 0; }

    void for_each_lock(std::function<void(lock_state const&)> const&) const;
    void tell_usable(unsigned node)
    {
        for (list* const all : {&operations_, &leases_})
            for (activity& one : *all)
                one.on_usable(node);
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
    /// It waits for one node's answer before it tells the others; nobody else keeps that lease any more.
    void put_off_release(activity& one) { put_off_.push_back(one); }
    void hurry_releases()
    {
        while (!put_off_.empty()) {
            activity& one = put_off_.front();
            put_off_.pop_front();
            one.hurry();
        }
    }
    /// The same, of what was begun only to put off the end.
    void release_done() { --releasing_; }
    /// The same of votes that are taken back.
    void undo_began() { ++undoing_; }
    void undo_ended(bool confirmed);

    /// No operation or lease begins here any more; the closer is told when the last one has ended.
    void retire();
    [[nodiscard]] bool drained() const
    {
        return retired_ && under_way_ == 0 && operations_.empty() &&
               expected_leases_.load(std::memory_order_relaxed) == 0;
    }
    /// Any thread. One was adopted, and begins with its first operation.
    void expect_lease() { expected_leases_.fetch_add(1, std::memory_order_relaxed); }
    /// That has come.
    void lease_came()
    {
        expected_leases_.fetch_sub(1, std::memory_order_relaxed);
        see_whether_drained();
    }
    /// Nothing new begins, and nothing but its end is waited for.
    [[nodiscard]] bool closing() const { return closing_; }
    void start_closing() { closing_ = true; }
    [[nodiscard]] bool closed() const { return closed_; }
    /// False: it was closed already.
    bool close();
    /// Undos are not waited for any longer.
    void stop_waiting();
    void check();
    [[nodiscard]] bool may_close() const
    {
        return closing_ && releasing_ == 0 && (undoing_ == 0 || undoing_too_long_);
    }
    /// Nothing is known to be left on the nodes.
    [[nodiscard]] bool all_released() const { return all_released_; }

private:
    using list =
        boost::intrusive::list<activity,
                               boost::intrusive::member_hook<activity, activity::hook, &activity::link>,
                               boost::intrusive::constant_time_size<false>>;

    void begin(list& of, activity& one)
    {
        of.push_back(one);
        if (under_way_++ == 0)
            watch();
    }
    void end(list& of, activity& one)
    {
        of.erase(of.iterator_to(one));
        if (--under_way_ == 0)
            watch();
        see_whether_drained();
    }
    void watch();
    void see_whether_drained()
    {
        if (drained())
            loop_.enqueue(closer_);
    }

    net::loop& loop_;
    node_group& nodes_;
    pending_releases& pending_;
    net::task& closer_;
    list operations_;
    list leases_;
    list put_off_;
    unsigned under_way_ = 0;
    unsigned releasing_ = 0;
    unsigned undoing_ = 0;
    std::atomic<unsigned> expected_leases_{0};
    bool retired_ = false;
    bool closing_ = false;
    bool closed_ = false;
    bool undoing_too_long_ = false;
    bool all_released_ = true;
};

} // namespace redlock::detail

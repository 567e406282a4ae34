// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "core/reconnection.hpp"
#include "core/tally.hpp"
#include "engine/admissions.hpp"
#include "engine/environment.hpp"
#include "engine/lock_state.hpp"
#include "engine/marker.hpp"
#include "engine/node_report.hpp"
#include "engine/node_table.hpp"
#include "engine/warnings.hpp"
#include "net/connect.hpp"
#include "net/node.hpp"
#include "redis/resp.hpp"
#include <redlock/node_outcome.hpp>
#include <redlock/observer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// Receives the events of the nodes, and lists the locks that are wanted of them.
class group_listener {
public:
    /// A node is connected again; nothing has been sent there yet.
    virtual void on_connected(unsigned node) = 0;
    /// One became usable, or certainly unusable.
    virtual void on_nodes_changed() = 0;
    /// One can be asked, and all have been told so.
    virtual void on_usable(unsigned node) = 0;
    /// A server says that a key has changed; without a key: that any may have.
    virtual void on_invalidation(unsigned node, std::optional<std::string_view> key) = 0;
    /// All locks that are held or wanted now.
    virtual void for_each_lock(std::function<void(lock_state const&)> const&) const = 0;

protected:
    ~group_listener() = default;
};

/// Receives the messages of the channel that the nodes have subscribed to.
class message_listener {
public:
    /// The text is gone when the node is asked for anything.
    virtual void on_message(unsigned node, std::string_view text) = 0;

protected:
    ~message_listener() = default;
};

/// A client's nodes: their connections, and which of them may vote for a lock (docs/protocol.md, rules N2 to N7 and F6).
/// Everything but what is marked otherwise is called on the client's executor. Its counters and sets are those of all nodes
/// together, so that no vote has to look at every node.
class node_group final : private net::node_listener, private marker_listener {
public:
    node_group(environment&, group_listener&);

    [[nodiscard]] unsigned size() const { return static_cast<unsigned>(nodes_.size()); }
    [[nodiscard]] core::node_set all() const { return core::node_set::first(size()); }
    [[nodiscard]] net::node& at(unsigned node) { return *nodes_[node]; }
    [[nodiscard]] marker& marker_of(unsigned node) { return *markers_[node]; }
    /// Any thread.
    [[nodiscard]] std::vector<node_status> statuses() const
    {
        return table_.rows(environment_.read_clocks());
    }
    [[nodiscard]] detail::warnings& warnings() { return warnings_; }
    /// Keeps a node's refusal of a script for `statuses()`: no other table has a place for it.
    void note(unsigned node, std::string_view script, redis::resp_node const& reply);
    /// Keeps a refusal that locks can do without: shown while the node is connected, and told to the observer, each text
    /// once.
    void note_lack(unsigned node, std::string_view command, redis::resp_node const& reply);

    /// Takes over what is known of another client's nodes, or this one's former ones; before any is connected.
    void inherit(node_group const& former);
    /// Others tell the observer of these servers from now on.
    void retire() { retired_ = true; }

    /// \name Connections
    ///@{
    /// Begins to connect to the nodes that are not connected.
    void connect();
    [[nodiscard]] unsigned ready() const { return ready_; }
    /// Nodes that are being connected, or asked for their marker.
    [[nodiscard]] unsigned unsettled() const { return connecting_ + marking_; }
    /// Is any node's first connection of all still being made, or was it not asked for its marker yet?
    [[nodiscard]] bool has_newcomers() const;
    /// Begins to connect to the nodes that are not connected, and asks for their markers if this lock needs them.
    void connect_for(lock_state const&);
    /// Do too few nodes vote for this lock, or could a node refuse it that is a moment late, and are some about to be connected?
    [[nodiscard]] bool awaits_voters(lock_state const&) const;
    /// While something is held or wanted, connections are kept.
    void watch(bool watched);
    /// A lease needs them: the nodes that give no answer are tried again at this pace (rule H10).
    void hasten(core::reconnect_pace const&);
    /// Without a majority, the wait for this lock ends with a connection.
    // rule H10
    void hasten_for(lock_state const& lock)
    {
        if (ready_ < core::majority(size()))
            hasten(core::pace_of_waiter(lock.plan->options.ttl));
    }
    /// Somebody waits to be told by the nodes that a key has changed.
    void listen();
    void stop_listening();
    /// Null: nobody is told of messages.
    void set_message_listener(message_listener* who) { messages_ = who; }
    /// Ends all connections; there are no next ones.
    void close();
    /// Without a byte, in a forked child; `close()` must follow.
    void drop_connections();
    ///@}

    /// \name Who may vote
    ///@{
    /// Any thread. A lock was made whose keys live this long, of which so much is slack (rules N4 and N7).
    void expect_keys(core::duration ttl, core::duration slack) { admissions_.expect_keys(ttl, slack); }
    /// Asks every node that is ready for its marker.
    void require_markers();
    /// May it be asked for this lock now? Connects if that is needed. If not, the row says why.
    [[nodiscard]] bool admit(unsigned node, lock_state const& lock, node_report& row);
    /// Why it is not admitted now, as far as it is known without asking it for anything.
    void explain(unsigned node, lock_state const& lock, node_report& row);
    /// Nodes that it admits whenever they can be asked.
    [[nodiscard]] core::node_set admitted(lock_state const& lock) const
    {
        bool const known = certain_for_ == admissions_.longest_quarantine() && !lock.plan->kind.marked;
        return known ? certain_ : core::node_set();
    }
    /// Do this connected node's votes and extensions not count for this lock yet (rule N4)?
    [[nodiscard]] bool is_quarantined(unsigned node, lock_state const&) const;
    /// Connected nodes that may vote for this lock now.
    [[nodiscard]] unsigned voters(lock_state const&) const;
    /// Are these a majority?
    [[nodiscard]] bool has_majority(lock_state const& lock) const
    {
        return voters(lock) >= core::majority(size());
    }
    /// When the quarantines of connected nodes will have left a majority for this lock. Nothing: not by that alone.
    [[nodiscard]] std::optional<core::instant> majority_at(lock_state const&) const;
    ///@}

private:
    void on_node_changed(unsigned node) override;
    void on_key_changed(unsigned node, std::optional<std::string_view> key) override
    {
        listener_.on_invalidation(node, key);
    }
    void on_tracking_refused(unsigned node, redis::resp_node const& why) override;
    void on_message(unsigned node, std::string_view text) override
    {
        if (messages_)
            messages_->on_message(node, text);
    }
    void on_subscription_refused(unsigned node, std::string_view command,
                                 redis::resp_node const& why) override;
    void on_marker_asked() override { ++marking_; }
    void on_marker_settled(unsigned node) override;
    void on_marker_refused(unsigned node, redis::resp_node const& why) override { note(node, "marker", why); }
    std::optional<net::failure> disqualification(unsigned node) override;
    bool is_certain(unsigned node) override;
    bool was_set_forward(unsigned node) override;

    [[nodiscard]] core::duration quarantine_for(lock_state const&) const;
    [[nodiscard]] std::optional<core::instant> marked_since(unsigned node, lock_state const&) const;
    [[nodiscard]] std::optional<core::instant> quarantined_until(unsigned node, lock_state const&) const;
    [[nodiscard]] quarantine quarantine_of(unsigned node, lock_state const&, core::instant until) const;
    void tell_quarantine(unsigned node, lock_state const&, core::instant until) noexcept;
    [[nodiscard]] bool tell_longest_quarantine(unsigned node);
    void end_quarantine(unsigned node);
    [[nodiscard]] bool knows_marker(unsigned node, node_report&);
    [[nodiscard]] bool has_waited(unsigned node, lock_state const&, node_report&);
    void note_certain(unsigned node);
    void tell_node(unsigned node, bool news) noexcept;
    void describe_node(unsigned node, bool news);

    [[nodiscard]] observer* watcher() const { return retired_ ? nullptr : environment_.watcher(); }

    environment& environment_;
    group_listener& listener_;
    message_listener* messages_ = nullptr;
    std::vector<std::unique_ptr<net::node>> nodes_;
    std::vector<std::unique_ptr<marker>> markers_;
    admissions admissions_;
    node_table table_;
    std::vector<std::optional<core::instant>>
        quarantines_; ///< ends that were told, of nodes that are connected
    detail::warnings warnings_;
    std::vector<std::set<std::string>> lacks_; ///< that were told
    std::vector<node_state> states_;           ///< as the counters below know them
    core::node_set met_;                       ///< nodes that have been connected, or could not be
    core::node_set certain_;       ///< nodes found to be certain for every lock, since they changed last
    core::duration certain_for_{}; ///< the longest quarantine, when that was found
    unsigned listening_ = 0;
    unsigned ready_ = 0;
    unsigned connecting_ = 0;
    unsigned marking_ = 0; ///< markers that were asked for
    bool retired_ = false;
    bool closed_ = false;
};

} // namespace redlock::detail

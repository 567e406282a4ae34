// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "core/reconnection.hpp"
#include "core/tally.hpp"
#include "engine/admissions.hpp"
#include "engine/environment.hpp"
#include "engine/lock_descriptor.hpp"
#include "engine/marker.hpp"
#include "engine/node_report.hpp"
#include "engine/node_table.hpp"
#include "engine/warnings.hpp"
#include "net/broadcast.hpp"
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
    /// A node became usable, or certainly unusable.
    virtual void on_nodes_changed() = 0;
    /// A node can be asked. `on_nodes_changed` has been called before.
    virtual void on_usable(unsigned node) = 0;
    /// A server reports that a key has changed; without a key: any key may have changed.
    virtual void on_invalidation(unsigned node, std::optional<std::string_view> key) = 0;
    /// Visits all locks that are held or wanted now.
    virtual void for_each_lock(std::function<void(lock_descriptor const&)> const&) const = 0;

protected:
    ~group_listener() = default;
};

/// Receives messages of the subscribed channel.
class message_listener {
public:
    /// `text` is invalid when the node is asked for anything.
    virtual void on_message(unsigned node, std::string_view text) = 0;

protected:
    ~message_listener() = default;
};

/// A client's nodes: their connections, and which of them may vote for a lock (docs/protocol.md, rules N2 to N7 and F6).
/// Functions are called on the client's executor unless marked otherwise. Counters and sets describe all nodes
/// together, so that no vote has to look at every node.
class node_group final : private net::node_listener, private marker_listener {
public:
    node_group(environment&, group_listener&);

    [[nodiscard]] unsigned size() const { return static_cast<unsigned>(nodes_.size()); }
    [[nodiscard]] core::node_set all() const { return core::node_set::first(size()); }
    [[nodiscard]] net::node& at(unsigned node) { return *nodes_[node]; }
    [[nodiscard]] net::broadcast& to_all() { return to_all_; }
    [[nodiscard]] marker& marker_of(unsigned node) { return *markers_[node]; }
    /// Any thread.
    [[nodiscard]] std::vector<node_status> statuses() const
    {
        return table_.rows(environment_.read_clocks());
    }
    [[nodiscard]] detail::warnings& warnings() { return warnings_; }
    /// Keeps a node's refusal of a script for `statuses()`: no other table has a column for it.
    void note(unsigned node, std::string_view script, redis::resp_node const& reply);
    /// Keeps a refusal that locks can do without: shown while the node is connected, and told to the observer, each text
    /// once.
    void note_minor_refusal(unsigned node, std::string_view command, redis::resp_node const& reply);

    /// Takes over the knowledge of former nodes, before any node is connected.
    void inherit(node_group const& former);
    /// The next nodes tell the observer of these servers from now on.
    void retire() { retired_ = true; }

    /// \name Connections
    ///@{
    /// Begins to connect to the nodes that are not connected.
    void connect();
    [[nodiscard]] unsigned ready() const { return ready_; }
    /// Nodes that are being connected, or asked for their marker.
    [[nodiscard]] unsigned unsettled() const { return connecting_ + marking_; }
    /// Is any node's very first connection still being made, or its marker not known yet?
    [[nodiscard]] bool has_newcomers() const;
    /// Begins to connect to the nodes that are not connected, and asks for their markers if this lock needs them.
    void connect_for(lock_descriptor const&);
    /// Should a vote for this lock wait for nodes that are about to be connected?
    [[nodiscard]] bool awaits_voters(lock_descriptor const&) const;
    /// While something is held or wanted, connections are kept.
    void keep_connected(bool kept);
    /// A lease needs them: the nodes that give no answer are tried again at this pace (rule H10).
    void hasten(core::reconnect_pace const&);
    /// Without a majority, the wait for this lock ends with a connection.
    // rule H10
    void hasten_for(lock_descriptor const& lock)
    {
        if (ready_ < core::majority(size()))
            hasten(core::pace_of_waiter(lock.config->options.ttl));
    }
    /// A waiter or a lease expects pushes about keys. Counted.
    void expect_pushes();
    void stop_expecting_pushes();
    /// Null: messages are dropped.
    void set_message_listener(message_listener* who) { messages_ = who; }
    /// Ends all connections. No new ones are made.
    void close();
    /// Drops connections in a forked child, without sending a byte. `close()` must follow.
    void drop_connections();
    ///@}

    /// \name Who may vote
    ///@{
    /// Any thread. A lock was made whose keys live this long, of which so much is slack (rules N4 and N7).
    void expect_keys(core::duration ttl, core::duration slack) { admissions_.expect_keys(ttl, slack); }
    /// Asks every node that is ready for its marker.
    void require_markers();
    /// May the node be asked for this lock now? Connects if needed. If not, the row says why.
    [[nodiscard]] bool admit(unsigned node, lock_descriptor const& lock, node_report& row);
    /// Fills the row with the reason why the node is not admitted now, without asking it.
    void explain(unsigned node, lock_descriptor const& lock, node_report& row);
    /// Returns the nodes that are admitted whenever they can be asked.
    [[nodiscard]] core::node_set admitted(lock_descriptor const& lock) const
    {
        bool const known = certain_for_ == admissions_.longest_quarantine() && !lock.config->kind.marked;
        return known ? certain_ : core::node_set();
    }
    /// Do this connected node's votes and extensions not count for this lock yet (rule N4)?
    [[nodiscard]] bool is_quarantined(unsigned node, lock_descriptor const&) const;
    /// Returns the number of connected nodes that may vote for this lock now.
    [[nodiscard]] unsigned voters(lock_descriptor const&) const;
    /// Are the voters a majority?
    [[nodiscard]] bool has_majority(lock_descriptor const& lock) const
    {
        return voters(lock) >= core::majority(size());
    }
    /// Returns when ending quarantines give this lock a majority. Empty: that alone gives none.
    [[nodiscard]] std::optional<core::instant> majority_at(lock_descriptor const&) const;
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

    [[nodiscard]] core::duration quarantine_for(lock_descriptor const&) const;
    [[nodiscard]] std::optional<core::instant> marked_since(unsigned node, lock_descriptor const&) const;
    [[nodiscard]] std::optional<core::instant> quarantined_until(unsigned node, lock_descriptor const&) const;
    [[nodiscard]] quarantine quarantine_of(unsigned node, lock_descriptor const&, core::instant until) const;
    void tell_quarantine(unsigned node, lock_descriptor const&, core::instant until) noexcept;
    [[nodiscard]] bool tell_longest_quarantine(unsigned node);
    void end_quarantine(unsigned node);
    [[nodiscard]] bool knows_marker(unsigned node, node_report&);
    [[nodiscard]] bool has_waited(unsigned node, lock_descriptor const&, node_report&);
    void note_certain(unsigned node);
    void tell_node(unsigned node, bool news) noexcept;
    void describe_node(unsigned node, bool news);

    [[nodiscard]] observer* watcher() const { return retired_ ? nullptr : environment_.watcher(); }

    environment& environment_;
    group_listener& listener_;
    message_listener* messages_ = nullptr;
    net::broadcast to_all_;
    std::vector<std::unique_ptr<net::node>> nodes_;
    std::vector<std::unique_ptr<marker>> markers_;
    admissions admissions_;
    node_table table_;
    std::vector<std::optional<core::instant>>
        quarantines_; ///< ends that were told, of nodes that are connected
    detail::warnings warnings_;
    std::vector<std::set<std::string>> told_refusals_; ///< texts that the observer has heard, by node
    std::vector<node_state> states_;                   ///< as the counters below know them
    core::node_set met_;                               ///< nodes that have been connected, or could not be
    core::node_set certain_;       ///< nodes found to be certain for every lock, since they changed last
    core::duration certain_for_{}; ///< the longest quarantine, when that was found
    unsigned pushes_expected_ = 0;
    unsigned ready_ = 0;
    unsigned connecting_ = 0;
    unsigned marking_ = 0; ///< markers that were asked for
    bool retired_ = false;
    bool closed_ = false;
};

} // namespace redlock::detail

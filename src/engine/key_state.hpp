// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/contention.hpp"
#include "core/instant.hpp"
#include "core/leading.hpp"
#include "core/tally.hpp"
#include "engine/attempt_table.hpp"
#include "engine/node_report.hpp"
#include "engine/told_leaders.hpp"
#include "kind/kind.hpp"
#include "redis/command.hpp"
#include <redlock/node_outcome.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

class acquirer;
class waiter;
class held_lease;
class key_index;

/// One key within one client, or several that are locked at once: the client's knowledge of it, and the receiver of the
/// results of attempts and leases. Members belong to the client's executor unless marked otherwise.
class key_state {
public:
    key_state(key_index&, std::string name);
    key_state(key_state const&) = delete;
    key_state& operator=(key_state const&) = delete;
    virtual ~key_state() = default;
    friend void intrusive_ptr_add_ref(key_state*) noexcept;
    friend void intrusive_ptr_release(key_state*) noexcept;

    /// \name Any thread
    ///@{
    [[nodiscard]] std::string const& name() const { return name_; }
    [[nodiscard]] virtual redis::lock_key key() const;
    /// A lock of this name was made whose keys live this long, slack included.
    virtual void expect_keys(std::chrono::milliseconds ttl);
    /// Returns each node's answer to the last attempt that was decided.
    /// \param nodes their names, in order
    [[nodiscard]] std::vector<node_outcome> last_attempt(std::vector<std::string> const& nodes) const;
    ///@}

    /// Sets the same key among the client's next nodes, which is kept for as long as this one.
    void leave_to(boost::intrusive_ptr<key_state> successor) noexcept;
    /// The longest life of a key of any lock of this name, also of those for the next nodes (docs/protocol.md, rules N4 and
    /// N9).
    [[nodiscard]] virtual core::duration longest_key_life() const;
    /// Passes on the numbers that were seen since.
    void leave_numbers() noexcept;

    /// \name Knowledge from attempts
    ///@{
    void publish(std::vector<node_report>& rows) noexcept { table_.publish(tables(), rows); }
    void publish_success(std::vector<node_report>& rows) noexcept { table_.publish_success(tables(), rows); }
    /// The same for an attempt of which nothing else is known.
    void publish_grants(core::node_set granted) noexcept { table_.publish_grants(tables(), granted); }
    void note_holder(unsigned node, unsigned nodes, kind::key_observation const& seen) noexcept
    {
        table_.note_holder(tables(), node, nodes, seen);
    }
    /// Returns the highest fence on any node that this client has seen.
    [[nodiscard]] virtual std::uint64_t highest_number() const { return highest_number_; }
    virtual void note_number(std::uint64_t seen) { highest_number_ = std::max(highest_number_, seen); }
    /// The latest announcement that this client knows to be proven, of the next nodes too: no operation is told of an earlier
    /// one.
    // rule EL4
    [[nodiscard]] core::leader_version latest_leader() const;
    void note_leader(core::leader_version proven);
    core::contention contention;           ///< with other clients
    std::uint32_t leases_with_permits = 0; ///< this client's leases that share the key
    /// Guards the tables of attempts and leases, which other threads read.
    [[nodiscard]] std::mutex& tables() const;
    ///@}

    /// \name The waiters of this client
    ///@{
    /// Any thread. Returns the number of operations that have not got the lock yet.
    [[nodiscard]] std::uint32_t waiting() const { return waiting_.load(std::memory_order_relaxed); }
    void count_waiter() { waiting_.store(waiting() + 1, std::memory_order_relaxed); }
    void discount_waiter() { waiting_.store(waiting() - 1, std::memory_order_relaxed); }
    /// Is the lock held by this client?
    [[nodiscard]] virtual bool held_here() const = 0;
    /// Is it held by this client, or asked for?
    [[nodiscard]] virtual bool busy() const = 0;
    /// Would the nodes be asked for this waiter at once if it came now?
    [[nodiscard]] virtual bool would_ask(waiter const&) const { return !busy(); }
    /// Puts the waiter at the end, and asks for the lock if this client neither holds it nor asks for it.
    virtual void enqueue(waiter&) = 0;
    virtual void leave(waiter&) = 0;
    /// Returns how many waiters stand before this one, at most: some may have left.
    [[nodiscard]] virtual std::size_t position(waiter const&) const = 0;
    /// Returns the acquirer that asks for this waiter, or for one before it. Null: none does.
    [[nodiscard]] virtual acquirer* acquirer_of(waiter const&) const = 0;
    /// Are the nodes asked for this waiter?
    [[nodiscard]] virtual bool is_asked_for(waiter const&) const = 0;
    ///@}

    /// \name Several names
    ///@{
    /// This one refuses most votes.
    virtual void note_in_the_way(std::uint8_t) {}
    /// Returns the index of the name that was in the way last.
    [[nodiscard]] virtual std::uint8_t in_the_way() const { return 0; }
    [[nodiscard]] virtual key_state& name_at(std::uint8_t) { return *this; }
    /// Returns the name that was in the way last.
    [[nodiscard]] key_state& awaited() { return name_at(in_the_way()); }
    ///@}

    /// \name Events of a lease
    ///@{
    /// A lease of another client continues here.
    virtual void adopted(held_lease&) = 0;
    /// A lease is given up. Returns true if the lock has passed to the first waiter, without the network (rule W4).
    [[nodiscard]] virtual bool hand_over(held_lease&) = 0;
    /// A writer's lease has become a reader's.
    virtual void downgraded(held_lease&) = 0;
    /// Another lease renews the key now.
    virtual void renewed_by(held_lease const& former, held_lease& next) = 0;
    /// A lease has ended, and its last commands are sent: the next waiter may be served.
    virtual void lease_ended(held_lease const&) = 0;
    ///@}

    /// This client itself has sent these nodes a command that may delete the key. Nodes do not report a client's own
    /// changes (rule W2).
    virtual void changed_by_us(core::node_set) = 0;
    /// This client itself has changed the leader's announcement on these nodes.
    virtual void announced_here(core::node_set) {}

protected:
    [[nodiscard]] key_index& index() const { return index_; }

private:
    friend class key_index;

    std::uint32_t owners_ = 0; ///< guarded by the index: they come and go with locks, not with leases
    key_index& index_;
    std::string const name_;
    attempt_table table_;
    std::uint64_t highest_number_ = 0;
    core::leader_version latest_leader_;
    boost::intrusive_ptr<key_state> successor_;
    std::atomic<std::uint32_t> longest_key_life_ms_{0};
    std::atomic<std::uint32_t> waiting_{0}; ///< written on the executor alone
};

/// All keys of a client, by name. Any thread.
class key_index {
public:
    /// \param key_prefix what all keys begin with; must outlive them
    explicit key_index(std::string_view key_prefix) : key_prefix_(key_prefix) {}
    key_index(key_index const&) = delete;
    key_index& operator=(key_index const&) = delete;

    [[nodiscard]] std::string_view key_prefix() const { return key_prefix_; }
    /// Guards the tables of all keys.
    [[nodiscard]] std::mutex& tables() { return tables_; }

    [[nodiscard]] boost::intrusive_ptr<key_state> at(std::string name);
    /// Null: this client has no lock of that key.
    [[nodiscard]] boost::intrusive_ptr<key_state> find(std::string_view key);
    [[nodiscard]] std::vector<boost::intrusive_ptr<key_state>> all();
    /// Passes the known announcements of elections on to the client's next nodes.
    void leave_leaders_to(key_index& next) noexcept;

protected:
    ~key_index() = default;

private:
    friend void intrusive_ptr_add_ref(key_state*) noexcept;
    friend void intrusive_ptr_release(key_state*) noexcept;

    /// Hash and equality by the keys' own names, so that a hundred thousand keys need no second copy.
    struct by_name {
        using is_transparent = void;
        static std::string_view name_of(std::string_view name) { return name; }
        static std::string_view name_of(key_state const* known) { return known->name(); }
        std::size_t operator()(auto const& one) const { return std::hash<std::string_view>()(name_of(one)); }
        bool operator()(auto const& a, auto const& b) const { return name_of(a) == name_of(b); }
    };

    [[nodiscard]] virtual std::unique_ptr<key_state> make(std::string name) = 0;
    [[nodiscard]] static boost::intrusive_ptr<key_state> share(key_state&);

    std::string_view const key_prefix_;
    std::mutex tables_;
    std::mutex guard_;
    boost::unordered_flat_set<key_state*, by_name, by_name> known_;
    told_leaders told_; ///< for keys that are not known at the moment
};

} // namespace redlock::detail

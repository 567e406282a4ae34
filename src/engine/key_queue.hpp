#pragma once

#include "core/batch_policy.hpp"
#include "core/fairness.hpp"
#include "core/fencing.hpp"
#include "core/instant.hpp"
#include "engine/acquire_op.hpp"
#include "engine/node_report.hpp"
#include "kind/kind.hpp"

#include <boost/intrusive/list.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

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

class attempt_loop;
class held_lease;
class key_index;

/// One key within one client: who holds it here, and who waits for it, in the order of their coming. Only the first of
/// them, through one contender, talks to the network (docs/protocol.md, rule W1). Everything but what is marked otherwise
/// belongs to the client's executor.
class key_queue {
public:
    key_queue(key_index& registry, std::string name);
    key_queue(key_queue const&) = delete;
    key_queue& operator=(key_queue const&) = delete;
    friend void intrusive_ptr_add_ref(key_queue*) noexcept;
    friend void intrusive_ptr_release(key_queue*) noexcept;

    /// \name Any thread
    ///@{
    [[nodiscard]] std::string const& name() const { return name_; }
    [[nodiscard]] redis::lock_key key() const;
    /// Operations that have not got the lock yet.
    [[nodiscard]] std::uint32_t waiting() const { return waiting_.load(std::memory_order_relaxed); }
    /// A lock of this name was made whose keys live this long, slack included.
    void expect_keys(std::chrono::milliseconds ttl);
    /// Of all such locks (docs/protocol.md, rule N4).
    [[nodiscard]] core::duration longest_key() const
    {
        return std::chrono::milliseconds{longest_key_ms_.load(std::memory_order_relaxed)};
    }
    /// What each node said to the last attempt that was decided.
    /// \param nodes their names, in order
    [[nodiscard]] std::vector<node_outcome> last_attempt(std::vector<std::string> const& nodes) const;
    ///@}

    /// Held by this client, or asked for.
    [[nodiscard]] bool busy() const { return holder_ || !queue_.empty(); }
    [[nodiscard]] bool held_here() const { return holder_ != nullptr; }
    /// The same, with this nonce.
    [[nodiscard]] bool held_by(std::string_view nonce) const;

    /// Last in the queue; asks for the lock if nobody else of this client holds it or is about to.
    void enqueue(acquire_op&);
    /// Out of the queue, wherever it stands.
    void leave(acquire_op&);
    /// Its time is up: an attempt that is made for it alone counts as it stands.
    void hurry(acquire_op&);
    /// Do too few nodes answer whoever is asked for, as far as it can be told by now?
    [[nodiscard]] bool lacks_nodes() const;
    /// After an attempt that failed for want of them.
    [[nodiscard]] bool waits_for_nodes() const;
    /// Is it the one for whom the nodes are asked?
    [[nodiscard]] bool served(acquire_op const&) const;
    /// How many stand before it, at most: some may have left.
    [[nodiscard]] std::size_t position(acquire_op const&) const;

    /// \name For contenders
    ///@{
    [[nodiscard]] acquire_op* after(acquire_op&);
    /// Out of the queue, and the contender knows.
    void drop(acquire_op&);
    /// The node where this lock's contenders meet, of whatever client (rule W3).
    [[nodiscard]] unsigned rendezvous_node(std::vector<std::string> const& nodes) const;
    /// What each node said to an attempt that is decided: takes the rows over and leaves as many older ones for reuse.
    void publish(std::vector<node_report>& rows) noexcept;
    /// The same of one that was won. Where nodes did nothing but grant it, only which ones is kept.
    void publish_success(std::vector<node_report>& rows) noexcept;
    /// \param nodes their number
    void note_holder(unsigned node, unsigned nodes, kind::sighting const&) noexcept;
    /// The lock is won, for the first in the queue or for somebody who did not wait.
    void taken(attempt_loop&, held_lease&);
    /// Nobody is left to ask for.
    void abandoned(attempt_loop const&);
    /// Others have it.
    void refused() { batch_.somebody_came(); }
    /// An owner, who has its first part for a nonce, has been found where contenders meet.
    void met(std::uint64_t owner) noexcept;
    /// How long to let others go first when the lock is free (rule W5).
    [[nodiscard]] core::duration yield_delay(core::duration most) const
    {
        return others_ ? others_->fairness.yield_delay(most) : core::duration::zero();
    }
    /// What it had voted for on these nodes is deleted.
    void taken_back(attempt_loop const&, core::node_set);
    ///@}

    /// A lease that another client was granted goes on as one of this client's.
    void adopted(held_lease&);
    /// The lock passes from this lease to the first in the queue, without the network (rule W4). False: it must be
    /// released.
    [[nodiscard]] bool hand_over(held_lease&);
    /// A lease is over, and what is to be said about that has been sent: the next one's turn.
    void vacated(held_lease const&);
    /// A node says that the key is not what it was.
    void key_changed(unsigned node);
    /// This client itself has sent these nodes what may delete the key: of that they do not tell it (rule W2).
    void changed_here(core::node_set);

    std::uint64_t highest_number = 0; ///< on any node, as far as this client has seen

private:
    friend class key_index;
    using queue = boost::intrusive::list<
        acquire_op, boost::intrusive::member_hook<acquire_op, acquire_op::hook, &acquire_op::place>,
        boost::intrusive::constant_time_size<false>>;

    /// What is known of others who want this key.
    struct others {
        std::vector<node_report> table; ///< of an attempt that was not plainly won; otherwise empty
        std::uint64_t last_met = 0;
        core::fairness fairness;
    };

    void ask(core::batch_policy::next);
    [[nodiscard]] others& known_others();
    [[nodiscard]] bool has_table() const { return others_ && !others_->table.empty(); }
    [[nodiscard]] bool make_table(unsigned nodes) noexcept;

    key_index& registry_;
    std::string const name_;
    queue queue_;
    attempt_loop* asking_ = nullptr;
    held_lease* holder_ = nullptr;
    core::batch_policy batch_;
    std::atomic<core::node_set> granted_{}; ///< of the last attempt that was plainly won
    std::unique_ptr<others> others_;        ///< null: as long as none was met
    std::uint32_t owners_ = 0;  ///< guarded by the registry: they come and go with locks, not with leases
    std::uint32_t tickets_ = 0; ///< they go round
    std::atomic<std::uint32_t> waiting_{0}; ///< written on the executor alone
    std::atomic<std::uint32_t> longest_key_ms_{0};
};

/// All resources of a client, by name. Any thread.
class key_index {
public:
    /// \param key_prefix what the keys of all locks begin with; must outlive them
    explicit key_index(std::string_view key_prefix) : key_prefix_(key_prefix) {}

    [[nodiscard]] std::string_view key_prefix() const { return key_prefix_; }
    /// Guards the tables of all resources: they are seldom asked for.
    [[nodiscard]] std::mutex& tables() { return tables_; }

    [[nodiscard]] boost::intrusive_ptr<key_queue> at(std::string name);
    /// Null where this client has no lock of that key.
    [[nodiscard]] boost::intrusive_ptr<key_queue> find(std::string_view key);
    [[nodiscard]] std::vector<boost::intrusive_ptr<key_queue>> all();

private:
    friend void intrusive_ptr_add_ref(key_queue*) noexcept;
    friend void intrusive_ptr_release(key_queue*) noexcept;

    /// A hundred thousand keys are found by the names that they have anyhow.
    struct by_name {
        using is_transparent = void;
        static std::string_view name_of(std::string_view name) { return name; }
        static std::string_view name_of(key_queue const* known) { return known->name(); }
        std::size_t operator()(auto const& one) const { return std::hash<std::string_view>()(name_of(one)); }
        bool operator()(auto const& a, auto const& b) const { return name_of(a) == name_of(b); }
    };

    [[nodiscard]] static boost::intrusive_ptr<key_queue> share(key_queue&);

    std::string_view const key_prefix_;
    std::mutex tables_;
    std::mutex guard_;
    boost::unordered_flat_set<key_queue*, by_name, by_name> known_;
};

} // namespace redlock::detail

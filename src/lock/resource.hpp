#pragma once

#include "core/fencing.hpp"
#include "core/instant.hpp"
#include "core/tenure.hpp"
#include "lock/acquisition.hpp"
#include "lock/node_report.hpp"

#include <boost/intrusive/list.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace redlock::lock {

class contender;
class held_lease;
class resources;

/// One key within one client: who holds it here, and who waits for it, in the order of their coming. Only the first of
/// them, through one contender, talks to the network (docs/protocol.md, rule W1). Everything but what is marked otherwise
/// belongs to the client's executor.
class resource {
public:
    resource(resources& registry, std::string key);
    ~resource();
    resource(resource const&) = delete;
    resource& operator=(resource const&) = delete;

    /// \name Any thread
    ///@{
    [[nodiscard]] std::string const& key() const { return key_; }
    /// Operations that have not got the lock yet.
    [[nodiscard]] std::size_t waiting() const { return waiting_.load(std::memory_order_relaxed); }
    /// What each node said to the last attempt that was decided.
    [[nodiscard]] std::vector<node_report> last_attempt() const;
    ///@}

    /// Held by this client, or asked for.
    [[nodiscard]] bool busy() const { return holder_ || !queue_.empty(); }
    [[nodiscard]] bool held_here() const { return holder_ != nullptr; }

    /// Last in the queue; asks for the lock if nobody else of this client holds it or is about to.
    void enqueue(acquisition&);
    /// Out of the queue, wherever it stands.
    void leave(acquisition&);
    /// Its time is up: an attempt that is made for it alone counts as it stands.
    void hurry(acquisition&);
    /// Is it the one for whom the nodes are asked?
    [[nodiscard]] bool served(acquisition const&) const;
    /// How many stand before it, at most: some may have left.
    [[nodiscard]] std::size_t position(acquisition const&) const;

    /// \name For contenders
    ///@{
    [[nodiscard]] acquisition* after(acquisition&);
    /// Out of the queue, and the contender knows.
    void drop(acquisition&);
    /// The node where this lock's contenders meet, of whatever client (rule W3).
    [[nodiscard]] unsigned meeting_point(std::vector<std::string> const& nodes) const;
    /// Takes the rows over and leaves older ones for reuse.
    void publish(std::vector<node_report>& rows);
    void note_holder(unsigned node, sighting const&);
    /// The lock is won, for the first in the queue or for somebody who did not wait.
    void taken(contender&, held_lease&);
    /// Nobody is left to ask for.
    void abandoned(contender const&);
    /// Others have it.
    void refused() { tenure_.somebody_came(); }
    ///@}

    /// The lock passes from this lease to the first in the queue, without the network (rule W4). False: it must be
    /// released.
    [[nodiscard]] bool hand_over(held_lease&);
    /// A lease is over, and what is to be said about that has been sent: the next one's turn.
    void vacated(held_lease const&);
    /// A node says that the key is not what it was.
    void key_changed(unsigned node);

    core::fence highest_fence = 0; ///< on any node, as far as this client has seen

private:
    using queue = boost::intrusive::list<
        acquisition, boost::intrusive::member_hook<acquisition, acquisition::hook, &acquisition::place>,
        boost::intrusive::constant_time_size<false>>;

    void ask(core::tenure::next);

    resources& registry_;
    std::string const key_;
    queue queue_;
    contender* contender_ = nullptr;
    held_lease* holder_ = nullptr;
    core::tenure tenure_;
    std::uint64_t tickets_ = 0;
    std::atomic<std::size_t> waiting_{0};
    std::mutex mutable table_lock_;
    std::vector<node_report> table_;
};

/// All resources of a client, by key. Any thread.
class resources {
public:
    [[nodiscard]] std::shared_ptr<resource> at(std::string const& key);
    /// Null where this client has no lock of that key.
    [[nodiscard]] std::shared_ptr<resource> find(std::string_view key);
    [[nodiscard]] std::vector<std::shared_ptr<resource>> all();
    void forget(resource const&);

private:
    std::mutex guard_;
    std::unordered_map<std::string_view, std::weak_ptr<resource>> by_key_; ///< the keys are the resources'
};

} // namespace redlock::lock

#pragma once

#include "core/batch_policy.hpp"
#include "core/tally.hpp"
#include "engine/attempt_loop.hpp"
#include "engine/candidate.hpp"
#include "engine/key_state.hpp"
#include "engine/lock_state.hpp"
#include "engine/pool.hpp"
#include "engine/runtime.hpp"

#include <boost/intrusive/list.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::detail {

class key_queues;

/// Who of this client holds one key, and who waits for it, in the order of their coming. Only the first of them, through one
/// attempt loop, talks to the network (docs/protocol.md, rule W1). Everything but what is marked otherwise belongs to the
/// client's executor.
class key_queue final : public key_state {
public:
    key_queue(key_queues&, std::string name);

    /// That of a lock.
    [[nodiscard]] static key_queue& of(lock_state const& lock)
    {
        return static_cast<key_queue&>(*lock.wanted);
    }

    /// Any thread. Operations that have not got the lock yet.
    [[nodiscard]] std::uint32_t waiting() const { return waiting_.load(std::memory_order_relaxed); }
    /// Held by this client, or asked for.
    [[nodiscard]] bool busy() const { return holder_ || !queue_.empty(); }
    [[nodiscard]] bool held_here() const { return holder_ || readers_; }
    /// The same, with this nonce.
    [[nodiscard]] bool held_by(std::string_view nonce) const;

    /// Last in the queue; asks for the lock if nobody else of this client holds it or is about to.
    void enqueue(candidate&);
    /// Out of the queue, wherever it stands.
    void leave(candidate&);
    /// For one that does not wait in the queue. Null: there is no memory.
    [[nodiscard]] attempt_loop* new_loop() noexcept;
    /// Its time is up: an attempt that is made for it alone counts as it stands.
    void hurry(candidate&);
    /// Do too few nodes answer whoever is asked for, as far as it can be told by now?
    [[nodiscard]] bool lacks_nodes() const { return asking_ && asking_->lacks_nodes(); }
    /// After an attempt that failed for want of them.
    [[nodiscard]] bool waits_for_nodes() const { return asking_ && asking_->waits_for_nodes(); }
    /// Is it the one for whom the nodes are asked?
    [[nodiscard]] bool served(candidate const& one) const { return asking_ && asking_->whom() == &one; }
    /// How many stand before it, at most: some may have left.
    [[nodiscard]] std::size_t position(candidate const& one) const
    {
        return static_cast<std::size_t>(one.ticket - queue_.front().ticket);
    }
    /// A node says that the key is not what it was.
    void invalidated(unsigned node);
    /// Or the gate beside it.
    void gate_changed(unsigned node);

private:
    using queue = boost::intrusive::list<
        candidate,
        boost::intrusive::member_hook<candidate, boost::intrusive::list_member_hook<>, &candidate::place>,
        boost::intrusive::constant_time_size<false>>;

    [[nodiscard]] candidate* after(candidate&) override;
    void drop(candidate&) override;
    void won(attempt_loop&, held_lease&) override;
    void loop_ended(attempt_loop const&) override;
    void taken_back(attempt_loop const&, core::node_set) override;
    void adopted(held_lease&) override;
    [[nodiscard]] bool hand_over(held_lease&) override;
    void downgraded(held_lease&) override;
    void upgraded(held_lease&) override;
    void led_by(held_lease const& before, held_lease&) override;
    void lease_ended(held_lease const&) override;
    void changed_here(core::node_set) override;

    void ask(core::batch_policy::next);
    [[nodiscard]] bool join(candidate&);
    void let_readers_join();
    [[nodiscard]] key_queues& queues() const;

    queue queue_;
    attempt_loop* asking_ = nullptr;
    held_lease* holder_ = nullptr;
    held_lease* readers_ = nullptr;         ///< the one that leads those whom others may join
    std::uint32_t tickets_ = 0;             ///< they go round
    std::atomic<std::uint32_t> waiting_{0}; ///< written on the executor alone
};

/// All queues of a client, by the names of their keys.
class key_queues final : public key_index {
public:
    explicit key_queues(runtime& on) : key_index(on.its.settings().key_prefix), runtime_(on) {}

    [[nodiscard]] runtime& on() { return runtime_; }
    /// Null: there is no memory.
    [[nodiscard]] attempt_loop* new_loop() noexcept;
    /// A node became usable, or certainly unusable.
    void nodes_changed()
    {
        loops_.for_each([](attempt_loop& each) { each.nodes_changed(); });
    }
    /// Without a key: any may have changed.
    void invalidated(unsigned node, std::optional<std::string_view> key);
    /// Lets go of all locks that are asked for.
    void discard()
    {
        loops_.for_each([](attempt_loop& each) { each.discard(); });
    }

private:
    [[nodiscard]] std::unique_ptr<key_state> make(std::string name) override
    {
        return std::make_unique<key_queue>(*this, std::move(name));
    }

    runtime& runtime_;
    pool<attempt_loop> loops_;
};

} // namespace redlock::detail

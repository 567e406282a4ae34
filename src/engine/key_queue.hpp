// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/batch_policy.hpp"
#include "core/tally.hpp"
#include "engine/acquirer.hpp"
#include "engine/acquirer_owner.hpp"
#include "engine/key_state.hpp"
#include "engine/leader_listener.hpp"
#include "engine/lock_config.hpp"
#include "engine/lock_descriptor.hpp"
#include "engine/pool.hpp"
#include "engine/runtime.hpp"
#include "engine/waiter.hpp"

#include <boost/intrusive/list.hpp>
#include <boost/system/error_code.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::detail {

class key_queues;

/// One key's holder and waiters within this client, in the order of their coming. Only the first waiter, through one
/// acquirer, talks to the network (docs/protocol.md, rule W1); of waiters for permits the first few do, each through its own
/// acquirer (rule Q15). Members belong to the client's executor unless marked otherwise.
class key_queue final : public key_state, public acquirer_owner {
public:
    key_queue(key_queues&, std::string name);

    /// Returns the queue of a lock of one name.
    [[nodiscard]] static key_queue& of(lock_descriptor const& lock)
    {
        return static_cast<key_queue&>(*lock.key);
    }

    [[nodiscard]] bool held_here() const override
    {
        return holder_ || joinable_reader_ || leases_with_permits != 0;
    }
    /// The same, with this nonce.
    [[nodiscard]] bool held_by(std::string_view nonce) const;
    [[nodiscard]] bool busy() const override { return holder_ || !queue_.empty(); }
    [[nodiscard]] bool would_ask(waiter const&) const override;
    void enqueue(waiter&) override;
    void leave(waiter&) override;
    [[nodiscard]] std::size_t position(waiter const& this_waiter) const override
    {
        return static_cast<std::size_t>(this_waiter.ticket - queue_.front().ticket);
    }
    [[nodiscard]] acquirer* acquirer_of(waiter const& this_waiter) const override
    {
        return this_waiter.own_acquirer ? this_waiter.own_acquirer : acquirer_;
    }
    [[nodiscard]] bool is_asked_for(waiter const& this_waiter) const override
    {
        return acquirer_of(this_waiter) && acquirer_of(this_waiter)->current_waiter() == &this_waiter;
    }
    /// A node says that the key is not what it was.
    void invalidated(unsigned node);

    /// \name One of several names
    ///@{
    [[nodiscard]] waiter* first() { return queue_.empty() ? nullptr : &queue_.front(); }
    [[nodiscard]] held_lease* holder() const { return holder_; }
    /// Returns the acquirer that asks for the first waiter.
    [[nodiscard]] acquirer* acquirer_of_first() const { return acquirer_; }
    /// One acquirer asks for all names. Null: it does so no longer.
    void set_acquirer(acquirer* in_charge) { acquirer_ = in_charge; }
    [[nodiscard]] acquirer* new_acquirer() noexcept;
    /// Asks for the first waiter.
    void ask(core::batch_policy::next);
    /// Puts a waiter before all others. It has had the key, and has given it up for an attempt to get it with others (rule M8).
    void take_over(waiter&);
    /// May the ending lease go to the first waiter, as far as other clients are concerned?
    [[nodiscard]] bool may_hand_over(held_lease const&, lock_config const& next) const;
    /// The first waiter has got the lease.
    void pass_on(held_lease&);
    ///@}

    /// \name What an acquirer tells
    ///@{
    [[nodiscard]] waiter* after(waiter&) override;
    void drop(waiter&) override;
    void won(acquirer&, held_lease&) override;
    void acquirer_ended(acquirer const&) override;
    ///@}

    /// \name What a lease tells
    ///@{
    void adopted(held_lease&) override;
    [[nodiscard]] bool hand_over(held_lease&) override;
    void downgraded(held_lease&) override;
    void renewed_by(held_lease const& former, held_lease& next) override;
    void lease_ended(held_lease const&) override;
    void changed_here(core::node_set) override;
    void announced_here(core::node_set where) override { leader_changed(where); }
    ///@}

    /// \name Who leads
    ///@{
    void add_leader_listener(leader_listener& listener) { leader_listeners_.push_back(listener); }
    void leader_changed(core::node_set where);
    ///@}

private:
    using waiters = boost::intrusive::list<
        waiter, boost::intrusive::member_hook<waiter, boost::intrusive::list_member_hook<>, &waiter::hook>,
        boost::intrusive::constant_time_size<false>>;

    void insert(waiters::const_iterator before, waiter&);
    [[nodiscard]] std::ptrdiff_t count_asked_for() const;
    [[nodiscard]] bool may_ask_for_more(waiter const&, std::ptrdiff_t others) const;
    void ask_for_more();
    void ask_next();
    void stop_asking();
    void fail(waiter&, boost::system::error_code);
    void fail_all(boost::system::error_code);
    [[nodiscard]] bool join(waiter&);
    void let_readers_join();
    [[nodiscard]] key_queues& queues() const;

    using leader_listeners = boost::intrusive::list<
        leader_listener,
        boost::intrusive::member_hook<leader_listener, leader_listener::hook_type, &leader_listener::hook>,
        boost::intrusive::constant_time_size<false>>;

    static constexpr std::ptrdiff_t most_asked_for = 16; ///< rule Q15

    waiters queue_;
    leader_listeners leader_listeners_;
    acquirer* acquirer_ = nullptr; ///< for the first waiter
    held_lease* holder_ = nullptr;
    held_lease* joinable_reader_ = nullptr; ///< the lease that renews a readers' key which others may join
    std::uint32_t tickets_ = 0;             ///< wraps around
};

/// All queues of a client, by the names of their keys.
class key_queues final : public key_index {
public:
    explicit key_queues(runtime& on) : key_index(on.its.settings().key_prefix), runtime_(on) {}

    [[nodiscard]] runtime& on() { return runtime_; }
    /// Returns null if there is no memory.
    [[nodiscard]] acquirer* new_acquirer() noexcept;
    /// A node became usable, or certainly unusable.
    void nodes_changed()
    {
        acquirers_.for_each([](acquirer& each) { each.nodes_changed(); });
    }
    /// Without a key: any may have changed.
    void invalidated(unsigned node, std::optional<std::string_view> key);
    /// Lets go of all locks that are asked for.
    void discard()
    {
        acquirers_.for_each([](acquirer& each) { each.discard(); });
    }

private:
    [[nodiscard]] std::unique_ptr<key_state> make(std::string name) override
    {
        return std::make_unique<key_queue>(*this, std::move(name));
    }

    runtime& runtime_;
    pool<acquirer> acquirers_;
};

} // namespace redlock::detail

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/batch_policy.hpp"
#include "core/tally.hpp"
#include "engine/acquirer.hpp"
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
        return this_waiter.asked_by ? this_waiter.asked_by : queue_.front().asked_by;
    }
    [[nodiscard]] bool is_asked_for(waiter const& this_waiter) const override { return this_waiter.asked_by; }
    [[nodiscard]] key_queues& queues() const;
    /// A node says that the key is not what it was.
    void invalidated(unsigned node);

    /// \name One of several names
    ///@{
    [[nodiscard]] waiter* first() { return queue_.empty() ? nullptr : &queue_.front(); }
    [[nodiscard]] held_lease* holder() const { return holder_; }
    /// Asks for the waiters that have their turn from now on.
    void go_on(core::batch_policy::next = core::batch_policy::next::waiting);
    /// The waiter is done, and its acquirer too.
    void remove(waiter&);
    /// Puts a waiter before all others. It has had the key, and has given it up for an attempt to get it with others (rule M8).
    void take_over(waiter&);
    /// May the ending lease go to the first waiter, as far as other clients are concerned?
    [[nodiscard]] bool may_hand_over(held_lease const&, lock_config const& next) const;
    /// The first waiter has got the lease.
    void pass_on(held_lease&);
    ///@}

    /// \name What an acquirer tells
    ///@{
    [[nodiscard]] waiter* after(waiter const&) override;
    waiter* drop(waiter&) override;
    void won(acquirer&, held_lease&) override;
    void acquirer_ended() override { go_on(); }
    ///@}

    /// \name What a lease tells
    ///@{
    void adopted(held_lease&) override;
    [[nodiscard]] bool hand_over(held_lease&) override;
    void downgraded(held_lease&) override;
    void renewed_by(held_lease const& former, held_lease& next) override;
    void lease_ended(held_lease const&) override;
    void changed_by_us(core::node_set) override;
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
    [[nodiscard]] bool first_has_turn() const { return !queue_.empty() && queue_.front().has_turn; }
    [[nodiscard]] std::ptrdiff_t count_asking_for_permits() const;
    [[nodiscard]] bool may_ask_beside(std::ptrdiff_t others, waiter const&) const;
    [[nodiscard]] waiter* next_to_ask_for();
    void ask_for(waiter&, core::batch_policy::next);
    [[nodiscard]] bool join(waiter&);
    void hold(held_lease&);
    [[nodiscard]] bool let_go(held_lease const&);
    void for_each_acquirer(auto const& tell);

    using leader_listeners = boost::intrusive::list<
        leader_listener,
        boost::intrusive::member_hook<leader_listener, leader_listener::hook_type, &leader_listener::hook>,
        boost::intrusive::constant_time_size<false>>;

    static constexpr std::ptrdiff_t most_turns = 16; ///< rule Q15

    waiters queue_;
    leader_listeners leader_listeners_;
    held_lease* holder_ = nullptr;
    held_lease* joinable_reader_ = nullptr; ///< the lease that renews a readers' key which others may join
    std::uint32_t tickets_ = 0;             ///< wraps around
    bool goes_on_ = false;
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

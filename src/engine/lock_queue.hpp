// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "engine/acquirer.hpp"
#include "engine/candidate.hpp"
#include "engine/key_state.hpp"
#include "engine/lock_state.hpp"

#include <boost/intrusive/list.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace redlock::detail {

/// The queue of one client's operations for a lock: for one key, or for several at once. Members belong to the client's
/// executor unless marked otherwise.
class lock_queue : public key_state {
public:
    using key_state::key_state;

    /// Returns the queue of a lock.
    [[nodiscard]] static lock_queue& of(lock_state const& lock)
    {
        return static_cast<lock_queue&>(*lock.wanted);
    }

    /// Any thread. Operations that have not got the lock yet.
    [[nodiscard]] std::uint32_t waiting() const { return waiting_.load(std::memory_order_relaxed); }
    /// Held by this client, or asked for.
    [[nodiscard]] virtual bool busy() const = 0;
    /// How many stand before it, at most: some may have left.
    [[nodiscard]] virtual std::size_t position(candidate const&) const = 0;
    /// Would the nodes be asked for it at once if it came now?
    [[nodiscard]] virtual bool would_ask(candidate const&) const { return !busy(); }
    /// Last in the queue; asks for the lock if nobody else of this client holds it or is about to.
    virtual void enqueue(candidate&) = 0;
    /// Out of the queue, wherever it stands.
    virtual void leave(candidate&) = 0;

    /// Its time is up: an attempt that is made for it alone counts as it stands.
    void hurry(candidate& one)
    {
        acquirer* const its = asking(one);
        if (its && its->waiter() == &one && !after(one))
            its->hurry();
    }
    /// Do too few nodes answer whoever is asked for, as far as it can be told by now?
    [[nodiscard]] bool lacks_nodes(candidate const& one) const
    {
        return asking(one) && asking(one)->lacks_nodes();
    }
    /// Why, in the lock's table. False: the next attempt will tell.
    [[nodiscard]] bool tell_of_nodes(candidate const& one)
    {
        return asking(one) && asking(one)->tell_of_nodes();
    }
    /// Is it the one for whom the nodes are asked?
    [[nodiscard]] virtual bool served(candidate const& one) const
    {
        return asking(one) && asking(one)->waiter() == &one;
    }

protected:
    using queue = boost::intrusive::list<
        candidate,
        boost::intrusive::member_hook<candidate, boost::intrusive::list_member_hook<>, &candidate::place>,
        boost::intrusive::constant_time_size<false>>;

    void insert(queue::const_iterator before, candidate& one)
    {
        queue_.insert(before, one);
        waiting_.store(waiting() + 1, std::memory_order_relaxed);
    }
    void drop(candidate& one) override
    {
        if (!one.place.is_linked())
            return;
        queue_.erase(queue_.iterator_to(one));
        waiting_.store(waiting() - 1, std::memory_order_relaxed);
    }

    queue queue_;

private:
    /// The loop that asks the nodes for it, or for a waiter before it.
    [[nodiscard]] virtual acquirer* asking(candidate const&) const = 0;

    std::atomic<std::uint32_t> waiting_{0}; ///< written on the executor alone
};

} // namespace redlock::detail

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/fencing.hpp"
#include "core/instant.hpp"
#include "core/lease_machine.hpp"
#include "engine/lock_descriptor.hpp"
#include "engine/nonce_source.hpp"
#include "engine/runtime.hpp"
#include <redlock/error.hpp>
#include <redlock/lease.hpp>

#include <atomic>
#include <cstdint>

namespace redlock::detail {

class engine;
class held_lease;

/// A lease's properties that any thread may read. Changes are published by the client's executor.
class lease_status {
public:
    /// The validity that is left: zero if it is not valid.
    [[nodiscard]] core::duration remaining() const;
    /// Is the lease held, so that its handle's end still matters?
    [[nodiscard]] bool is_held() const
    {
        return published() == lease_state::held || published() == lease_state::suspect;
    }
    [[nodiscard]] bool released() const { return published() == lease_state::released; }
    [[nodiscard]] lease_state state() const;
    [[nodiscard]] loss_cause cause() const;
    [[nodiscard]] unsigned votes() const { return votes_.load(std::memory_order_relaxed); }
    [[nodiscard]] lock_descriptor const& lock() const { return *lock_; }
    [[nodiscard]] nonce const& owner() const { return nonce_; }
    [[nodiscard]] unsigned attempts() const { return attempts_; }
    [[nodiscard]] core::duration waited() const { return waited_; }
    [[nodiscard]] std::uint64_t fencing_token() const;
    /// With other readers.
    [[nodiscard]] bool is_shared() const { return shared_.load(std::memory_order_acquire); }
    /// The holder makes progress (rule H8).
    void progress();

    /// \name A list of leases whose handles were destroyed without memory to report it
    /// The members share the memory of `waited()`, which nobody can ask for any more.
    ///@{
    void drop_behind(held_lease* before) { dropped_before_ = before; }
    [[nodiscard]] held_lease* dropped_before() const { return dropped_before_; }
    ///@}

    /// The engine, which outlives the lease, and what the lease works with.
    [[nodiscard]] engine& client() const { return lock_->client(); }
    [[nodiscard]] runtime& on() const { return lock_->config->on; }

protected:
    struct origin {
        nonce owner;
        core::fence number; ///< zero: a plain lock
        unsigned handovers; ///< before this one, since the lock was won
        unsigned attempts;
        core::duration waited;
    };
    lease_status(lock_ptr, origin const&, core::instant begun);
    ~lease_status() = default;

    void publish(lease_state, core::lease_machine const&);
    /// Publishes the lease's end, which moves no deadline.
    void publish(lease_state s) { state_.store(s, std::memory_order_release); }
    void publish_votes(core::lease_machine const& machine)
    {
        votes_.store(static_cast<std::uint8_t>(machine.votes()), std::memory_order_relaxed);
    }
    void publish_cause(loss_cause why) { cause_.store(why, std::memory_order_release); }
    [[nodiscard]] lease_state published() const { return state_.load(std::memory_order_acquire); }
    [[nodiscard]] core::instant published_deadline() const
    {
        return {core::duration{deadline_boot_.load(std::memory_order_acquire)},
                core::duration{deadline_raw_.load(std::memory_order_acquire)}};
    }
    /// On CLOCK_BOOTTIME.
    [[nodiscard]] core::duration progressed() const
    {
        return core::duration{progressed_.load(std::memory_order_relaxed)};
    }
    [[nodiscard]] core::fence number() const { return number_; }
    /// A writer has become a reader.
    /// \return was it a reader before?
    bool publish_shared() { return shared_.exchange(true, std::memory_order_acq_rel); }
    void withdraw_shared() { shared_.store(false, std::memory_order_release); }
    [[nodiscard]] unsigned handovers() const { return handovers_; }
    /// Keeps the client, and with it the lease's memory.
    [[nodiscard]] lock_ptr const& shared_lock() const { return lock_; }

private:
    lock_ptr lock_;
    std::atomic<core::duration::rep> deadline_boot_;
    std::atomic<core::duration::rep> deadline_raw_;
    std::atomic<core::duration::rep> progressed_;
    union {
        core::duration waited_;
        held_lease* dropped_before_;
    };
    core::fence const number_;
    nonce const nonce_;
    std::uint32_t const attempts_;
    std::uint16_t const handovers_;
    std::atomic<std::uint8_t> votes_;
    std::atomic<lease_state> state_{lease_state::held};
    std::atomic<loss_cause> cause_{loss_cause::none};
    std::atomic<bool> shared_;
};

} // namespace redlock::detail

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/memory.hpp"
#include "core/timer_wheel.hpp"
#include "engine/acquire_op.hpp"
#include "engine/all_options.hpp"
#include "engine/configuration.hpp"
#include "engine/held_lease.hpp"
#include "engine/inspector.hpp"
#include "engine/key_queue.hpp"
#include "engine/key_state.hpp"
#include "engine/leader_watch.hpp"
#include "engine/lock_config.hpp"
#include "engine/lock_descriptor.hpp"
#include "engine/node_group.hpp"
#include "engine/pool.hpp"
#include "engine/runtime.hpp"
#include "engine/wait_op.hpp"
#include "kind/kind.hpp"
#include "net/executor.hpp"
#include "net/loop.hpp"
#include "net/machine.hpp"
#include <redlock/error.hpp>
#include <redlock/node_outcome.hpp>

#include <boost/asio/post.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/system/errc.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::detail {

/// One client: its operations, queues and leases, and its end. Functions are called on the client's executor unless
/// marked otherwise.
class engine final : public std::enable_shared_from_this<engine>,
                     private group_listener,
                     private net::task,
                     private net::fork_listener,
                     private core::timer {
public:
    engine(net::any_io_executor, client_settings, std::shared_ptr<net::machine>);
    ~engine();

    /// \name Any thread
    ///@{
    [[nodiscard]] net::any_io_executor const& executor() const { return runtime_.its.loop().executor(); }
    [[nodiscard]] net::loop& loop() { return runtime_.loop(); }
    [[nodiscard]] client_settings const& settings() const { return runtime_.its.settings(); }
    [[nodiscard]] std::vector<node_status> nodes() const { return runtime_.nodes.statuses(); }
    [[nodiscard]] lock_ptr make_lock(std::string name, all_options const&, kind::lock_kind const&,
                                     kind::lock_terms);
    /// \param names sorted, and each of them once
    [[nodiscard]] lock_ptr make_lock(std::vector<std::string> names, all_options const&,
                                     kind::lock_kind const&);
    /// A lock of the same names and options on other terms.
    [[nodiscard]] lock_ptr make_like(lock_descriptor const&, kind::lock_terms);
    /// The same lock, of the client's present nodes; null: it is that already.
    /// \throws std::bad_alloc
    [[nodiscard]] lock_ptr successor_of(lock_descriptor& lock)
    {
        return retired_.load(std::memory_order_acquire) ? find_successor_of(lock) : nullptr;
    }
    /// Has it been shut down completely?
    [[nodiscard]] bool ended() const { return ended_.load(std::memory_order_acquire); }

    /// Runs `work(engine&)` here if this is the executor, there otherwise. The work itself throws nothing.
    /// In a forked child it is left out.
    /// \throws std::bad_alloc and has done nothing
    template <class Work>
    void on_executor(Work work)
    {
        if (forked())
            return end_in_child();
        if (loop().running_here()) {
            loop().request_turn();
            return work(*this);
        }
        boost::asio::post(executor(), [self = shared_from_this(), work = std::move(work)]() mutable {
            self->forked() ? self->end_in_child() : work(*self);
        });
    }

    /// The same for the start of an operation: `start(engine&)` throws std::bad_alloc, too, before it has begun
    /// anything. Where that happens after the hop, `start.fail(error_code)` completes the operation, as in a forked
    /// child.
    template <class Start>
    void initiate(Start start)
    {
        if (forked())
            return refuse(std::move(start));
        if (loop().running_here()) {
            loop().request_turn();
            return start(*this);
        }
        boost::asio::post(executor(), [self = shared_from_this(), start = std::move(start)]() mutable {
            if (self->forked()) { // meanwhile
                self->end_in_child();
                return start.fail(errc::forked);
            }
            auto const begin = [&] {
                self->loop().request_turn();
                start(*self);
            };
            if (!core::if_memory_allows(begin))
                start.fail(make_error_code(boost::system::errc::not_enough_memory));
        });
    }

    /// Is this process a copy of the one that made the client? No system call where pages are wiped on fork.
    [[nodiscard]] bool forked() const noexcept { return runtime_.its.forked(); }
    /// In a forked child: nothing is sent any more, descriptors are closed without a byte, leases are lost, and what waits
    /// ends with `errc::forked` (docs/protocol.md, rule A3). Once.
    void end_in_child() noexcept;

    /// Ends everything without waiting; hops unless nobody runs the executor any more. Without memory for the hop, the
    /// next turn does it.
    void client_gone() noexcept;
    /// The handle of a lease is gone. Hops as above.
    void handle_gone(boost::intrusive_ptr<held_lease>) noexcept;
    /// The executor's context is being destroyed: lets go of every handler, and completes nothing.
    void context_gone();
    ///@}

    void shut_down(wait_op&);
    /// Passes the knowledge of keys and nodes on; not after a shutdown. The successor is kept for as long as this engine.
    /// \throws std::bad_alloc
    void leave_knowledge_to(std::shared_ptr<engine> const& successor);
    /// A later successor may replace an earlier one, which is then not kept. \throws std::bad_alloc and has done
    /// nothing
    void leave_keys_to(std::shared_ptr<engine> const& successor);
    /// New operations begin at the successor (rule N9). The wait ends when all that has begun here has ended.
    void retire(wait_op&) noexcept;
    [[nodiscard]] bool closing() const { return runtime_.life.closing(); }

    /// \name Operations
    /// \throws std::bad_alloc
    ///@{
    /// Returns the engine on which an operation begins, and replaces the lock by that engine's.
    [[nodiscard]] engine& successor_or_self(lock_ptr& lock);
    [[nodiscard]] acquire_op& new_acquire_op() { return acquire_ops_.take(runtime_); }
    [[nodiscard]] wait_op& new_wait_op() { return wait_ops_.take(runtime_.loop()); }
    [[nodiscard]] inspector& new_inspector() { return inspectors_.take(runtime_); }
    [[nodiscard]] leader_watch& new_leader_watch() { return leader_watches_.take(runtime_); }
    ///@}

private:
    [[nodiscard]] lock_ptr make_like(lock_descriptor const&);
    [[nodiscard]] std::shared_ptr<engine> successor() const;
    [[nodiscard]] lock_ptr find_successor_of(lock_descriptor&);
    /// Returns what is known of these names together; they are sorted.
    [[nodiscard]] boost::intrusive_ptr<key_state> keys_of(std::vector<std::string> names);
    /// Any thread. The nodes hear how long keys of such locks live.
    [[nodiscard]] std::shared_ptr<lock_config const> config_of(all_options const&, kind::lock_kind const&,
                                                               kind::lock_terms = {});
    void on_connected(unsigned node) override { runtime_.rollbacks.retry(node); }
    void on_nodes_changed() override
    {
        keys_.nodes_changed();
        runtime_.life.tell_nodes_changed();
    }
    void on_usable(unsigned node) override { runtime_.life.tell_usable(node); }
    void on_invalidation(unsigned node, std::optional<std::string_view> key) override
    {
        keys_.invalidated(node, key);
    }
    void for_each_lock(std::function<void(lock_descriptor const&)> const& visit) const override
    {
        runtime_.life.for_each_lock(visit);
    }
    void on_fork() noexcept override { end_in_child(); }
    template <class Start>
    void refuse(Start start)
    {
        end_in_child();
        boost::asio::post(executor(), [self = shared_from_this(), start = std::move(start)]() mutable {
            start.fail(errc::forked);
        });
    }
    void release_dropped() noexcept;
    void leave_numbers() noexcept;
    void begin_shutdown();
    void end_everything();
    void run() override;
    void expire() override;
    void close();
    [[nodiscard]] boost::system::error_code end_result() const;

    runtime runtime_;
    key_queues keys_{runtime_};
    lock_configs configs_;
    pool<acquire_op> acquire_ops_;
    pool<wait_op> wait_ops_;
    pool<inspector> inspectors_;
    pool<leader_watch> leader_watches_;
    wait_list shutdown_waiters_;
    wait_list retirement_waiters_;
    std::shared_ptr<engine> next_;       ///< set before `retired_`
    std::mutex mutable successor_guard_; ///< guards it, and the successors of locks
    std::atomic<bool> retired_{false};
    std::atomic<bool> ended_{false};
    std::atomic<held_lease*> dropped_{nullptr}; ///< their handles are gone
    std::atomic<bool> abandoned_{false};
    std::shared_ptr<engine> half_done_; ///< itself, if nothing of it may be touched any more
};

} // namespace redlock::detail

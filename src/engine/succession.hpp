// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "net/executor.hpp"
#include "net/machine.hpp"
#include <redlock/config.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace redlock::detail {

class engine;
class wait_op;

/// The engines of one client, one after the other: N is constant for each of them, and for all that begins there
/// (docs/protocol.md, rule N9). Any thread.
class succession : public std::enable_shared_from_this<succession> {
public:
    /// \throws lock_error `errc::misconfigured`
    succession(net::any_io_executor, config, std::shared_ptr<net::machine>);

    [[nodiscard]] net::any_io_executor const& executor() const { return executor_; }
    /// The engine for new operations.
    [[nodiscard]] std::shared_ptr<engine> current() const;

    /// An engine for other nodes. Nothing changes until it takes over.
    class node_change {
    public:
        node_change(std::shared_ptr<succession> of, std::shared_ptr<engine> made) noexcept
            : of_(std::move(of)), made_(std::move(made))
        {}
        node_change(node_change&&) noexcept = default;
        node_change& operator=(node_change&&) = delete;
        ~node_change()
        {
            if (of_)
                of_->change_ended();
        }

        /// On the executor: new operations begin there. The wait ends when all operations of the present engine have
        /// ended.
        void take_over(engine& present, wait_op&) noexcept;

    private:
        std::shared_ptr<succession> of_;
        std::shared_ptr<engine> made_;
    };
    /// \throws lock_error `errc::misconfigured`: a node cannot be used, or the two lists could both grant one lock;
    ///         `std::errc::operation_in_progress`: the change before has not been carried through; `errc::forked`
    [[nodiscard]] node_change prepare(std::vector<std::string> nodes);

    /// `make(engine&)` a lock; between two changes.
    template <class Make>
    [[nodiscard]] auto with_current(Make make)
    {
        std::scoped_lock const held(guard_);
        return make(*current_);
    }

    /// Returns the last engines: no other one follows.
    struct both {
        std::shared_ptr<engine> current;
        std::shared_ptr<engine> former; ///< null: nothing that began there is left
    };
    [[nodiscard]] both last() noexcept;
    /// The client is gone.
    void end() noexcept;

private:
    /// Returns false if the client ends, and so no change is possible.
    [[nodiscard]] bool adopt(std::shared_ptr<engine> next) noexcept;
    void leave_keys() noexcept;
    void change_ended() noexcept;

    net::any_io_executor const executor_;
    config const settings_;
    std::shared_ptr<net::machine> const on_;
    std::mutex mutable guard_;
    std::shared_ptr<engine> current_;
    std::shared_ptr<engine>
        former_; ///< kept until the next change: a cancellation names its operation's engine
    std::vector<std::weak_ptr<engine>> earlier_; ///< that locks and leases keep; used by one change at a time
    bool changing_ = false;
    bool ending_ = false;
};

} // namespace redlock::detail

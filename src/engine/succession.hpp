#pragma once

#include "net/executor.hpp"
#include "net/machine.hpp"
#include <redlock/config.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace redlock::detail {

class engine;
class wait_op;

/// The engines of one client, one after the other: N is constant for each of them, and for all that begins there
/// (docs/protocol.md, rule N9). Any thread.
class succession {
public:
    /// \throws lock_error `errc::misconfigured`
    succession(net::any_io_executor, config, std::shared_ptr<net::machine>);

    [[nodiscard]] net::any_io_executor const& executor() const { return executor_; }
    /// What begins now begins there.
    [[nodiscard]] std::shared_ptr<engine> current() const;
    /// Something that began there has not ended; null: there is no such engine.
    [[nodiscard]] std::shared_ptr<engine> former() const;

    /// An engine for these nodes. `change` or `give_up` must follow.
    /// \throws lock_error `errc::misconfigured`: a node cannot be used, or the two lists could both grant one lock;
    ///         `std::errc::operation_in_progress`: the change before has not been carried through
    [[nodiscard]] std::shared_ptr<engine> prepare(std::vector<std::string> nodes);
    /// On the executor: what begins from now on begins at the next one. The wait ends when all that has begun at the present
    /// one has ended.
    void change(engine& present, std::shared_ptr<engine> next, wait_op&) noexcept;
    void give_up() noexcept;

    /// `make(engine&)` a lock; between two changes.
    template <class Make>
    [[nodiscard]] auto with_current(Make make)
    {
        std::scoped_lock const held(guard_);
        return make(*current_);
    }

    /// The client is gone.
    void end() noexcept;

private:
    void adopt(std::shared_ptr<engine> next) noexcept;

    net::any_io_executor const executor_;
    config const settings_;
    std::shared_ptr<net::machine> const on_;
    std::mutex mutable guard_;
    std::shared_ptr<engine> current_;
    std::shared_ptr<engine>
        former_; ///< kept until the next change: who cancels an operation names its engine
    bool changing_ = false;
};

} // namespace redlock::detail

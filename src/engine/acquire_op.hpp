// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "core/instant.hpp"
#include "engine/key_state.hpp"
#include "engine/lifecycle.hpp"
#include "engine/pool.hpp"
#include "engine/runtime.hpp"
#include "engine/waiter.hpp"
#include "net/loop.hpp"
#include <redlock/detail/completion_handler.hpp>
#include <redlock/detail/lock_operations.hpp>
#include <redlock/detail/lock_ptr.hpp>
#include <redlock/node_outcome.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/system/error_code.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace redlock::detail {

/// One call of `acquire` or `try_acquire`. It waits in its key's local queue until an acquirer wins the lock, the
/// previous owner hands it over, or it gives up.
class acquire_op final : public waiter, public activity, private net::task {
public:
    using handler_type = completion_handler<lease_signature>;

    acquire_op(runtime&, pool<acquire_op>& home);

    void start(lock_ptr&&, wait_limit, handler_type&&);
    void cancel(std::uint32_t generation);
    void abort(boost::system::error_code) override;
    [[nodiscard]] lock_descriptor const* wanted_lock() const override { return lock_.get(); }
    /// Lets go of the handler, without calling it, and of the lock.
    void discard();
    /// It was taken from its pool, and is not started.
    void recycle() { home_.recycle(*this); }
    [[nodiscard]] std::uint32_t generation() const { return generation_; }

    void deliver(boost::intrusive_ptr<held_lease>) override;
    void receive(boost::intrusive_ptr<held_lease>) override;
    void fail(boost::system::error_code) override;
    void tell_waiting(std::size_t before, bool in_queue) override;

private:
    enum class phase : std::uint8_t { idle, waiting, received, failed };

    void expire() override;
    void run() override;
    void enter();
    void leave_queue();
    void note_outage();
    void schedule_timeout();
    [[nodiscard]] core::duration patience_behind_others() const;
    void give_up_in_outage();
    void complete(boost::intrusive_ptr<held_lease>);
    [[nodiscard]] boost::system::error_code last_failure() const noexcept;
    [[nodiscard]] std::exception_ptr failure() const noexcept;
    [[nodiscard]] std::string failure_text(std::vector<node_outcome> const&) const;

    [[nodiscard]] key_state& queue() const { return *lock_->key; }
    void tell_end() const;

    runtime& runtime_;
    pool<acquire_op>& home_;
    handler_type handler_;
    boost::intrusive_ptr<held_lease> lease_; ///< received, and not delivered yet
    boost::system::error_code result_;
    std::uint32_t waiters_ahead_ = 0; ///< in the queue when it gave up
    std::uint32_t generation_ = 0;
    phase phase_ = phase::idle;
    bool held_here_ = false; ///< when it gave up
};

} // namespace redlock::detail

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/any_lock.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/detail/lock_operations.hpp>
#include <redlock/detail/lock_ptr.hpp>
#include <redlock/inspectable_lock.hpp>
#include <redlock/with_diagnostics.hpp>

#include <boost/asio/async_result.hpp>

#include <chrono>
#include <utility>

namespace redlock::detail {

/// The common base of the locks for readers and writers. `acquire` and the other acquire functions without `_shared`
/// are a writer's.
class REDLOCK_EXPORT basic_shared_lock : public inspectable_lock {
public:
    /// Waits until no writer has the lock, and holds it as a reader.
    template <boost::asio::completion_token_for<lease_signature> Token = default_token>
    [[nodiscard]] auto acquire_shared(Token&& token = {}) const
    {
        return shared_.acquire(std::forward<Token>(token));
    }
    /// As a reader, makes one attempt, and does not wait: `try_acquire`. If another reader of this client has the lock
    /// and no writer of this client waits, it may join that one.
    template <boost::asio::completion_token_for<lease_signature> Token = default_token>
    [[nodiscard]] auto try_acquire_shared(Token&& token = {}) const
    {
        return shared_.try_acquire(std::forward<Token>(token));
    }
    /// As a reader, waits for at most `limit`: `acquire_for`.
    template <class Rep, class Period,
              boost::asio::completion_token_for<lease_signature> Token = default_token>
    [[nodiscard]] auto acquire_shared_for(std::chrono::duration<Rep, Period> limit, Token&& token = {}) const
    {
        return shared_.acquire_for(limit, std::forward<Token>(token));
    }
    /// As a reader, waits until `deadline` at most: `acquire_until`.
    template <class Clock, class Duration,
              boost::asio::completion_token_for<lease_signature> Token = default_token>
    [[nodiscard]] auto acquire_shared_until(std::chrono::time_point<Clock, Duration> deadline,
                                            Token&& token = {}) const
    {
        return shared_.acquire_until(deadline, std::forward<Token>(token));
    }

    /// This lock as its readers see it, for `with_lock(lock.shared(), body)`: its `acquire` is `acquire_shared`.
    [[nodiscard]] any_lock shared() const noexcept { return shared_; }

protected:
    /// \cond
    basic_shared_lock(lock_ptr writers, lock_ptr readers) noexcept
        : inspectable_lock(std::move(writers)), shared_(readers_side(std::move(readers)))
    {}
    /// \endcond

private:
    /// Only a derived class may make a lock.
    struct readers_side : any_lock {
        explicit readers_side(lock_ptr state) noexcept : any_lock(std::move(state)) {}
    };

    any_lock shared_;
};

} // namespace redlock::detail

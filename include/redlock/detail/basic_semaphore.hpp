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

/// The common base of semaphores.
class REDLOCK_EXPORT basic_semaphore : public inspectable_lock {
public:
    using any_lock::acquire;
    using any_lock::acquire_for;
    using any_lock::acquire_until;
    using any_lock::try_acquire;

    /// Waits until it holds `count` permits: all of them with one lease, or none.
    /// \throws lock_error `errc::misconfigured`: `count` is zero, or above `permits()`
    /// \throws std::bad_alloc
    template <boost::asio::completion_token_for<lease_signature> Token = default_token>
    [[nodiscard]] auto acquire(unsigned count, Token&& token = {}) const
    {
        return with_count(count).acquire(std::forward<Token>(token));
    }
    /// `count` permits, or none: `try_acquire`. Several operations of a client may ask at the same time
    /// (docs/protocol.md, rule Q15).
    template <boost::asio::completion_token_for<lease_signature> Token = default_token>
    [[nodiscard]] auto try_acquire(unsigned count, Token&& token = {}) const
    {
        return with_count(count).try_acquire(std::forward<Token>(token));
    }
    /// `count` permits, within `limit`: `acquire_for`.
    template <class Rep, class Period,
              boost::asio::completion_token_for<lease_signature> Token = default_token>
    [[nodiscard]] auto acquire_for(unsigned count, std::chrono::duration<Rep, Period> limit,
                                   Token&& token = {}) const
    {
        return with_count(count).acquire_for(limit, std::forward<Token>(token));
    }
    /// `count` permits, until `deadline`: `acquire_until`.
    template <class Clock, class Duration,
              boost::asio::completion_token_for<lease_signature> Token = default_token>
    [[nodiscard]] auto acquire_until(unsigned count, std::chrono::time_point<Clock, Duration> deadline,
                                     Token&& token = {}) const
    {
        return with_count(count).acquire_until(deadline, std::forward<Token>(token));
    }

    /// How many there are.
    [[nodiscard]] unsigned permits() const noexcept;
    /// The number of permits of each lease that `acquire()` and the other acquire functions without a count give.
    [[nodiscard]] unsigned count() const noexcept;

protected:
    /// \cond
    explicit basic_semaphore(lock_ptr state) noexcept : inspectable_lock(std::move(state)) {}
    [[nodiscard]] lock_ptr state_with(unsigned count) const;
    /// \endcond

private:
    [[nodiscard]] any_lock with_count(unsigned count) const;
};

} // namespace redlock::detail

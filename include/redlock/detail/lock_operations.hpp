// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/completion_handler.hpp>
#include <redlock/detail/diagnostics.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/detail/lock_ptr.hpp>
#include <redlock/detail/wait_time.hpp>
#include <redlock/inspection.hpp>
#include <redlock/lease.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <utility>

namespace redlock::detail {

/// How long an acquisition may wait: one attempt, a time from its start, or (empty) no limit.
using wait_limit = std::optional<std::chrono::nanoseconds>;
inline constexpr std::chrono::nanoseconds one_attempt{-1};

using lease_signature = void(boost::system::error_code, lease);
using inspection_signature = void(boost::system::error_code, inspection);

struct start_acquire {
    using executor_type = boost::asio::any_io_executor;

    executor_type get_executor() const noexcept { return executor(); }
    REDLOCK_EXPORT executor_type const& executor() const noexcept;

    template <class Handler>
    void operator()(Handler&& handler)
    {
        begin(completion_handler<lease_signature>(std::forward<Handler>(handler), executor()));
    }

    REDLOCK_EXPORT void begin(completion_handler<lease_signature>);

    lock_ptr lock;
    wait_limit limit;
};

/// A deferred operation may start long after it was made.
template <class TimePoint>
struct start_acquire_until : start_acquire {
    template <class Handler>
    void operator()(Handler&& handler)
    {
        limit = wait_until(deadline);
        start_acquire::operator()(std::forward<Handler>(handler));
    }

    TimePoint deadline;
};

/// Returns the exception for an error: a `lock_error`, or `std::bad_alloc`.
REDLOCK_EXPORT std::exception_ptr explained(lock_ptr const&, boost::system::error_code) noexcept;

struct start_inspect {
    using executor_type = boost::asio::any_io_executor;

    executor_type get_executor() const noexcept { return executor(); }
    REDLOCK_EXPORT executor_type const& executor() const noexcept;

    template <class Handler>
    void operator()(Handler&& handler)
    {
        begin({explaining(std::forward<Handler>(handler), lock), executor()});
    }

    REDLOCK_EXPORT void begin(completion_handler<inspection_signature>);

    lock_ptr lock;
};

} // namespace redlock::detail

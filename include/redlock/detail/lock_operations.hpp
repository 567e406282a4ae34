// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/completion_handler.hpp>
#include <redlock/detail/diagnostics.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/inspection.hpp>
#include <redlock/lease.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace redlock::detail {

struct lock_descriptor;

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

    std::shared_ptr<lock_descriptor> lock;
    wait_limit limit;
};

/// Returns the exception for an error: a `lock_error`, or `std::bad_alloc`.
REDLOCK_EXPORT std::exception_ptr explained(std::shared_ptr<lock_descriptor> const&,
                                            boost::system::error_code) noexcept;

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

    std::shared_ptr<lock_descriptor> lock;
};

} // namespace redlock::detail

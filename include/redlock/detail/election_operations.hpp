// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/completion_handler.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/detail/lock_ptr.hpp>
#include <redlock/leader_info.hpp>
#include <redlock/leadership.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/system/error_code.hpp>

#include <optional>
#include <string>
#include <utility>

namespace redlock::detail {

using leadership_signature = void(boost::system::error_code, leadership);
using leader_signature = void(boost::system::error_code, leader_info);

struct start_campaign {
    using executor_type = boost::asio::any_io_executor;

    executor_type get_executor() const noexcept { return executor(); }
    REDLOCK_EXPORT executor_type const& executor() const noexcept;

    template <class Handler>
    void operator()(Handler&& handler)
    {
        begin(completion_handler<leadership_signature>(std::forward<Handler>(handler), executor()));
    }

    REDLOCK_EXPORT void begin(completion_handler<leadership_signature>);

    lock_ptr lock;
    std::string value;
};

struct start_leader_watch {
    using executor_type = boost::asio::any_io_executor;

    executor_type get_executor() const noexcept { return executor(); }
    REDLOCK_EXPORT executor_type const& executor() const noexcept;

    template <class Handler>
    void operator()(Handler&& handler)
    {
        begin(completion_handler<leader_signature>(std::forward<Handler>(handler), executor()));
    }

    REDLOCK_EXPORT void begin(completion_handler<leader_signature>);

    lock_ptr lock;
    /// The information that the caller has: the operation completes when there is other information. Empty: it
    /// completes with the present one.
    std::optional<leader_info> known;
};

} // namespace redlock::detail

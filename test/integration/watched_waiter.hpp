// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "cluster.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>

#include <chrono>
#include <optional>

namespace redlock::test {

/// Waits until the test has seen enough. With a limit of its own the wait could end before its first attempt, on a slow
/// machine.
class watched_waiter {
public:
    explicit watched_waiter(any_lock lock)
    {
        lock.acquire(asio::bind_cancellation_slot(stop_.slot(), [this](error_code ec, lease) { end_ = ec; }));
    }
    watched_waiter(watched_waiter const&) = delete;
    watched_waiter& operator=(watched_waiter const&) = delete;

    /// Repeated attempts would show in this time. \return how the wait ended: it is cancelled then
    asio::awaitable<error_code> watched_for(std::chrono::milliseconds time)
    {
        asio::steady_timer pause(co_await asio::this_coro::executor, time);
        co_await pause.async_wait(asio::use_awaitable);
        stop_.emit(asio::cancellation_type::total);
        co_await until([this] { return end_.has_value(); });
        co_return *end_;
    }

private:
    asio::cancellation_signal stop_;
    std::optional<error_code> end_;
};

} // namespace redlock::test

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/completion_handler.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/error.hpp>
#include <redlock/lease.hpp>
#include <redlock/with_diagnostics.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace redlock {

namespace detail {
struct campaign;
} // namespace detail

/// The result of `election::campaign`: this client leads while it is `valid()`. It renews itself as a lease does, and
/// tells the nodes its value with each renewal.
///
/// `valid()` reads a clock at every call, and needs no event to become false: ask it before each act of a leader. Send
/// `term()` with everything that the leader writes, and let the resource refuse smaller terms.
///
/// In thread safety, memory, lifetime and what its destructor does, it is as `lease`.
class REDLOCK_EXPORT leadership {
public:
    /// The client's executor.
    using executor_type = redlock::lease::executor_type;

    leadership() noexcept = default;

    /// Was it default-constructed, moved from, or the result of a failed campaign? Says nothing about validity.
    [[nodiscard]] bool empty() const noexcept { return lease_.empty(); }
    /// The client's executor; the system executor if it is empty.
    [[nodiscard]] executor_type get_executor() const noexcept { return lease_.get_executor(); }
    /// The fencing token, which is larger than that of every leader before. Zero if it is empty.
    [[nodiscard]] std::uint64_t term() const noexcept { return lease_.fencing_token(); }
    /// May it act as the leader now? As `lease::valid`.
    [[nodiscard]] bool valid() const noexcept { return lease_.valid(); }
    /// Validity left; zero if not valid.
    [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept { return lease_.remaining(); }
    /// The lease of the leadership. It may be asked and waited for.
    [[nodiscard]] redlock::lease const& lease() const noexcept { return lease_; }

    /// Waits for the end of the leadership, as `lease::ended` does.
    /// \par Completion signature
    /// `void(boost::system::error_code, redlock::lease_end)`
    /// \par Errors
    /// `errc::empty_lease`
    /// \par Cancellation
    /// terminal, partial, total: stops waiting, and completes with `operation_aborted`.
    template <
        boost::asio::completion_token_for<void(boost::system::error_code, lease_end)> Token = default_token>
    [[nodiscard]] auto ended(Token&& token = {}) const
    {
        return lease_.ended(std::forward<Token>(token));
    }

    /// Replaces the value that observers read. It is sent with a renewal, and with every later one. A node that is not
    /// connected receives it after reconnecting.
    ///
    /// On success a majority has the new value: every read that starts later sees it, or a later one.
    /// The value has at most 4096 bytes.
    /// \par Completion signature
    /// `void(boost::system::error_code)`
    /// \par Errors
    /// `errc::no_quorum`: no majority confirmed; the next renewals repeat it. `errc::misconfigured`: the value is too
    /// long, and the old one stays. `errc::lease_lost`, `errc::released`, `errc::shut_down`: it has ended.
    /// `errc::empty_lease`, `errc::forked`.
    /// \par Cancellation
    /// terminal, partial, total: stops waiting; the value is sent nevertheless.
    template <boost::asio::completion_token_for<void(boost::system::error_code)> Token = default_token>
    [[nodiscard]] auto proclaim(std::string value, Token&& token = {});

    /// Gives the leadership up, as `lease::release` does. It is not valid any more from the call on, and its value is
    /// deleted on the nodes. After `errc::no_quorum` it may be repeated.
    /// \par Completion signature
    /// `void(boost::system::error_code)`
    /// \par Errors
    /// Those of `lease::release`.
    /// \par Cancellation
    /// terminal, partial, total: stops waiting; the releases have been sent.
    template <boost::asio::completion_token_for<void(boost::system::error_code)> Token = default_token>
    [[nodiscard]] auto resign(Token&& token = {})
    {
        return boost::asio::async_initiate<Token, void(boost::system::error_code)>(
            redlock::lease::start{held_lease(), redlock::lease::operation::resign}, token);
    }

    /// Makes a `lock_error` from an error that an operation on it completed with, as `lease::explain` does.
    /// \throws std::bad_alloc
    [[nodiscard]] lock_error explain(boost::system::error_code ec) const { return lease_.explain(ec); }

private:
    friend struct detail::campaign;
    struct start_proclaim;

    explicit leadership(redlock::lease won) noexcept : lease_(std::move(won)) {}
    [[nodiscard]] boost::intrusive_ptr<detail::held_lease> const& held_lease() const noexcept
    {
        return lease_.held_;
    }

    redlock::lease lease_;
};

/// \cond
struct leadership::start_proclaim {
    using executor_type = leadership::executor_type;

    executor_type get_executor() const noexcept { return held ? executor() : executor_type(); }
    REDLOCK_EXPORT executor_type const& executor() const noexcept;

    template <class Handler>
    void operator()(Handler&& handler)
    {
        if (!held)
            return detail::refuse_empty(std::forward<Handler>(handler));
        begin({detail::explaining(std::forward<Handler>(handler), held), executor()});
    }

    REDLOCK_EXPORT void begin(detail::completion_handler<void(boost::system::error_code)>);

    boost::intrusive_ptr<detail::held_lease> held;
    std::string value;
};
/// \endcond

template <boost::asio::completion_token_for<void(boost::system::error_code)> Token>
auto leadership::proclaim(std::string value, Token&& token)
{
    return boost::asio::async_initiate<Token, void(boost::system::error_code)>(
        start_proclaim{held_lease(), std::move(value)}, token);
}

} // namespace redlock

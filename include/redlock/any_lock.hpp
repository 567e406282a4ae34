// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/awaitable_1_81.hpp> // IWYU pragma: keep
#include <redlock/detail/export.hpp>
#include <redlock/detail/lock_operations.hpp>
#include <redlock/detail/lock_ptr.hpp>
#include <redlock/detail/wait_time.hpp>
#include <redlock/error.hpp>
#include <redlock/lease.hpp>
#include <redlock/lock_options.hpp>
#include <redlock/node_outcome.hpp>
#include <redlock/with_diagnostics.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock {

/// A lock of any kind: the operations that all kinds have. Every lock derives from it. A function that works with all kinds
/// takes an `any_lock`, and a list of different locks is a `std::vector<any_lock>`. Kinds do not derive from each other: a
/// function that takes a `fenced_mutex` accepts no `mutex`.
///
/// A copy refers to the same lock, and is cheap. A lock that was moved from is as before: moving copies. The operations
/// change nothing in the object: it may be const.
///
/// The rest is common to `acquire`, `try_acquire`, `acquire_for` and `acquire_until`.
///
/// \par Completion signature
/// `void(boost::system::error_code, redlock::lease)`, with every token. The default token throws a `lock_error`, whose
/// message and table say what each node answered: it is `with_diagnostics(asio::deferred)`. Wrap your own token in
/// `with_diagnostics` to get the same exception. Without it, tokens that throw, such as `asio::use_awaitable`, throw a
/// `boost::system::system_error` with the code alone. Completion runs on the token's associated executor, never inside
/// the initiating call.
/// \par Errors
/// `errc::contended`, `errc::too_slow`: only of `try_acquire`. `errc::no_quorum`: too few nodes could be asked, for one
/// attempt or for `retry_policy::outage_patience`.
/// `errc::timed_out`, `errc::shut_down`. `errc::no_randomness`: OpenSSL's RAND_bytes failed, and nothing was sent.
/// `errc::forked`: this process is a forked copy of the one that made the client. Without memory the initiating function
/// throws `std::bad_alloc`, or the operation completes with `std::errc::not_enough_memory`, which `with_diagnostics`
/// turns into `std::bad_alloc`.
/// \par Cancellation
/// terminal, partial, total. Afterwards the caller owns nothing: every vote that was sent is being released. On an
/// unreachable node the key stays for `ttl + slack` after the vote was executed, which may be up to
/// `reconnect.connect_timeout` after it was asked for. If a grant races with the cancellation, it is released.
/// \par Thread safety and lifetime
/// May be started from any thread. The client must outlive the operation.
class REDLOCK_EXPORT any_lock {
public:
    /// The client's executor.
    using executor_type = boost::asio::any_io_executor;

    /// Refers to the same lock.
    any_lock(any_lock const&) noexcept = default;
    /// Refers to the same lock.
    any_lock& operator=(any_lock const&) noexcept = default;
    ~any_lock() = default;

    /// Waits until the lock is held. Retries as `lock_options::retry` says.
    template <boost::asio::completion_token_for<detail::lease_signature> Token = default_token>
    [[nodiscard]] auto acquire(Token&& token = {}) const
    {
        return initiate(std::nullopt, std::forward<Token>(token));
    }

    /// Makes one attempt, and does not wait. If another operation of this client holds the lock or waits for it, the
    /// attempt fails at once with `errc::contended`.
    template <boost::asio::completion_token_for<detail::lease_signature> Token = default_token>
    [[nodiscard]] auto try_acquire(Token&& token = {}) const
    {
        return initiate(detail::one_attempt, std::forward<Token>(token));
    }

    /// Waits for at most `limit`, counted from the start of the operation. The limit includes connecting. If too few
    /// nodes are connected in time, or another operation of this client holds the lock or waits for it, no attempt is
    /// made. Zero or less: one attempt, as `try_acquire()` makes. If it fails, the error is `timed_out` all the same.
    template <class Rep, class Period,
              boost::asio::completion_token_for<detail::lease_signature> Token = default_token>
    [[nodiscard]] auto acquire_for(std::chrono::duration<Rep, Period> limit, Token&& token = {}) const
    {
        return initiate(detail::bounded_wait(limit), std::forward<Token>(token));
    }

    /// Waits until `deadline` at most, by any clock, as `acquire_for` does.
    template <class Clock, class Duration,
              boost::asio::completion_token_for<detail::lease_signature> Token = default_token>
    [[nodiscard]] auto acquire_until(std::chrono::time_point<Clock, Duration> deadline,
                                     Token&& token = {}) const
    {
        using start = detail::start_acquire_until<std::chrono::time_point<Clock, Duration>>;
        return boost::asio::async_initiate<Token, detail::lease_signature>(start{{state_, {}}, deadline},
                                                                           token);
    }

    /// The client's executor.
    [[nodiscard]] executor_type get_executor() const noexcept;
    /// The name, without `config::key_prefix`.
    [[nodiscard]] std::string const& name() const noexcept;
    /// The options that the lock was made with.
    [[nodiscard]] lock_options const& options() const noexcept;

    /// How many operations of this client wait for a lock of this name. Any thread.
    [[nodiscard]] std::size_t waiting() const noexcept;

    /// Returns each node's answer to the last attempt that was decided, through any lock of this name and client. While
    /// an operation waits, the table also names the holder of the key on each node and the time left, if the node has
    /// reported them. Any thread.
    [[nodiscard]] std::vector<node_outcome> last_attempt() const;

    /// Makes a `lock_error` from an error that an acquisition of this lock completed with, for logs and for throwing.
    /// Use it with tokens that give an error code, or throw a plain `system_error`. `with_diagnostics` says more: how
    /// long the operation waited, and its `last_failure()`. The text names the lock. If the error comes from the nodes'
    /// answers, the `lock_error` carries `last_attempt()`. Call it when the operation completes: later attempts of this
    /// client for the same name replace the table.
    ///
    /// Any thread.
    /// \throws std::bad_alloc
    [[nodiscard]] lock_error explain(boost::system::error_code) const;

protected:
    /// \cond
    explicit any_lock(detail::lock_ptr state) noexcept : state_(std::move(state)) {}
    [[nodiscard]] lease adopt_lease(std::string_view nonce, std::uint64_t fencing_token) const;
    [[nodiscard]] std::span<std::string const> several_names() const noexcept;
    [[nodiscard]] detail::lock_ptr const& state() const noexcept { return state_; }
    /// \endcond

private:
    template <class Token>
    auto initiate(detail::wait_limit limit, Token&& token) const
    {
        return boost::asio::async_initiate<Token, detail::lease_signature>(
            detail::start_acquire{state_, limit}, token);
    }

    detail::lock_ptr state_;
};

} // namespace redlock

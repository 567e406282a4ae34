// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/guarded_run.hpp>
#include <redlock/detail/with_lock_misuse.hpp>
#include <redlock/lease.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <concepts>
#include <type_traits>
#include <utility>

namespace redlock {

/// A lock that `with_lock` can acquire: any lock of this library (for readers `lock.shared()`, for several permits
/// `pool.taking(count)`), or a type of your own with the same `acquire`. An `election` is not one. If `acquire` also
/// takes the token `with_diagnostics(use_awaitable)`, `with_lock` uses that token, and throws what it throws.
template <class Lock>
concept acquirable = std::move_constructible<Lock> && requires(Lock& lock) {
    {
        lock.get_executor()
    } -> std::convertible_to<boost::asio::any_io_executor>;
    {
        lock.acquire(boost::asio::use_awaitable)
    } -> std::same_as<boost::asio::awaitable<lease>>;
};

/// A lock that `with_lock_for` can acquire: it has an `acquire_for`, too.
template <class Lock>
concept timed_acquirable = acquirable<Lock> && requires(Lock& lock) {
    {
        lock.acquire_for(std::chrono::milliseconds{}, boost::asio::use_awaitable)
    } -> std::same_as<boost::asio::awaitable<lease>>;
};

/// A function that `with_lock` can run: called with a `lease&`, it returns a `boost::asio::awaitable<T>` with Asio's
/// default executor.
template <class Body>
concept lease_body =
    std::invocable<Body&, lease&> && detail::is_awaitable<std::invoke_result_t<Body&, lease&>>;

/// Acquires, runs `body(lease&)`, releases.
///
/// The body must be a coroutine, `asio::awaitable<T>(redlock::lease&)` (`lease_body`): nothing else can be cancelled and
/// awaited. It runs on the token's associated executor. As soon as the lease can no longer be trusted, the body is
/// cancelled (terminal), **its unwinding is awaited**, and the remaining keys are released. Nothing of the body runs
/// after the completion.
///
/// Only `lock_options::retry` limits the wait for the lock. A time limit on the whole operation covers the body, too.
/// `with_lock_for` limits the wait alone.
///
/// \par Completion signature
/// `void(std::exception_ptr)` or `void(std::exception_ptr, T)`: the body's result, a value or an exception of its own. If
/// the lease ended before the body, a `lease_lost_error` replaces the value, and the `operation_aborted` that the end
/// caused. If the lease was valid until the body ended, a release that no majority confirms is no error:
/// `observer::on_release` and `on_linger` tell of it.
/// \par Tokens
/// `redirect_error` does not compile: the signature has no error code to redirect. Use `as_tuple(use_awaitable)`, which
/// gives the `exception_ptr`, or catch. On Boost 1.81 `co_await` of `asio::deferred` does not compile if `T` is not void:
/// use the default token or `use_awaitable`. `with_diagnostics` changes nothing.
/// \par Cancellation
/// terminal, partial, total: while it waits, as `mutex::acquire`. Afterwards the body is cancelled with that type, and the
/// lock is released when it has unwound.
/// \par Errors
/// The body has not run: those of `mutex::acquire`, as a `lock_error` whose `stage()` is `lock_stage::acquiring`.
///
/// The lease ended before the body: `lease_lost_error`, with `errc::lease_lost` and the `loss_cause`, or with
/// `errc::shut_down` after `client::shutdown`. If the body ends while its lease is suspect (`tolerate_suspect`), it is
/// extended first: it was lost, unless a majority confirms that. A lease that the body released or detached has not ended
/// too early. One that it moved away is watched until the body ends.
///
/// Whatever the body throws.
/// \par Thread safety and lifetime
/// May be started from any thread. The operation has its own copies of the lock and the body. The client must outlive it.
/// \par Note
/// g++ before 13 destroys a lambda twice that is made inside an awaited call. If its captures have destructors, a body
/// that is a temporary, or moved, does not compile there: give the lambda a name, and pass that or `std::ref` of it; or
/// capture by reference. The same defect affects a `Lock` of your own that is an aggregate, which cannot be detected here.
template <acquirable Lock, class Body, class Token = detail::awaited_like_body<std::decay_t<Body>>>
    requires lease_body<std::decay_t<Body>>
[[nodiscard]] auto with_lock(Lock locked, Body&& body, Token&& token = {})
{
    using body_type = std::decay_t<Body>;
    using signature = detail::completion_of<detail::body_result<body_type>>;
    using start = detail::start_guarded<Lock, body_type>;
    using started = decltype(boost::asio::async_initiate<Token, signature>(std::declval<start>(), token));
    static_assert(
        !detail::is_redirected<std::decay_t<Token>>,
        "with_lock: redirect_error has no error code to redirect, what is thrown is an exception_ptr: "
        "use as_tuple");
    static_assert(
        !detail::may_be_destroyed_twice<Body, started>,
        "with_lock: g++ before 13 destroys a temporary lambda with captures by value twice: give the "
        "lambda a name, and pass that");
    return boost::asio::async_initiate<Token, signature>(start{std::move(locked), std::forward<Body>(body)},
                                                         token);
}

/// As `with_lock`, but waits for the lock for at most `limit`, as `acquire_for` does. After that it throws a `lock_error`
/// with `errc::timed_out`, and the body has not run. The time that the body takes is not limited.
template <timed_acquirable Lock, class Rep, class Period, class Body,
          class Token = detail::awaited_like_body<std::decay_t<Body>>>
    requires lease_body<std::decay_t<Body>>
[[nodiscard]] auto with_lock_for(Lock locked, std::chrono::duration<Rep, Period> limit, Body&& body,
                                 Token&& token = {})
{
    return with_lock(detail::time_limited(std::move(locked), limit), std::forward<Body>(body),
                     std::forward<Token>(token));
}

/// \cond
template <class Lock, class Body, class... Token>
    requires(!acquirable<Lock> || !lease_body<std::decay_t<Body>>)
boost::asio::awaitable<void> with_lock(Lock const&, Body const&, Token const&...)
{
    using body_type = std::decay_t<Body>;
    detail::explain_misuse<Lock, Body, acquirable<Lock>, std::invocable<body_type&, lease&>,
                           lease_body<body_type>, true>();
    return {};
}

template <class Lock, class Rep, class Period, class Body, class... Token>
    requires(!timed_acquirable<Lock> || !lease_body<std::decay_t<Body>>)
boost::asio::awaitable<void> with_lock_for(Lock const&, std::chrono::duration<Rep, Period>, Body const&,
                                           Token const&...)
{
    using body_type = std::decay_t<Body>;
    detail::explain_misuse<Lock, Body, acquirable<Lock>, std::invocable<body_type&, lease&>,
                           lease_body<body_type>, !acquirable<Lock> || timed_acquirable<Lock>>();
    return {};
}
/// \endcond

} // namespace redlock

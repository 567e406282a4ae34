// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/diagnostics.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/system/error_code.hpp>

#include <exception>
#include <type_traits>
#include <utility>

namespace redlock {

/// The completion token that `with_diagnostics` returns.
template <class Token>
struct with_diagnostics_t {
    Token token{}; ///< receives the operation's result
};

/// Completes `token` with `void(std::exception_ptr, ...)` where the operation completes with
/// `void(boost::system::error_code, ...)`. A token that throws then throws a `lock_error`, whose text names the lock and
/// says what each node answered:
///
///     redlock::lease lease = co_await lock.acquire(redlock::with_diagnostics(asio::use_awaitable));
///     std::future<redlock::lease> later = lock.acquire(redlock::with_diagnostics(asio::use_future));
///
/// It is the default token of every operation: `co_await lock.acquire()` is
/// `co_await lock.acquire(redlock::with_diagnostics(asio::deferred))`. Without it a token gets the error code, and throws
/// `boost::system::system_error` if it throws: so do `use_awaitable`, `use_future` and `deferred`.
///
/// The exception is a `lock_error` for the operations of this library. It is `std::bad_alloc` if the operation, or the
/// text, ran out of memory. It is a `boost::system::system_error` for operations of other libraries. Operations that give
/// an exception themselves, as `with_lock` does, are not changed.
///
/// A token that takes the error as a value gets the error code, as without `with_diagnostics`: `as_tuple` and
/// `redirect_error`, inside or outside, and a callback that takes an error code and no `std::exception_ptr`.
///
/// Adapters that leave the error alone, as `bind_executor` and `bind_cancellation_slot` do, go inside or outside.
///
/// The token's executor, allocator and cancellation slot are those of `token`. It costs an allocation for the exception
/// if the operation fails, and nothing if it succeeds.
template <class Token>
[[nodiscard]] constexpr with_diagnostics_t<std::decay_t<Token>> with_diagnostics(Token&& token)
{
    return {std::forward<Token>(token)};
}

/// The token of an operation that is given none.
using default_token = with_diagnostics_t<boost::asio::deferred_t>;

} // namespace redlock

/// \cond
template <class Token, class... Results>
class boost::asio::async_result<redlock::with_diagnostics_t<Token>,
                                void(boost::system::error_code, Results...)>
    : public std::conditional_t<
          redlock::detail::takes_code<Token, Results...>,
          redlock::detail::diagnosed_result<Token, void(boost::system::error_code, Results...), false>,
          redlock::detail::diagnosed_result<Token, void(std::exception_ptr, Results...), true>> {};

/// There is no error code: the operation gives an exception itself, as `with_lock` does, or an adapter has taken it.
template <class Token, class Signature>
class boost::asio::async_result<redlock::with_diagnostics_t<Token>, Signature>
    : public redlock::detail::diagnosed_result<Token, Signature, false> {};
/// \endcond

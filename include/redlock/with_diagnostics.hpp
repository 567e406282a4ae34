// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/story.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/system/error_code.hpp>

#include <exception>
#include <type_traits>
#include <utility>

namespace redlock {

/// The completion token that `with_diagnostics` returns.
template <class Token>
struct with_diagnostics_t {
    Token token{}; ///< what the operation's result is given to
};

/// Completes `token` with `void(std::exception_ptr, ...)` where the operation completes with
/// `void(boost::system::error_code, ...)`. A token that throws then throws a `lock_error`, whose text names the lock and
/// says what each node answered:
///
///     redlock::lease lease = co_await lock.acquire(redlock::with_diagnostics(asio::use_awaitable));
///     std::future<redlock::lease> later = lock.acquire(redlock::with_diagnostics(asio::use_future));
///
/// It is the default token of the operations that acquire: `co_await lock.acquire()` is
/// `co_await lock.acquire(redlock::with_diagnostics(asio::deferred))`. Without it a token gets the error code, and throws
/// `boost::system::system_error` if it throws: so do `use_awaitable`, `use_future` and `deferred`.
///
/// The exception is a `lock_error` for the operations of locks and leases. It is `std::bad_alloc` if the operation, or
/// the text, ran out of memory. It is a `boost::system::system_error` for an empty lease, for `client::shutdown`, and for
/// operations of other libraries. Operations that give an exception themselves, as `with_lock` does, are not changed.
///
/// Other adapters go inside: `with_diagnostics(asio::bind_executor(executor, asio::use_awaitable))`. Adapters that leave
/// the error code alone, as `bind_executor` and `bind_cancellation_slot` do, may also go outside. `redirect_error` does
/// not fit: there is no error code to redirect.
///
/// The token's executor, allocator and cancellation slot are those of `token`. It costs an allocation for the exception
/// if the operation fails, and nothing if it succeeds.
template <class Token>
[[nodiscard]] constexpr with_diagnostics_t<std::decay_t<Token>> with_diagnostics(Token&& token)
{
    return {std::forward<Token>(token)};
}

} // namespace redlock

/// \cond
template <class Token, class... Results>
class boost::asio::async_result<redlock::with_diagnostics_t<Token>,
                                void(boost::system::error_code, Results...)>
    : public redlock::detail::diagnosed_result<Token, true, Results...> {};

/// Operations that give an exception themselves, as `with_lock` does.
template <class Token, class... Results>
class boost::asio::async_result<redlock::with_diagnostics_t<Token>, void(std::exception_ptr, Results...)>
    : public redlock::detail::diagnosed_result<Token, false, Results...> {};

template <class Token, class Result, class... Results>
class boost::asio::async_result<redlock::with_diagnostics_t<Token>, Result(Results...)> {
    static_assert(
        redlock::detail::has_error_code<Result(Results...)>,
        "with_diagnostics: there is no error code to explain: redirect_error cannot be combined with it, "
        "and as_tuple goes inside");
};
/// \endcond

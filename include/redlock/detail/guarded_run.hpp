// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/error_access.hpp>
#include <redlock/detail/spawn_1_83.hpp>
#include <redlock/error.hpp>
#include <redlock/lease.hpp>
#include <redlock/with_diagnostics.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace redlock::detail {

/// Shared by the run, the loss and the caller's cancellation. Lives on the run's strand.
struct guarded_run {
    boost::asio::any_io_executor strand;
    boost::asio::cancellation_signal cancel;
    boost::system::error_code
        end; ///< how the lease ended, as far as the run has been told; no error: released, or
             ///< held
};

template <class>
inline constexpr bool is_awaitable = false;
template <class T>
inline constexpr bool is_awaitable<boost::asio::awaitable<T>> = true;

template <class Body>
using body_awaitable = std::invoke_result_t<Body&, lease&>;
template <class Body>
using body_result = typename body_awaitable<Body>::value_type;
template <class Body>
using awaited_like_body = boost::asio::use_awaitable_t<typename body_awaitable<Body>::executor_type>;

/// Also inside another adapter, such as `bind_cancellation_slot`.
template <class>
inline constexpr bool is_redirected = false;
template <template <class...> class Adapter, class Token, class... More>
inline constexpr bool is_redirected<Adapter<Token, More...>> = is_redirected<Token>;
template <class Token>
inline constexpr bool is_redirected<boost::asio::redirect_error_t<Token>> = true;

/// g++ before 13 destroys a lambda twice that is made within the expression of a `co_await`.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
inline constexpr bool destroys_lambdas_twice = true;
#else
inline constexpr bool destroys_lambdas_twice = false;
#endif

/// May this body be destroyed twice, and does it matter? It is deduced from a temporary or a moved object. Only an
/// operation that can be awaited is part of a `co_await` expression.
template <class Body, class Started>
inline constexpr bool may_be_destroyed_twice =
    destroys_lambdas_twice && !std::is_lvalue_reference_v<Body> && !std::is_trivially_destructible_v<Body> &&
    (is_awaitable<Started> || boost::asio::is_deferred<Started>::value);

template <class T>
struct completion_with : std::type_identity<void(std::exception_ptr, T)> {};
template <>
struct completion_with<void> : std::type_identity<void(std::exception_ptr)> {};
template <class T>
using completion_of = typename completion_with<T>::type;

inline bool aborted(std::exception_ptr const& failure)
{
    try {
        std::rethrow_exception(failure);
    } catch (boost::system::system_error const& e) {
        return e.code() == boost::asio::error::operation_aborted;
    } catch (...) {
        return false;
    }
}

/// None: released.
inline boost::system::error_code reason_of(lease_end end)
{
    switch (end) {
    case lease_end::released: break;
    case lease_end::lost: return errc::lease_lost;
    case lease_end::shut_down: return errc::shut_down;
    case lease_end::forked: return errc::forked;
    }
    return {};
}

/// The body's own exception wins, unless it is the abortion that the lease's end caused.
inline void settle(std::exception_ptr const& failure, boost::system::error_code end, lease const& held)
{
    if (failure && !(end && aborted(failure)))
        std::rethrow_exception(failure);
    if (end)
        throw error_access::lost(held.explain(end));
}

using explaining_token = with_diagnostics_t<boost::asio::use_awaitable_t<>>;

/// Acquires with `with_diagnostics` if the operation takes that token.
/// \param acquire calls an operation that acquires with the token it is given
template <class Acquire>
boost::asio::awaitable<lease> acquire_explained(Acquire acquire)
{
    if constexpr (requires {
                      {
                          acquire(explaining_token())
                      } -> std::same_as<boost::asio::awaitable<lease>>;
                  })
        return acquire(explaining_token());
    else
        return acquire(boost::asio::use_awaitable_t<>());
}

template <class Lock>
boost::asio::awaitable<lease> acquire_to_run(Lock& lock)
{
    return acquire_explained(
        [&lock](auto token) -> decltype(lock.acquire(token)) { return lock.acquire(token); });
}

template <class Lock, class Duration>
boost::asio::awaitable<lease> acquire_to_run(Lock& lock, Duration limit)
{
    return acquire_explained([&lock, limit](auto token) -> decltype(lock.acquire_for(limit, token)) {
        return lock.acquire_for(limit, token);
    });
}

// rule H7
template <class Lock, class Body>
boost::asio::awaitable<body_result<Body>> run_guarded(Lock lock, Body body, std::shared_ptr<guarded_run> run)
{
    namespace asio = boost::asio;
    using result = body_result<Body>;

    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    lease held = co_await acquire_to_run(lock);

    auto executor = co_await asio::this_coro::executor;
    held.ended(asio::bind_executor(executor, [run](boost::system::error_code failure, lease_end end) {
        run->end = failure ? failure : reason_of(end);
        if (run->end)
            run->cancel.emit(asio::cancellation_type::terminal);
    }));

    std::exception_ptr failure;
    std::conditional_t<std::is_void_v<result>, std::nullptr_t, std::optional<result>> value{};
    try {
        if constexpr (std::is_void_v<result>)
            co_await body(held);
        else
            value.emplace(co_await body(held));
    } catch (...) {
        failure = std::current_exception();
    }

    lease_state const left = held.state();
    boost::system::error_code end = run->end;
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await asio::this_coro::throw_if_cancelled(false);
    boost::system::error_code unproven;
    // A release proves less: others may have had the key on nodes that did not answer, and other readers may keep it.
    if (!end && left == lease_state::suspect)
        co_await held.extend(asio::redirect_error(asio::use_awaitable, unproven));
    boost::system::error_code released; // if it is not confirmed, the observer is told
    co_await held.release(asio::redirect_error(asio::use_awaitable, released));
    if (!end && left != lease_state::held)
        end = run->end; // which has been heard by now
    if (!end && (unproven || left == lease_state::lost))
        end = errc::lease_lost;
    settle(failure, end, held);
    if constexpr (!std::is_void_v<result>)
        co_return std::move(*value);
}

template <class Lock, class Body>
struct start_guarded {
    using executor_type = boost::asio::any_io_executor;
    executor_type get_executor() const noexcept { return lock.get_executor(); }

    template <class Handler>
    void operator()(Handler&& handler)
    {
        namespace asio = boost::asio;
        static_assert(takes_exceptions<std::decay_t<Handler>>,
                      "with_lock: a yield_context of Asio can take an exception from Boost 1.84 on; before, "
                      "acquire and "
                      "release the lock yourself");
        // A strand, so that the loss is never reported while the body runs on another thread of the caller's pool.
        executor_type caller = asio::get_associated_executor(handler, get_executor());
        auto strand = asio::make_strand(caller);
        auto run = std::make_shared<guarded_run>();
        run->strand = strand;
        if (auto slot = asio::get_associated_cancellation_slot(handler); slot.is_connected())
            // Weakly: the slot may outlive the execution context that a strand refers to.
            slot.assign([weak = std::weak_ptr(run)](asio::cancellation_type type) {
                auto const alive = weak.lock();
                if (!alive)
                    return;
                asio::dispatch(alive->strand, [weak, type] {
                    if (auto running = weak.lock())
                        running->cancel.emit(type);
                });
            });
        auto finish = asio::bind_executor(
            caller, [run, handler = std::forward<Handler>(handler)](auto... outcome) mutable {
                std::move(handler)(std::move(outcome)...);
            });
        asio::co_spawn(executor_type(strand), run_guarded(std::move(lock), std::move(body), run),
                       asio::bind_cancellation_slot(run->cancel.slot(), std::move(finish)));
    }

    Lock lock;
    Body body;
};

/// A lock with a limit on the wait.
template <class Lock, class Duration>
class time_limited {
public:
    time_limited(Lock locked, Duration limit) : lock_(std::move(locked)), limit_(limit) {}

    boost::asio::any_io_executor get_executor() const { return lock_.get_executor(); }
    boost::asio::awaitable<lease> acquire(boost::asio::use_awaitable_t<>)
    {
        return acquire_to_run(lock_, limit_);
    }

private:
    Lock lock_;
    Duration limit_;
};

} // namespace redlock::detail

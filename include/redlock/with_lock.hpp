#pragma once

#include <redlock/error.hpp>
#include <redlock/lease.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
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

#include <chrono>
#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace redlock {

namespace detail {

/// What the run, the loss and the caller's cancellation share. Lives on the run's strand.
struct guarded_run {
    boost::asio::any_io_executor strand;
    boost::asio::cancellation_signal cancel;
    boost::system::error_code loss;
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

/// Also within another adapter, as `bind_cancellation_slot` is one.
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

/// May this body, deduced from a temporary or what was moved, be destroyed twice, and does it matter? Only what can be
/// awaited is returned to a `co_await`.
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

/// The body's own exception wins; a loss replaces the abortion it caused; then a failed release.
inline void settle(guarded_run const& run, std::exception_ptr const& failure,
                   boost::system::error_code release, lease const& held)
{
    if (failure && !(run.loss && aborted(failure)))
        std::rethrow_exception(failure);
    auto const ended = run.loss ? run.loss : release; // shut down, or lost
    if (ended == errc::lease_lost)
        throw lease_lost_error(held.explain(ended));
    if (ended)
        throw held.explain(ended);
}

template <class Lock, class Body>
boost::asio::awaitable<body_result<Body>> run_guarded(Lock mutex, Body body, std::shared_ptr<guarded_run> run)
{
    namespace asio = boost::asio;
    using result = body_result<Body>;

    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    lease held = co_await mutex.acquire(asio::use_awaitable);

    auto executor = co_await asio::this_coro::executor;
    held.lost(asio::bind_executor(executor, [run](boost::system::error_code reason) {
        if (reason == errc::released)
            return;
        run->loss = reason;
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

    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await asio::this_coro::throw_if_cancelled(false);
    boost::system::error_code released;
    co_await held.release(asio::redirect_error(asio::use_awaitable, released));
    settle(*run, failure, released, held);
    if constexpr (!std::is_void_v<result>)
        co_return std::move(*value);
}

template <class Lock, class Body>
struct start_guarded {
    using executor_type = boost::asio::any_io_executor;
    executor_type get_executor() const noexcept { return mutex.get_executor(); }

    template <class Handler>
    void operator()(Handler&& handler)
    {
        namespace asio = boost::asio;
        // A strand, so that the loss is never told while the body runs on another thread of the caller's pool.
        executor_type caller = asio::get_associated_executor(handler, get_executor());
        auto strand = asio::make_strand(caller);
        auto run = std::make_shared<guarded_run>();
        run->strand = strand;
        if (auto slot = asio::get_associated_cancellation_slot(handler); slot.is_connected())
            // Weakly: the slot may outlive the execution context, and with it what a strand refers to.
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
        asio::co_spawn(executor_type(strand), run_guarded(std::move(mutex), std::move(body), run),
                       asio::bind_cancellation_slot(run->cancel.slot(), std::move(finish)));
    }

    Lock mutex;
    Body body;
};

/// A lock that is not waited for longer than that.
template <class Lock, class Duration>
class time_limited {
public:
    time_limited(Lock locked, Duration limit) : lock_(std::move(locked)), limit_(limit) {}

    boost::asio::any_io_executor get_executor() const { return lock_.get_executor(); }
    boost::asio::awaitable<lease> acquire(boost::asio::use_awaitable_t<> token)
    {
        return lock_.acquire_for(limit_, token);
    }

private:
    Lock lock_;
    Duration limit_;
};

} // namespace detail

/// What `with_lock` acquires: a `mutex`, a `fenced_mutex`, or what is acquired in the same way.
template <class Lock>
concept acquirable = std::move_constructible<Lock> && requires(Lock& lock) {
    {
        lock.get_executor()
    } -> std::convertible_to<boost::asio::any_io_executor>;
    {
        lock.acquire(boost::asio::use_awaitable)
    } -> std::same_as<boost::asio::awaitable<lease>>;
};

/// What `with_lock_for` acquires: what can be given up waiting for as well.
template <class Lock>
concept timed_acquirable = acquirable<Lock> && requires(Lock& lock) {
    {
        lock.acquire_for(std::chrono::milliseconds{}, boost::asio::use_awaitable)
    } -> std::same_as<boost::asio::awaitable<lease>>;
};

/// What `with_lock` runs: called with a `lease&`, it returns a `boost::asio::awaitable<T>` with Asio's default executor.
template <class Body>
concept lease_body =
    std::invocable<Body&, lease&> && detail::is_awaitable<std::invoke_result_t<Body&, lease&>>;

/// Acquires, runs `body(lease&)`, releases.
///
/// The body must be a coroutine, `asio::awaitable<T>(redlock::lease&)` (`lease_body`): nothing else can be cancelled
/// and awaited. It is run on the token's associated executor. The moment the lease can no longer be trusted the body is cancelled
/// (terminal), **its unwinding is awaited**, and what is left of the keys is released. Nothing of the body runs after
/// the completion.
///
/// The wait for the lock is limited by `lock_options::retry` only, and a time limit on the whole covers the body,
/// too. `with_lock_for` limits the wait alone.
///
/// \par Completion signature
/// `void(std::exception_ptr)` or `void(std::exception_ptr, T)`: the body's result. The body's own exception wins; a
/// loss during the body is `errc::lease_lost` unless the body threw something of its own; then an error of the
/// release.
/// \par Tokens
/// `redirect_error` does not compile: there is no error code in the signature that it could redirect. Use
/// `as_tuple(use_awaitable)`, which gives the `exception_ptr`, or catch. On
/// Boost 1.81 `co_await` of `asio::deferred` does not compile where `T` is not void: use the default token or
/// `use_awaitable`.
/// \par Cancellation
/// terminal, partial, total: while waiting, as `mutex::acquire`; afterwards the body is cancelled with that type, and
/// the lock is released when it has unwound.
/// \par Errors
/// Those of `mutex::acquire`, as `lock_error`; whatever the body throws. Then, as `lock_error` too, what
/// `lease::explain` tells: `errc::lease_lost` as `lease_lost_error`, which knows the `loss_cause`; `errc::shut_down`
/// after `client::shutdown`; from the release `errc::no_quorum`, or `errc::lease_lost` without a cause if too many nodes
/// did not have the key any more.
/// \par Note
/// g++ before 13 destroys a lambda twice that is made inside an awaited call. Where that matters, because its captures
/// have destructors, a body that is a temporary, or moved, does not compile there: give the lambda a name, and pass that
/// or `std::ref` of it; or capture by reference. The same holds for a `Lock` of your own that is an aggregate, which
/// cannot be told here.
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

/// The same, but waits for the lock for at most `limit`, as `acquire_for` does: then `errc::timed_out`, as `lock_error`,
/// and the body has not run. The time that the body takes is not limited.
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
namespace detail {

/// Says what is wrong with the arguments, in a sentence instead of a page.
template <class Lock, class Body, bool CanGiveUp = true>
constexpr void explain_misuse()
{
    using body_type = std::decay_t<Body>;
    // Names, because of a concept compilers would tell at length why.
    constexpr bool is_lock = acquirable<Lock>;
    constexpr bool takes_lease = std::invocable<body_type&, lease&>;
    constexpr bool is_coroutine = !takes_lease || lease_body<body_type>;
    static_assert(is_lock, "with_lock: the first argument is a redlock::mutex or redlock::fenced_mutex");
    static_assert(takes_lease,
                  "with_lock: the second argument is called with a redlock::lease&: the coroutine "
                  "itself, not the awaitable that it returns");
    static_assert(is_coroutine, "with_lock: what is called with a redlock::lease& returns a "
                                "boost::asio::awaitable<T>, as a coroutine does");
    static_assert(CanGiveUp, "with_lock_for: the first argument has no acquire_for(time, use_awaitable) that "
                             "returns a boost::asio::awaitable<redlock::lease>");
}

} // namespace detail

template <class Lock, class Body, class... Token>
    requires(!acquirable<Lock> || !lease_body<std::decay_t<Body>>)
boost::asio::awaitable<void> with_lock(Lock const&, Body const&, Token const&...)
{
    detail::explain_misuse<Lock, Body>();
    return {};
}

template <class Lock, class Rep, class Period, class Body, class... Token>
    requires(!timed_acquirable<Lock> || !lease_body<std::decay_t<Body>>)
boost::asio::awaitable<void> with_lock_for(Lock const&, std::chrono::duration<Rep, Period>, Body const&,
                                           Token const&...)
{
    detail::explain_misuse<Lock, Body, !acquirable<Lock> || timed_acquirable<Lock>>();
    return {};
}
/// \endcond

} // namespace redlock

#pragma once

#include <redlock/awaitable_1_81.hpp>
#include <redlock/client.hpp>
#include <redlock/completion_handler.hpp>
#include <redlock/error.hpp>
#include <redlock/export.hpp>
#include <redlock/inspection.hpp>
#include <redlock/lease.hpp>
#include <redlock/lock_options.hpp>
#include <redlock/node_outcome.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace redlock {

namespace detail {
struct lock_state;

/// How long an acquisition may wait: not at all, for a time from its start, or (empty) for ever.
using wait_limit = std::optional<std::chrono::nanoseconds>;
inline constexpr std::chrono::nanoseconds one_attempt{-1};

/// Completes with an error code, or with a `lock_error` inside an exception pointer for tokens that throw anyway.
using lease_signature = void(boost::system::error_code, lease);
using throwing_lease_signature = void(std::exception_ptr, lease);

template <class Token>
inline constexpr bool throws = false;
template <class Executor>
inline constexpr bool throws<boost::asio::use_awaitable_t<Executor>> = true;

template <class Signature>
struct start_acquire {
    using executor_type = boost::asio::any_io_executor;

    executor_type get_executor() const noexcept { return executor(); }
    REDLOCK_EXPORT executor_type const& executor() const noexcept;

    template <class Handler>
    void operator()(Handler&& handler)
    {
        begin(completion_handler<Signature>(std::forward<Handler>(handler), executor()));
    }

    REDLOCK_EXPORT void begin(completion_handler<Signature>);

    std::shared_ptr<lock_state> lock;
    wait_limit limit;
};

using inspection_signature = void(boost::system::error_code, inspection);

struct start_inspect {
    using executor_type = boost::asio::any_io_executor;

    executor_type get_executor() const noexcept { return executor(); }
    REDLOCK_EXPORT executor_type const& executor() const noexcept;

    template <class Handler>
    void operator()(Handler&& handler)
    {
        begin(completion_handler<inspection_signature>(std::forward<Handler>(handler), executor()));
    }

    REDLOCK_EXPORT void begin(completion_handler<inspection_signature>);

    std::shared_ptr<lock_state> lock;
};
} // namespace detail

/// A named lock over a client's nodes. Cheap to make and to copy; no network by itself.
///
/// All operations of one client on one name stand in one queue and are served in the order of their coming. Only the
/// first of them asks the nodes. A lease that is released goes to the next of them at once, as
/// `lock_options::handover` says.
///
/// Common to the four that acquire
///
/// \par Completion signature
/// `void(boost::system::error_code, redlock::lease)`. Where the token throws (the default one under `co_await`,
/// `use_awaitable`) the exception is a `lock_error`, whose message and table tell what each node said.
/// Completion runs on the token's associated executor, never inside the initiating call.
/// \par Errors
/// `errc::contended`, `errc::no_quorum`, `errc::too_slow` (one attempt was asked for, or the retry policy is
/// exhausted), `errc::timed_out`, `errc::shut_down`. `errc::no_randomness`: OpenSSL's RAND_bytes failed; nothing was sent.
/// `errc::forked`: this process is a copy of the one that made the client. Without memory the initiating function throws `std::bad_alloc`, or
/// the operation completes with `std::errc::not_enough_memory`; where the token throws, with `std::bad_alloc`.
/// \par Cancellation
/// terminal, partial, total. Afterwards the caller owns nothing: every vote sent is being released. On a node that
/// cannot be reached the key lingers for `ttl + slack` after the vote was executed, which may be up to
/// `reconnect.connect_timeout` after it was asked for. A grant that races with the cancellation is released, not
/// leaked.
/// \par Thread safety and lifetime
/// May be started from any thread. The client must outlive the operation.
/// \par Source
/// Redis documentation, "Distributed Locks with Redis"; the rules are in docs/protocol.md.
class REDLOCK_EXPORT mutex {
    /// So that reckoning with it cannot overflow.
    static constexpr std::chrono::hours longest_wait{24 * 365 * 100};

    template <class Rep, class Period>
    static std::chrono::nanoseconds bounded(std::chrono::duration<Rep, Period> limit)
    {
        using seconds = std::chrono::duration<double>; // neither's unit overflows in them
        if (seconds(limit) > seconds(longest_wait))
            return longest_wait;
        return limit > limit.zero() ? std::chrono::ceil<std::chrono::nanoseconds>(limit)
                                    : std::chrono::nanoseconds::zero();
    }

    /// The difference is taken only where it fits.
    template <class Clock, class Duration>
    static std::chrono::nanoseconds until(std::chrono::time_point<Clock, Duration> deadline)
    {
        auto const now = Clock::now();
        auto const about_now = std::chrono::floor<Duration>(now);
        if (deadline <= about_now)
            return std::chrono::nanoseconds::zero();
        return deadline - about_now > std::chrono::duration_cast<Duration>(longest_wait)
                   ? std::chrono::nanoseconds(longest_wait)
                   : bounded(deadline - now);
    }

    auto throwing(detail::wait_limit limit)
    {
        using start = detail::start_acquire<detail::throwing_lease_signature>;
        return boost::asio::async_initiate<boost::asio::deferred_t const, detail::throwing_lease_signature>(
            start{state_, limit}, boost::asio::deferred);
    }

    template <class Token>
    auto initiate(detail::wait_limit limit, Token&& token)
    {
        using signature = std::conditional_t<detail::throws<std::remove_cvref_t<Token>>,
                                             detail::throwing_lease_signature, detail::lease_signature>;
        return boost::asio::async_initiate<Token, signature>(detail::start_acquire<signature>{state_, limit},
                                                             token);
    }

public:
    /// The client's executor.
    using executor_type = boost::asio::any_io_executor;

    /// \throws lock_error `errc::misconfigured`: empty name or one over 512 bytes, `ttl` not positive or too small
    ///         for clock drift and a round trip, negative slack, a retry policy that cannot be followed.
    /// \throws std::bad_alloc
    mutex(client& owner, std::string name, lock_options options = {});

    /// Waits until held. Retries as `lock_options::retry` says.
    [[nodiscard]] auto acquire() { return throwing(std::nullopt); }
    /// The same with another completion token than `co_await`'s.
    template <boost::asio::completion_token_for<detail::lease_signature> Token>
    [[nodiscard]] auto acquire(Token&& token)
    {
        return initiate(std::nullopt, std::forward<Token>(token));
    }

    /// One attempt, no waiting. While others of this client hold the lock or wait for it, it fails at once with
    /// `errc::contended`, unless `lock_options::barging` is set.
    [[nodiscard]] auto try_acquire() { return throwing(detail::one_attempt); }
    /// The same with another completion token than `co_await`'s.
    template <boost::asio::completion_token_for<detail::lease_signature> Token>
    [[nodiscard]] auto try_acquire(Token&& token)
    {
        return initiate(detail::one_attempt, std::forward<Token>(token));
    }

    /// Waits for at most `limit`, counted from the start of the operation: where too few nodes are connected by then, or
    /// others of this client hold the lock or wait for it, no attempt is made. Zero or less: as `try_acquire()`.
    template <class Rep, class Period>
    [[nodiscard]] auto acquire_for(std::chrono::duration<Rep, Period> limit)
    {
        return throwing(bounded(limit));
    }
    /// The same with another completion token than `co_await`'s.
    template <class Rep, class Period, boost::asio::completion_token_for<detail::lease_signature> Token>
    [[nodiscard]] auto acquire_for(std::chrono::duration<Rep, Period> limit, Token&& token)
    {
        return initiate(bounded(limit), std::forward<Token>(token));
    }

    /// Waits until `deadline` of any clock at most, as `acquire_for` does.
    template <class Clock, class Duration>
    [[nodiscard]] auto acquire_until(std::chrono::time_point<Clock, Duration> deadline)
    {
        return throwing(until(deadline));
    }
    /// The same with another completion token than `co_await`'s.
    template <class Clock, class Duration, boost::asio::completion_token_for<detail::lease_signature> Token>
    [[nodiscard]] auto acquire_until(std::chrono::time_point<Clock, Duration> deadline, Token&& token)
    {
        return initiate(until(deadline), std::forward<Token>(token));
    }

    /// Goes on with a lease of this lock that another client was granted, here or in another process, and that was left
    /// behind: by `lease::detach()`, or because its holder died. No network by itself.
    ///
    /// The lease that is returned is `suspect`, not `valid()`. Its `extend()` asks the nodes: where a majority still holds
    /// the key with this nonce it is held from then on, as if it had been acquired here; where they do not, it is lost.
    /// It is lost, too, `ttl` after the first operation on it, if none has confirmed it by then. Its `release()` deletes
    /// the key wherever it has this nonce. Destroying it is a release that nobody waits for, as with every lease; to
    /// leave the key again, `detach()` it.
    ///
    /// That nobody else had the lock meanwhile is certain for a lease that is confirmed before its first holder's
    /// deadline, and for a `fenced_mutex` (docs/protocol.md, rule H9). A fenced lease is confirmed only by nodes whose fence
    /// is the token: nobody's fence is changed by an adoption. With a wrong token it is lost, and its end deletes the key
    /// of whoever holds it with this nonce, unless it is detached. Two holders of one nonce are not kept from each
    /// other: hand it to one only. May be called from any thread.
    /// \param nonce of the lease, as `lease::nonce()` told it
    /// \param fencing_token of the lease; for a `fenced_mutex` only
    /// \throws lock_error `errc::misconfigured`: not a nonce; no token for a fenced lock, one that is too small or not
    ///         below 2^53, or one for a plain lock
    [[nodiscard]] lease adopt(std::string_view nonce, std::uint64_t fencing_token = 0);

    /// Asks every node who holds the lock there, and for how long still. It takes nothing, changes nothing on the nodes,
    /// and waits behind nobody; this client may hold the lock or wait for it meanwhile. What it says was so when the
    /// nodes answered, and promises nothing.
    ///
    /// Completes when every node has answered or failed, or after the per-node timeout. If no majority is connected yet,
    /// that time runs from the moment a majority has answered, at the latest from `reconnect.connect_timeout` on. Nodes
    /// that are quarantined are asked, those that may not vote at all are not. It needs the right to GET; without the
    /// right to PTTL the times are not known.
    /// \par Completion signature
    /// `void(boost::system::error_code, redlock::inspection)`, on the token's associated executor, never inside the
    /// initiating call
    /// \par Errors
    /// `errc::no_quorum`: too few nodes answered to tell; `inspection::nodes` is complete, `status` is `unknown`. With
    /// the others the inspection is empty: `errc::shut_down`; without memory as the operations that acquire.
    /// \par Cancellation
    /// terminal, partial, total: at once. Nothing is left behind.
    /// \par Thread safety and lifetime
    /// May be started from any thread. The client must outlive the operation.
    template <class Token = boost::asio::deferred_t>
    [[nodiscard]] auto inspect(Token&& token = {}) const
    {
        return boost::asio::async_initiate<Token, detail::inspection_signature>(detail::start_inspect{state_},
                                                                                token);
    }

    /// The client's executor.
    [[nodiscard]] executor_type get_executor() const noexcept;
    /// The name, without `config::key_prefix`.
    [[nodiscard]] std::string const& name() const noexcept;
    /// The options that it was made with.
    [[nodiscard]] lock_options const& options() const noexcept;

    /// Operations of this client that wait for a lock of this name. Any thread.
    [[nodiscard]] std::size_t waiting() const noexcept;

    /// What each node said to the last attempt that was decided, through any lock of this name and client; while
    /// somebody waits also, as far as nodes have told, who holds the key there and for how long still. Any thread.
    [[nodiscard]] std::vector<node_outcome> last_attempt() const;

    /// The story of an error that an acquisition of this lock completed with, for logs and for throwing: the one way for
    /// every token that gives an error code, or throws a `system_error` that has one (callbacks, `as_tuple`,
    /// `redirect_error`, `use_future`, `deferred` by name, Boost.Cobalt). Its text names the lock; of an error that the
    /// nodes' answers decide it carries `last_attempt()`. Ask when the operation completes: later attempts of this
    /// client for the same name replace the table.
    ///
    /// Any thread.
    /// \throws std::bad_alloc
    [[nodiscard]] lock_error explain(boost::system::error_code) const;

    /// \cond
protected:
    /// A lock of another kind.
    explicit mutex(std::shared_ptr<detail::lock_state> state) noexcept : state_(std::move(state)) {}
    /// \endcond

private:
    std::shared_ptr<detail::lock_state> state_;
};

} // namespace redlock

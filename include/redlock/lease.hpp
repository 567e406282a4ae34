// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/completion_handler.hpp>
#include <redlock/detail/diagnostics.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/detail/printed.hpp> // IWYU pragma: export
#include <redlock/error.hpp>
#include <redlock/with_diagnostics.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace redlock {

namespace detail {
class held_lease;
struct lease_access;
REDLOCK_EXPORT void intrusive_ptr_add_ref(held_lease*) noexcept;
REDLOCK_EXPORT void intrusive_ptr_release(held_lease*) noexcept;
/// Returns the exception for an error: a `lock_error`, or `std::bad_alloc`.
REDLOCK_EXPORT std::exception_ptr explained(boost::intrusive_ptr<held_lease> const&,
                                            boost::system::error_code,
                                            lock_stage = lock_stage::holding) noexcept;

/// Returns the exception for an operation on an empty lease.
REDLOCK_EXPORT std::exception_ptr explained_empty() noexcept;

/// Completes with `errc::empty_lease`.
template <class Handler, class... Results>
void refuse_empty(Handler&& handler, Results... nothing)
{
    using handler_type = std::decay_t<Handler>;
    if constexpr (wants_diagnostics<handler_type>)
        *associated_diagnostics<handler_type>::get(handler) = explained_empty();
    // Named, because Asio's own default differs: in Boost 1.90 it cannot be posted to.
    auto const executor = boost::asio::get_associated_executor(handler, boost::asio::system_executor());
    boost::asio::post(executor, boost::asio::append(std::forward<Handler>(handler),
                                                    make_error_code(errc::empty_lease), nothing...));
}
} // namespace detail

class leadership;
class shared_lease;

/// The state of a lease.
enum class lease_state : std::uint8_t {
    empty, ///< default-constructed or moved from
    held,  ///< ours, while `valid()`
    suspect, ///< the deadline has passed (`tolerate_suspect`), or it was adopted; an extension may prove ownership
    lost,     ///< ended without a release
    released, ///< released by its holder, or by the client's end
};

/// Its name.
[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(lease_state) noexcept;

/// How a lease ended: the result of `lease::ended()`.
enum class lease_end : std::uint8_t {
    released,  ///< by its holder: `release`, `detach`, or the handle was destroyed
    lost,      ///< it can no longer be trusted; `lease::cause()` says why
    shut_down, ///< its client was shut down or destroyed
    forked,    ///< this process is a forked copy of the one that holds it
};

/// Its name.
[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(lease_end) noexcept;

/// One acquired lock. The holder of this object may act as the only one while it is `valid()`.
///
/// It renews itself (`lock_options::renew`) until it is released, lost or destroyed. The end of its validity is computed
/// on this machine, from the time before the first vote was sent. It needs no answer from any node.
///
/// Thread safety: const members may be called from any thread, and `valid()`, `remaining()` and `state()` are exact
/// there. Operations may be started from any thread. Moving, assigning and destroying one object needs the usual
/// external synchronisation.
///
/// Memory: if there is none, an operation's initiating function throws `std::bad_alloc` and has started nothing. If it
/// was called on another thread than the executor's, the operation completes with `std::errc::not_enough_memory`.
///
/// The destructor never throws and never waits: a lease that was not released stops renewing and is released in the
/// background; without memory for that, at the latest when it would have been renewed. A lease may outlive its client,
/// but not the client's execution context. It has ended once the executor has run the remaining work of the client's
/// destructor. In a child made by fork it is lost: `valid()` is false there, without a system call, and destroying it
/// sends nothing.
///
/// With the default token operations throw a `lock_error`, which names the lock.
class REDLOCK_EXPORT lease {
public:
    /// The client's executor.
    using executor_type = boost::asio::any_io_executor;

    lease() noexcept = default;
    /// Leaves the other lease empty.
    lease(lease&&) noexcept = default;
    /// Ends the lease that is assigned to as its destructor does.
    lease& operator=(lease&&) noexcept;
    ~lease()
    {
        if (held_)
            abandon();
    }

    /// Was it default-constructed, moved from, or the result of a failed acquisition? Says nothing about validity.
    [[nodiscard]] bool empty() const noexcept { return held_ == nullptr; }

    /// The client's executor; the system executor if it is empty.
    [[nodiscard]] executor_type get_executor() const noexcept;

    /// May the holder act now? Reads the clock at every call. False as soon as the deadline has passed, whatever the
    /// timers, the network or the event loop do, and if it is empty.
    [[nodiscard]] bool valid() const noexcept;
    /// Validity left; zero if not valid. Time in which the machine was suspended counts.
    [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;
    /// Now plus `remaining()`, for timers.
    [[nodiscard]] std::chrono::steady_clock::time_point expires_at() const noexcept;
    /// Its state. A deadline that has passed shows here at once.
    [[nodiscard]] lease_state state() const noexcept;
    /// Why it was lost; `loss_cause::none` until the loss has been reported.
    [[nodiscard]] loss_cause cause() const noexcept;

    [[nodiscard]] std::string_view
    resource() const noexcept; ///< the lock's name; lives as long as this lease
    [[nodiscard]] std::string_view
    nonce() const noexcept; ///< the key's value on the nodes; as long as this lease
    /// Nodes that confirmed the key in the last round of extensions. A node that has not answered yet counts if it
    /// confirmed the round before. Late votes increase the number. A node that refuses an extension, stays silent or is not
    /// connected decreases it, also while a majority still confirms.
    [[nodiscard]] unsigned votes() const noexcept;
    /// Attempts of the acquisition; 0 after a local handoff, or of a reader who joined.
    [[nodiscard]] unsigned attempts() const noexcept;
    [[nodiscard]] std::chrono::nanoseconds waited() const noexcept; ///< from `acquire` to the grant
    /// True for a reader's lease: other readers may have the lock at the same time (`shared_mutex::acquire_shared`,
    /// `downgrade`).
    [[nodiscard]] bool shared() const noexcept;
    /// The numbers of a `semaphore` lease's permits, in ascending order, from zero: no other valid lease has one of
    /// them. Empty for other leases. The span lives as long as the lease.
    [[nodiscard]] std::span<std::uint16_t const> permits() const noexcept;
    /// The token of the grant; it changes with `downgrade` alone. Zero unless the lock is of a fenced kind
    /// or an `election`.
    [[nodiscard]] std::uint64_t fencing_token() const noexcept;

    /// Reports progress of the holder: with `lock_options::progress_within`, renewal depends on it. Any thread. It
    /// costs as much as reading the clock.
    void progress() const noexcept;

    /// Makes a `shared_lease`, and leaves this lease empty: copies of the result share the lease, and the last copy
    /// releases it. Include `<redlock/shared_lease.hpp>`.
    /// \throws std::bad_alloc and has done nothing
    [[nodiscard]] shared_lease share() &&;

    /// Renews now: asks every node to set the key's expiry to the full TTL again. If a renewal is already under way, it
    /// joins that one.
    ///
    /// On success the validity starts just before this renewal was sent.
    /// \par Completion signature
    /// `void(boost::system::error_code)`
    /// \par Errors
    /// `errc::no_quorum`: no majority confirmed; the old deadline is unchanged, and the call may be repeated.
    /// `errc::lease_lost`, `errc::released`, `errc::shut_down`: it has ended. `errc::empty_lease`. `errc::forked`.
    /// \par Cancellation
    /// terminal, partial, total: stops waiting; the renewal itself continues.
    template <boost::asio::completion_token_for<void(boost::system::error_code)> Token = default_token>
    [[nodiscard]] auto extend(Token&& token = {}) const;

    /// Releases the lock: renewal stops, and a compare-and-delete is sent to every node after everything sent before. The
    /// lease stops being valid at the call. If it is called on another thread than the executor's, the lease stops being
    /// valid when the executor starts the operation.
    ///
    /// Completes when a majority has answered, at the latest after the per-node timeout.
    /// \par Completion signature
    /// `void(boost::system::error_code)`
    /// \par Errors
    /// `errc::lease_lost`: it was lost before; the remaining keys are removed nevertheless, unless `change_nodes` has
    /// completed since the lock was acquired.
    /// `errc::no_quorum`: no majority confirmed; the key may stay for the rest of its TTL.
    /// `errc::released`: it was released before. `errc::shut_down`, `errc::empty_lease`, `errc::forked`.
    /// \par Cancellation
    /// terminal, partial, total: stops waiting; the releases have been sent.
    template <boost::asio::completion_token_for<void(boost::system::error_code)> Token = default_token>
    [[nodiscard]] auto release(Token&& token = {});

    /// Ends the lease and leaves its keys on the nodes: renewal stops, and nothing is released. The keys expire by
    /// themselves unless another client, in this process or another, continues with them (`mutex::adopt`). Read
    /// `nonce()`, `fencing_token()` and `remaining()` before. If the lease is lost, its remaining keys are not removed.
    /// No effect on a lease that was released or is empty. A reader's lease cannot be adopted: if other readers of its
    /// client share its key, they keep it; otherwise writers wait until it expires. Afterwards the lease is `released`,
    /// and `ended()` gives `lease_end::released`. Any thread.
    /// \par Errors
    /// none
    /// \throws std::bad_alloc and has done nothing
    void detach();

    /// Turns a writer's lease of a `shared_mutex` into a reader's: other readers may have the lock at the same time as
    /// soon as the nodes have been told, and all readers in the queue are let in. Between the two no other client has
    /// it. From the call on the holder may only do what a reader may, and `shared()` is true. The deadline does not
    /// change until a majority has confirmed the change, as with a renewal. If too few nodes answer, the next renewals
    /// repeat it.
    ///
    /// The lease cannot be left to another client any more: `detach()` releases it. No effect on a lease that has
    /// ended. Any thread.
    /// \throws lock_error `errc::wrong_mode`: it is a reader's already, or not of a `shared_mutex`. `errc::empty_lease`
    /// \throws std::bad_alloc and has done nothing
    /// \par Source
    /// docs/protocol.md, rule S12
    void downgrade();

    /// Waits for the end of the lease. Any number of operations may wait. The end is a success, so a group of
    /// operations that waits for one success cancels the other ones:
    ///
    ///     auto first = co_await (work() || lease.ended());
    ///
    /// `cause()` says why a lease was lost, and `explain(errc::lease_lost)` gives the details.
    ///
    /// \par Completion signature
    /// `void(boost::system::error_code, redlock::lease_end)`
    /// \par Errors
    /// `errc::empty_lease`; `std::errc::not_enough_memory` (see the class). With an error the `lease_end` means nothing.
    /// \par Cancellation
    /// terminal, partial, total: stops waiting, and completes with `operation_aborted`.
    template <
        boost::asio::completion_token_for<void(boost::system::error_code, lease_end)> Token = default_token>
    [[nodiscard]] auto ended(Token&& token = {}) const;

    /// Makes a `lock_error` from an error of `extend()` or `release()`, for logs and for throwing. After the loss,
    /// `explain(errc::lease_lost)` describes it. The text names the lock. For `errc::lease_lost` and `errc::no_quorum`
    /// it also gives each node's last answer about this lease, how long ago that was, and when a majority last
    /// confirmed it: `lock "seat:42" lost (expired): last confirmed 9.9 s ago; redis://a:6379 confirmed 3.2 s ago;
    /// redis://b:6379 unreachable (Connection refused) 0.2 s ago; redis://c:6379 timed out 0.3 s ago`. Times count back
    /// from the loss.
    ///
    /// If a lease was lost because the client's thread was blocked, or the process or machine stopped, the text begins
    /// with that: `lost (expired): this client's thread was late by 12.4 s; ...`.
    ///
    /// Any thread, also after the loss. If memory was short when the lease was lost, the table is missing.
    /// \throws std::bad_alloc
    /// \par Source
    /// docs/errors.md, "Getting full diagnostics"
    [[nodiscard]] lock_error explain(boost::system::error_code) const;

private:
    enum class operation : std::uint8_t { extend, release, end, resign };
    struct start;
    struct start_ended;
    friend struct detail::lease_access;
    friend class leadership;

    explicit lease(boost::intrusive_ptr<detail::held_lease> held) noexcept : held_(std::move(held)) {}
    void abandon() noexcept;

    boost::intrusive_ptr<detail::held_lease> held_;
};

struct lease::start {
    using executor_type = lease::executor_type;
    using signature = void(boost::system::error_code);

    executor_type get_executor() const noexcept { return held ? executor() : executor_type(); }
    REDLOCK_EXPORT executor_type const& executor() const noexcept;

    template <class Handler>
    void operator()(Handler&& handler)
    {
        if (!held)
            return detail::refuse_empty(std::forward<Handler>(handler));
        begin({detail::explaining(std::forward<Handler>(handler), held), executor()});
    }

    REDLOCK_EXPORT void begin(detail::completion_handler<signature>);

    boost::intrusive_ptr<detail::held_lease> held;
    operation what;
};

template <boost::asio::completion_token_for<void(boost::system::error_code)> Token>
auto lease::extend(Token&& token) const
{
    return boost::asio::async_initiate<Token, start::signature>(start{held_, operation::extend}, token);
}

template <boost::asio::completion_token_for<void(boost::system::error_code)> Token>
auto lease::release(Token&& token)
{
    return boost::asio::async_initiate<Token, start::signature>(start{held_, operation::release}, token);
}

namespace detail {

/// Completes a handler for `void(error_code, lease_end)` from the error code that says how a lease ended.
template <class Handler>
class end_handler {
public:
    using inner_type = Handler;

    explicit end_handler(Handler handler) : handler_(std::move(handler)) {}

    void operator()(boost::system::error_code ec)
    {
        auto end = lease_end::released;
        if (ec == errc::lease_lost)
            end = lease_end::lost;
        else if (ec == errc::shut_down)
            end = lease_end::shut_down;
        else if (ec == errc::forked)
            end = lease_end::forked;
        if (ec == errc::released || end != lease_end::released)
            ec = {};
        std::move(handler_)(ec, end);
    }

    [[nodiscard]] Handler const& inner() const noexcept { return handler_; }

private:
    Handler handler_;
};

} // namespace detail

struct lease::start_ended {
    using executor_type = lease::executor_type;

    executor_type get_executor() const noexcept { return wait.get_executor(); }

    template <class Handler>
    void operator()(Handler&& handler)
    {
        if (!wait.held)
            return detail::refuse_empty(std::forward<Handler>(handler), lease_end::released);
        wait.begin({detail::end_handler(detail::explaining(std::forward<Handler>(handler), wait.held)),
                    wait.executor()});
    }

    start wait;
};

template <boost::asio::completion_token_for<void(boost::system::error_code, lease_end)> Token>
auto lease::ended(Token&& token) const
{
    return boost::asio::async_initiate<Token, void(boost::system::error_code, lease_end)>(
        start_ended{{held_, operation::end}}, token);
}

namespace detail {
template <class Operation>
concept waits_for_end = std::same_as<Operation, std::decay_t<decltype(std::declval<lease const&>().ended())>>;
} // namespace detail

/// `work() || lease.ended()` is Asio's `work() || lease.ended(use_awaitable)`: the result's second alternative is the
/// `lease_end`.
template <class T, class Executor, detail::waits_for_end Ended>
[[nodiscard]] auto operator||(boost::asio::awaitable<T, Executor> work, Ended end)
{
    return boost::asio::experimental::awaitable_operators::operator||(
        std::move(work), std::move(end)(boost::asio::use_awaitable_t<Executor>()));
}

} // namespace redlock

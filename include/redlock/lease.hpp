#pragma once

#include <redlock/completion_handler.hpp>
#include <redlock/error.hpp>
#include <redlock/export.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace redlock {

namespace detail {
class held_lease;
struct lease_access;
REDLOCK_EXPORT void intrusive_ptr_add_ref(held_lease*) noexcept;
REDLOCK_EXPORT void intrusive_ptr_release(held_lease*) noexcept;
} // namespace detail

/// What has become of a lease.
enum class lease_state : std::uint8_t {
    empty, ///< default-constructed or moved from
    held,  ///< ours, while `valid()`
    suspect, ///< the deadline has passed (`tolerate_suspect`), or it was adopted; an extension may prove ownership
    lost,     ///< over without having been released
    released, ///< given up, by its holder or by the client's end (`lost()` then says `errc::shut_down`)
};

/// Its name.
[[nodiscard]] REDLOCK_EXPORT std::string_view to_string(lease_state) noexcept;

/// One acquired lock: who holds this object may act as the only one while `valid()`.
///
/// It renews itself (`lock_options::renew`) until it is released, lost or destroyed. The end of its validity is
/// reckoned on this machine, from before the first vote was sent, and needs no answer from anybody.
///
/// Thread safety: the observers may be called from any thread, and `valid()`, `remaining()` and `state()` are exact
/// there. Operations may be started from any thread. Moving, assigning and destroying one object needs the usual
/// outside synchronisation.
///
/// Memory: without it an operation's initiating function throws `std::bad_alloc` and has begun nothing, or, called on
/// another thread than the executor's, the operation completes with `std::errc::not_enough_memory`.
///
/// The destructor never throws and never waits: a lease not yet released stops renewing and is released in the
/// background; without memory for that, at the latest when it would have been renewed. A lease may outlive its client
/// (it is then over), but not the client's execution context. In a child made by fork it is lost: `valid()` is false
/// there, without a system call for it, and destroying it sends nothing.
class REDLOCK_EXPORT lease {
public:
    /// The client's executor.
    using executor_type = boost::asio::any_io_executor;

    lease() noexcept = default;
    /// Leaves the other one empty.
    lease(lease&&) noexcept;
    /// As if the one assigned to had been destroyed.
    lease& operator=(lease&&) noexcept;
    ~lease();

    /// False when empty. Says nothing about validity.
    [[nodiscard]] explicit operator bool() const noexcept { return held_ != nullptr; }

    /// The client's executor; the system's when empty.
    [[nodiscard]] executor_type get_executor() const noexcept;

    /// May the holder act now? Reads the clock at every call; false as soon as the deadline has passed, whatever
    /// the timers, the network or the event loop do.
    [[nodiscard]] bool valid() const noexcept;
    /// Validity left; zero when not valid. Time that the machine spent suspended counts.
    [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;
    /// Now plus `remaining()`, for timers.
    [[nodiscard]] std::chrono::steady_clock::time_point expires_at() const noexcept;
    /// What has become of it. A deadline that has passed is seen here at once, too.
    [[nodiscard]] lease_state state() const noexcept;
    /// Why it was lost; `loss_cause::none` until its loss has been told.
    [[nodiscard]] loss_cause cause() const noexcept;

    [[nodiscard]] std::string_view
    resource() const noexcept; ///< the lock's name; lives as long as this lease
    [[nodiscard]] std::string_view
    nonce() const noexcept; ///< the key's value on the nodes; as long as this lease
    /// Nodes that held our key when they were last asked: more with votes that come late, fewer when a node is silent
    /// or refuses to extend, also while a majority still confirms. May be zero while a majority is unreachable: the
    /// others are then not asked.
    [[nodiscard]] unsigned votes() const noexcept;
    [[nodiscard]] unsigned attempts() const noexcept; ///< of the acquisition's own; zero if handed the lock
    [[nodiscard]] std::chrono::nanoseconds waited() const noexcept; ///< from `acquire` to the grant
    /// Zero unless the lock is a `fenced_mutex`. What the grant returned: it never changes during a lease.
    [[nodiscard]] std::uint64_t fencing_token() const noexcept;

    /// The holder is getting on: with `lock_options::progress_within`, renewal depends on it. Any thread; as cheap as
    /// reading the clock.
    void progress() const noexcept;

    /// Renews by hand: asks every node to set the key's expiry to the full TTL again. Joins a renewal already
    /// under way.
    ///
    /// On success the validity runs from just before this renewal was sent.
    /// \par Completion signature
    /// `void(boost::system::error_code)`
    /// \par Errors
    /// `errc::no_quorum`: no majority confirmed; the old deadline stands and the call may be repeated.
    /// `errc::lease_lost`, `errc::released`, `errc::shut_down`: it is over. `errc::empty_lease`. `errc::forked`.
    /// \par Cancellation
    /// terminal, partial, total: stops waiting; the renewal itself goes on.
    template <class Token = boost::asio::deferred_t>
    [[nodiscard]] auto extend(Token&& token = {});

    /// Gives the lock up: renewal stops, and a compare-and-delete goes to every node behind whatever was sent
    /// before. The lease is not valid any more from the moment of the call; called on another thread than the executor's,
    /// from the moment at which the executor has begun it.
    ///
    /// Completes when a majority has answered, at the latest after the per-node timeout.
    /// \par Completion signature
    /// `void(boost::system::error_code)`
    /// \par Errors
    /// `errc::lease_lost`: it was lost before (what is left of the keys is removed all the same).
    /// `errc::no_quorum`: no majority confirmed; the key may linger for the rest of its TTL.
    /// `errc::released`: it was released before. `errc::shut_down`, `errc::empty_lease`, `errc::forked`.
    /// \par Cancellation
    /// terminal, partial, total: stops waiting; the releases have been sent.
    template <class Token = boost::asio::deferred_t>
    [[nodiscard]] auto release(Token&& token = {});

    /// Lets go of the lease and leaves its keys where they are: renewal stops, nothing is released, and the keys expire
    /// by themselves, unless another client, here or in another process, goes on with them (`mutex::adopt`). Take
    /// `nonce()`, `fencing_token()` and `remaining()` with you. Of a lease that is lost it keeps what is left of the keys
    /// from being removed. Without effect on one that was released, or is empty.
    ///
    /// Afterwards the lease is `released`; so `lost()` says. Any thread.
    /// \par Errors
    /// none
    /// \throws std::bad_alloc and has done nothing
    void detach();

    /// Waits for the end of the lease. Any number may wait.
    ///
    /// Why a lease was lost is not in the code: `cause()` says it, and `explain(ec)` tells the whole story.
    ///
    /// \par Completion signature
    /// `void(boost::system::error_code)` with the reason: `errc::lease_lost`, `errc::released`, `errc::shut_down`;
    /// never success: in `work() || lost()` give it `as_tuple`, or the first success is waited for, and the work goes
    /// on. `errc::empty_lease` on an empty lease, `errc::forked` in a child made by fork.
    /// \par Cancellation
    /// terminal, partial, total: stops waiting.
    template <class Token = boost::asio::deferred_t>
    [[nodiscard]] auto lost(Token&& token = {});

    /// The story of an error that `extend()`, `release()` or `lost()` completed with, for logs and for throwing. Its text
    /// names the lock. Of `errc::lease_lost` and `errc::no_quorum` it also says what each node last said of this lease,
    /// how long ago, and when a majority last confirmed it:
    /// `lock "seat:42" lost (expired): last confirmed 9.9 s ago; redis://a:6379 confirmed 3.2 s ago; redis://b:6379
    /// unreachable (Connection refused) 0.2 s ago; redis://c:6379 timed out 0.3 s ago`. Times count back from the loss.
    ///
    /// A lease that was lost because the client's thread was blocked, or the process or machine stopped, says so first:
    /// `lost (expired): this client's thread did not run for 12.4 s; ...`.
    ///
    /// Any thread, also after the loss. If memory was short when the lease was lost, the table is missing.
    /// \throws std::bad_alloc
    /// \par Source
    /// docs/errors.md, "One way to the whole story"
    [[nodiscard]] lock_error explain(boost::system::error_code) const;

private:
    enum class operation : std::uint8_t { extend, release, lost };
    struct start;
    friend struct detail::lease_access;

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
        if (!held) {
            // Named, because what Asio takes when none is differs: in Boost 1.90 one that cannot be posted to.
            auto const executor =
                boost::asio::get_associated_executor(handler, boost::asio::system_executor());
            boost::asio::post(executor, boost::asio::append(std::forward<Handler>(handler),
                                                            make_error_code(errc::empty_lease)));
            return;
        }
        begin(detail::completion_handler<signature>(std::forward<Handler>(handler), executor()));
    }

    REDLOCK_EXPORT void begin(detail::completion_handler<signature>);

    boost::intrusive_ptr<detail::held_lease> held;
    operation what;
};

template <class Token>
auto lease::extend(Token&& token)
{
    return boost::asio::async_initiate<Token, start::signature>(start{held_, operation::extend}, token);
}

template <class Token>
auto lease::release(Token&& token)
{
    return boost::asio::async_initiate<Token, start::signature>(start{held_, operation::release}, token);
}

template <class Token>
auto lease::lost(Token&& token)
{
    return boost::asio::async_initiate<Token, start::signature>(start{held_, operation::lost}, token);
}

} // namespace redlock

// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/detail/awaitable_1_81.hpp> // IWYU pragma: keep
#include <redlock/detail/export.hpp>
#include <redlock/detail/lock_operations.hpp>
#include <redlock/detail/wait_time.hpp>
#include <redlock/error.hpp>
#include <redlock/lease.hpp>
#include <redlock/lock_options.hpp>
#include <redlock/node_outcome.hpp>
#include <redlock/with_diagnostics.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::detail {

/// What all kinds of lock have in common. A kind derives from it, and adds a constructor and what it alone can do. Kinds
/// do not derive from each other: a lock of one kind is not accepted as one of another. A copy of this part alone is a
/// lock of any kind.
class REDLOCK_EXPORT basic_lock {
public:
    /// The client's executor.
    using executor_type = boost::asio::any_io_executor;
    /// The token of an operation that is given none.
    using default_token = with_diagnostics_t<boost::asio::deferred_t>;

    /// Waits until the lock is held. Retries as `lock_options::retry` says.
    template <boost::asio::completion_token_for<lease_signature> Token = default_token>
    [[nodiscard]] auto acquire(Token&& token = {})
    {
        return initiate(std::nullopt, std::forward<Token>(token));
    }

    /// Makes one attempt, and does not wait. If another operation of this client holds the lock or waits for it, the
    /// attempt fails at once with `errc::contended`, unless `lock_options::barging` is set.
    template <boost::asio::completion_token_for<lease_signature> Token = default_token>
    [[nodiscard]] auto try_acquire(Token&& token = {})
    {
        return initiate(one_attempt, std::forward<Token>(token));
    }

    /// Waits for at most `limit`, counted from the start of the operation. The limit includes connecting. If too few
    /// nodes are connected in time, or another operation of this client holds the lock or waits for it, no attempt is
    /// made. Zero or less: as `try_acquire()`.
    template <class Rep, class Period,
              boost::asio::completion_token_for<lease_signature> Token = default_token>
    [[nodiscard]] auto acquire_for(std::chrono::duration<Rep, Period> limit, Token&& token = {})
    {
        return initiate(bounded_wait(limit), std::forward<Token>(token));
    }

    /// Waits until `deadline` at most, by any clock, as `acquire_for` does.
    template <class Clock, class Duration,
              boost::asio::completion_token_for<lease_signature> Token = default_token>
    [[nodiscard]] auto acquire_until(std::chrono::time_point<Clock, Duration> deadline, Token&& token = {})
    {
        return initiate(wait_until(deadline), std::forward<Token>(token));
    }

    /// Asks every node who holds the lock there, and for how much longer. It takes no lock, changes nothing on the nodes,
    /// and waits for no other operation. This client may hold the lock or wait for it at the same time. The result is a
    /// snapshot: it was true when the nodes answered, and promises nothing.
    ///
    /// It completes when every node has answered or failed, or after the per-node timeout. If no majority is connected
    /// yet, the timeout starts when a majority has answered, at the latest after `reconnect.connect_timeout`.
    /// Quarantined nodes are asked. Nodes that may not vote at all are not asked. The user needs the right to GET.
    /// Without the right to PTTL the times are not known.
    /// \par Completion signature
    /// `void(boost::system::error_code, redlock::inspection)`, on the token's associated executor, never inside the
    /// initiating call
    /// \par Errors
    /// `errc::no_quorum`: too few nodes answered to tell. `inspection::nodes` is complete, and `status` is `unknown`.
    /// With other errors the inspection is empty: `errc::shut_down`, `errc::forked`, and without memory the same as
    /// `acquire`.
    /// \par Cancellation
    /// terminal, partial, total: at once. Nothing is left behind.
    /// \par Thread safety and lifetime
    /// May be started from any thread. The client must outlive the operation.
    template <class Token = boost::asio::deferred_t>
    [[nodiscard]] auto inspect(Token&& token = {}) const
    {
        return boost::asio::async_initiate<Token, inspection_signature>(start_inspect{state_}, token);
    }

    /// The client's executor.
    [[nodiscard]] executor_type get_executor() const noexcept;
    /// The name, without `config::key_prefix`.
    [[nodiscard]] std::string const& name() const noexcept;
    /// The options that the lock was made with.
    [[nodiscard]] lock_options const& options() const noexcept;

    /// How many operations of this client wait for a lock of this name. Any thread.
    [[nodiscard]] std::size_t waiting() const noexcept;

    /// What each node answered to the last attempt that was decided, through any lock of this name and client. While an
    /// operation waits, the table also says who holds the key on a node and for how much longer, if the node has said so.
    /// Any thread.
    [[nodiscard]] std::vector<node_outcome> last_attempt() const;

    /// Makes a `lock_error` from an error that an acquisition of this lock completed with, for logs and for throwing.
    /// It serves tokens that give an error code, or throw a plain `system_error`. `with_diagnostics` does the same
    /// without this call. The text names the lock. If the error comes from the nodes' answers, the `lock_error` carries
    /// `last_attempt()`. Call it when the operation completes: later attempts of this client for the same name replace
    /// the table.
    ///
    /// Any thread.
    /// \throws std::bad_alloc
    [[nodiscard]] lock_error explain(boost::system::error_code) const;

protected:
    /// \cond
    explicit basic_lock(std::shared_ptr<lock_state> state) noexcept : state_(std::move(state)) {}
    [[nodiscard]] lease adopt_lease(std::string_view nonce, std::uint64_t fencing_token) const;
    [[nodiscard]] std::span<std::string const> several_names() const noexcept;
    [[nodiscard]] lock_state const& state() const noexcept { return *state_; }
    /// \endcond

private:
    template <class Token>
    auto initiate(wait_limit limit, Token&& token)
    {
        return boost::asio::async_initiate<Token, lease_signature>(start_acquire{state_, limit}, token);
    }

    std::shared_ptr<lock_state> state_;
};

} // namespace redlock::detail

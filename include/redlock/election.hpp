// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/client.hpp>
#include <redlock/detail/awaitable_1_81.hpp> // IWYU pragma: keep
#include <redlock/detail/election_operations.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/detail/lock_ptr.hpp>
#include <redlock/error.hpp>
#include <redlock/leader_info.hpp>
#include <redlock/lock_options.hpp>
#include <redlock/with_diagnostics.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/system/error_code.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace redlock {

/// One of many processes leads, and all of them can learn which. The leader holds the fenced lock of the election's
/// name. Its term is its fencing token, larger than that of every leader before. Besides the lock the nodes keep a
/// value of the leader's, such as its address.
///
/// An observer may rely on this: the value of a term was proclaimed by the leader of that term. No observer is told of
/// an earlier term after a later one. After a campaign has completed, every read that starts later sees that term or a
/// later one, until the leadership is over. An observer may not rely on the leader still leading, nor on hearing of
/// every term. Send the term with each request, let the leader answer only while it is `valid()` and for its own term,
/// and let resources compare it (docs/howto/election.md).
///
/// Campaigns wait in the queue of the name, also those of one client: no leadership is handed to another campaign without
/// the nodes. A `fenced_mutex` of the same name and an election exclude each other.
///
/// Each node keeps the keys of a `fenced_mutex`, and `<name>:redlock-leader` with `config::key_prefix` before it. A
/// client that only observes needs the right to GET that key.
///
/// It is cheap, can be copied, and does nothing by itself. Moving copies, as with a lock. Thread safety and lifetime
/// are those of a lock: operations may be started from any thread, and the client must outlive them.
/// \par Source
/// docs/protocol.md, rules EL1 to EL7
class REDLOCK_EXPORT election {
public:
    /// The client's executor.
    using executor_type = boost::asio::any_io_executor;

    /// Refers to the same election.
    election(election const&) noexcept = default;
    /// Refers to the same election.
    election& operator=(election const&) noexcept = default;
    ~election() = default;

    /// The options are as those of a lock; `handover` means nothing here.
    /// \throws lock_error `errc::misconfigured`: as `fenced_mutex`
    /// \throws std::bad_alloc
    election(client& owner, std::string_view name, lock_options options = {});

    /// Waits until this client leads: acquires the lock, and tells the nodes the value.
    ///
    /// On success a majority of the nodes has the value. Observers read it: any bytes, at most 4096.
    /// \par Completion signature
    /// `void(boost::system::error_code, redlock::leadership)`, on the token's associated executor, never inside the
    /// initiating call
    /// \par Errors
    /// Those of `mutex::acquire`. `errc::no_quorum`: it had the lock, and no majority took the value; the lock has been
    /// released. `errc::lease_lost`: the lock was lost before a majority had the value. `errc::misconfigured`: the value is
    /// too long.
    /// \par Cancellation
    /// terminal, partial, total: whatever was won is released, and it completes with `operation_aborted`.
    template <boost::asio::completion_token_for<detail::leadership_signature> Token = default_token>
    [[nodiscard]] auto campaign(std::string value, Token&& token = {}) const
    {
        return boost::asio::async_initiate<Token, detail::leadership_signature>(
            detail::start_campaign{lock_, std::move(value)}, token);
    }

    /// Asks the nodes which process leads. Takes no lock and changes nothing.
    ///
    /// It completes when a majority of the nodes says the same; or else when every node has answered or failed, or after the
    /// per-node timeout, and tells the latest term that a node knows. If nodes are still being connected,
    /// `reconnect.connect_timeout` comes before that. Quarantined nodes are not asked.
    /// \par Completion signature
    /// `void(boost::system::error_code, redlock::leader_info)`
    /// \par Errors
    /// `errc::no_quorum`: no majority of the nodes answered. `errc::shut_down`, `errc::forked`, and without memory the same
    /// as `campaign`.
    /// \par Cancellation
    /// terminal, partial, total: at once. Nothing is left behind.
    template <boost::asio::completion_token_for<detail::leader_signature> Token = default_token>
    [[nodiscard]] auto leader(Token&& token = {}) const
    {
        return leader_watch(std::nullopt, std::forward<Token>(token));
    }

    /// Waits until there is a leader, or until the leader, its term or its value differs from `seen`:
    ///
    ///     redlock::leader_info seen;
    ///     for (;;)
    ///         seen = co_await scheduler.observe(seen);
    ///
    /// `seen` comes from this election, or is empty. The operation completes with the first change from `seen`: another
    /// term, another value, no leader any more, or confirmation by a majority of what was not confirmed. If there is
    /// such a change already, it completes as soon as a majority has answered. Changes that follow each other quickly
    /// may be told as one. Give `seen` a name: g++ 12 destroys a temporary of an awaited expression twice.
    ///
    /// The nodes tell of changes. If the message is lost with a connection, the nodes are asked again when they are back.
    /// They are also asked every `health.check_interval`, and as often as keys of the election may expire. Nodes that do not
    /// tell (RESP2, no right to CLIENT TRACKING) are asked every `retry_policy::max_delay`.
    /// \par Completion signature
    /// `void(boost::system::error_code, redlock::leader_info)`
    /// \par Errors
    /// `errc::no_quorum`: no majority of the nodes has answered for `retry_policy::outage_patience`. `errc::shut_down`,
    /// `errc::forked`, and without memory the same as `campaign`.
    /// \par Cancellation
    /// terminal, partial, total: at once. Nothing is left behind.
    template <boost::asio::completion_token_for<detail::leader_signature> Token = default_token>
    [[nodiscard]] auto observe(leader_info const& seen, Token&& token = {}) const
    {
        return leader_watch(seen, std::forward<Token>(token));
    }

    /// The client's executor.
    [[nodiscard]] executor_type get_executor() const noexcept;
    /// The name, without `config::key_prefix`.
    [[nodiscard]] std::string const& name() const noexcept;
    /// The options that it was made with.
    [[nodiscard]] lock_options const& options() const noexcept;
    /// Makes a `lock_error` from an error that an operation of it completed with, as `mutex::explain` does.
    /// \throws std::bad_alloc
    [[nodiscard]] lock_error explain(boost::system::error_code) const;

private:
    template <class Token>
    auto leader_watch(std::optional<leader_info> known, Token&& token) const
    {
        return boost::asio::async_initiate<Token, detail::leader_signature>(
            detail::start_leader_watch{view_, std::move(known)}, token);
    }

    detail::lock_ptr lock_;
    detail::lock_ptr view_; ///< the same key, for operations that only ask
};

} // namespace redlock

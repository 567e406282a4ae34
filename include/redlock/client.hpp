// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <redlock/config.hpp>
#include <redlock/detail/built_with.hpp>
#include <redlock/detail/completion_handler.hpp>
#include <redlock/detail/diagnostics.hpp>
#include <redlock/detail/export.hpp>
#include <redlock/node_outcome.hpp>
#include <redlock/with_diagnostics.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/system/error_code.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace redlock {

namespace detail {
class succession;
struct engine_access;
struct lock_access;
/// Returns the exception for an error: a `lock_error` that names the client by its nodes, or `std::bad_alloc`.
REDLOCK_EXPORT std::exception_ptr explained(std::shared_ptr<succession> const&,
                                            boost::system::error_code) noexcept;
} // namespace detail

/// The N nodes, one pipelined connection to each, and all locks that are held or waited for through them.
///
/// Nothing runs before the first operation, which connects. While there is no operation, waiter or lease, the client does
/// not keep `io_context::run()` alive.
///
/// Thread safety: the executor must serialise (an `io_context` run by one thread, or a strand over a pool); all state
/// lives there. The client cannot tell an `io_context` run by several threads from one run by one: use a strand there.
/// If two threads meet in a client nevertheless, it says so on `stderr` and calls `std::abort()`. Member functions may be
/// called from any thread. An operation that is started elsewhere is passed to that executor first. Moving, destroying
/// and assigning one object needs the usual external synchronisation.
///
/// Lifetime: the client must outlive its locks' operations. The client, its locks and its leases must not outlive the
/// execution context: all of them keep timers and sockets that live there. A moved-from client may only be assigned to or
/// destroyed.
///
/// Destroying the client is `shutdown()` without waiting: pending acquisitions complete with `errc::shut_down`. Leases
/// end for their holders: they are `released`, and `ended()` gives `lease_end::shut_down`. Their keys are released as
/// far as the sockets accept the bytes at once. This is done on the executor. On an `io_context` that has been stopped
/// it is done at once instead, in the thread that destroys: join the threads that have run it before. Behind a strand
/// over a stopped context it is not done at all, and the keys expire by themselves: `co_await shutdown()` before
/// stopping.
///
/// Memory: if a constructor or an operation's initiating function finds none, it throws `std::bad_alloc`, has started
/// nothing, and does not call the handler. An operation that has started completes, with `std::errc::not_enough_memory`
/// if it cannot continue. Mutual exclusion holds, and the client works again when there is memory again (docs/promise.md,
/// "When memory runs out", which also names what Asio does).
///
/// Fork: a client belongs to the process that made it. In a forked child its leases are lost at once, and every operation
/// fails with `errc::forked`. Its descriptors are closed without sending anything: at the first use, when it is
/// destroyed, or in `execution_context::notify_fork(fork_child)`. After that, operations that were pending at the fork
/// complete with `errc::forked`, too. The parent is not affected. The child makes a client of its own. As Asio demands,
/// it calls `notify_fork` before it runs the parent's context, or runs only a context of its own
/// (docs/howto/threads.md).
///
/// Handlers must not run the context themselves (`run_one`, `poll`): what they start is sent when they have returned.
///
/// A name look-up cannot be interrupted: if getaddrinfo hangs, `io_context::run()` does not return until it is done, even
/// after the client is destroyed. Hosts that are given as addresses are not looked up.
class REDLOCK_EXPORT client {
public:
    /// Any executor.
    using executor_type = boost::asio::any_io_executor;

    /// Checks the configuration and connects to nothing.
    /// \throws lock_error `errc::misconfigured`, with a message that names the value: no nodes, more than 63, a bad
    ///         URL, one server twice, a time outside its limits (see `config`), unreadable TLS files, an executor
    ///         that certainly does not serialise (the executor of a `thread_pool`; an `io_context` run by several
    ///         threads is not detected).
    /// \throws std::bad_alloc
    REDLOCK_NAMED_BY_BUILD client(executor_type executor, config settings);

    /// The same with the context's own executor: `client locks(context, settings)`. An `io_context` run by several
    /// threads needs a strand, as above; a `thread_pool` is refused.
    template <class ExecutionContext>
        requires std::convertible_to<ExecutionContext&, boost::asio::execution_context&>
    client(ExecutionContext& context, config settings)
        : client(executor_type(context.get_executor()), std::move(settings))
    {}

    /// Locks and leases are not affected: they stay with their nodes.
    client(client&&) noexcept;
    /// Ends the client that is assigned to as its destructor does.
    client& operator=(client&&) noexcept;
    ~client();

    /// The executor that the client was made with.
    [[nodiscard]] executor_type get_executor() const noexcept;

    /// Ends everything: pending acquisitions complete with `errc::shut_down`, every lease is released (its `ended()`
    /// gives `lease_end::shut_down`), votes of unfinished attempts are undone, and the connections are closed.
    /// Completes when a majority has answered each release, and every node that was asked to vote has answered the
    /// rollback; at the latest after the per-node timeout, which is `config::node_timeout` or 500 ms for the rollback. A
    /// later call joins the first.
    ///
    /// \par Completion signature
    /// `void(boost::system::error_code)`: success, or `errc::no_quorum` if some key could not be released on a
    /// majority of the nodes and stays there for the rest of its TTL. `std::errc::not_enough_memory`: it was called on
    /// another thread, and nothing has been ended. `change_nodes` fails with `errc::shut_down` from then on. Call
    /// `shutdown` again.
    /// \par Cancellation
    /// terminal, partial, total: stops waiting; the shutdown continues.
    template <boost::asio::completion_token_for<void(boost::system::error_code)> Token = default_token>
    [[nodiscard]] auto shutdown(Token&& token = {});

    /// Replaces `config::nodes` by a copy of `nodes` while the client runs; all other settings stay. Operations that
    /// start from now on use the new nodes, also through locks that were made before. Operations that started before
    /// the change, and their leases, stay with the former nodes until they end, on connections of their own. The client
    /// keeps its knowledge of each server that is in both lists. A new node is judged as by a new client, whatever
    /// `admission_settings::assume_fresh` says.
    ///
    /// Two clients must exclude each other even if one has the old list and the other has the new one. Therefore add or
    /// remove one node at a time. Replace a node in two steps: change all clients of the lock to the list with one node
    /// more, and then all of them to the list without the other node. Between the two steps wait until each client has
    /// completed the first. If one of them crashed or has detached a lease, also wait for the longest ttl + slack
    /// (docs/howto/change_nodes.md).
    ///
    /// Takes effect immediately. Completes when operations and leases that started before the change have ended. To move a
    /// lease that is held for a long time, use `lease::detach` and `mutex::adopt`. `election::observe` completes, usually with
    /// unchanged information.
    ///
    /// \par Completion signature
    /// `void(boost::system::error_code)`
    /// \par Errors
    /// `errc::misconfigured`: a URL is unusable, or a majority of the one list can miss one of the other.
    /// `std::errc::operation_in_progress`: operations or leases from before the last change have not ended. With both
    /// errors nothing is changed.
    /// `errc::shut_down`; `errc::forked`.
    /// \par Cancellation
    /// terminal, partial, total: stops waiting; the change stays.
    /// \par Thread safety and lifetime
    /// May be started from any thread. Reads the TLS files, as the constructor does.
    /// \par Source
    /// docs/protocol.md, rule N9.
    template <boost::asio::completion_token_for<void(boost::system::error_code)> Token = default_token>
    [[nodiscard]] auto change_nodes(std::span<std::string const> nodes, Token&& token = {});

    /// The state of each node's connection, in the order of `config::nodes`: why it is down; for which lock it is
    /// quarantined, why and for how long; what about it cannot be checked; which right is missing. Any thread.
    [[nodiscard]] std::vector<node_status> node_table() const;

private:
    friend struct detail::engine_access;
    friend struct detail::lock_access;
    explicit client(std::shared_ptr<detail::succession> made) noexcept : engines_(std::move(made)) {}
    struct start_shutdown;
    struct start_change;
    std::shared_ptr<detail::succession> engines_;
};

struct client::start_shutdown {
    using executor_type = client::executor_type;
    using signature = void(boost::system::error_code);

    executor_type get_executor() const noexcept { return executor(); }
    REDLOCK_EXPORT executor_type const& executor() const noexcept;

    template <class Handler>
    void operator()(Handler&& handler)
    {
        begin({detail::explaining(std::forward<Handler>(handler), engines), executor()});
    }

    REDLOCK_EXPORT void begin(detail::completion_handler<signature>);

    std::shared_ptr<detail::succession> engines;
};

struct client::start_change {
    using executor_type = client::executor_type;
    using signature = void(boost::system::error_code);

    executor_type get_executor() const noexcept { return executor(); }
    REDLOCK_EXPORT executor_type const& executor() const noexcept;

    template <class Handler>
    void operator()(Handler&& handler)
    {
        begin({detail::explaining(std::forward<Handler>(handler), engines), executor()});
    }

    REDLOCK_EXPORT void begin(detail::completion_handler<signature>);

    std::shared_ptr<detail::succession> engines;
    std::vector<std::string> nodes;
};

template <boost::asio::completion_token_for<void(boost::system::error_code)> Token>
auto client::shutdown(Token&& token)
{
    return boost::asio::async_initiate<Token, start_shutdown::signature>(start_shutdown{engines_}, token);
}

template <boost::asio::completion_token_for<void(boost::system::error_code)> Token>
auto client::change_nodes(std::span<std::string const> nodes, Token&& token)
{
    return boost::asio::async_initiate<Token, start_change::signature>(
        start_change{engines_, {nodes.begin(), nodes.end()}}, token);
}

} // namespace redlock

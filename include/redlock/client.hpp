#pragma once

#include <redlock/built_with.hpp>
#include <redlock/completion_handler.hpp>
#include <redlock/config.hpp>
#include <redlock/error.hpp>
#include <redlock/export.hpp>
#include <redlock/node_outcome.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/execution_context.hpp>

#include <concepts>
#include <memory>
#include <utility>
#include <vector>

namespace redlock {

namespace detail {
class engine;
struct engine_access;
struct lock_access;
} // namespace detail

/// The N nodes, one pipelined connection to each, and all that is held or waited for through them.
///
/// Nothing runs before the first operation: that one connects. Nothing pending keeps `io_context::run()` alive
/// while there is no operation, waiter or lease.
///
/// Thread safety: the executor must serialise (an `io_context` run by one thread, or a strand over a pool); all state
/// lives there. An `io_context` run by several threads cannot be told from one run by one: for that give a strand.
/// Where two threads meet in a client nonetheless, it says so on `stderr` and calls `std::abort()`. Member functions
/// may be called from any thread; an operation started elsewhere hops onto that executor. Moving, destroying and
/// assigning one object needs the usual outside synchronisation.
///
/// Lifetime: the client must outlive its locks' operations. The client, its locks and its leases must not outlive the
/// execution context: all of them keep timers and sockets that live there. Of a client or lock that was moved from
/// only destruction and assignment are allowed.
///
/// Destroying the client is `shutdown()` without waiting: pending acquisitions complete with `errc::shut_down`,
/// leases end for their holders (`released`; `lost()` says `errc::shut_down`), and their keys are released as far as
/// the sockets take the bytes at once. This is done on the executor. On an `io_context` that has been stopped it is
/// done at once instead, in the thread that destroys: join those that have run it before. Behind a strand over one
/// that has been stopped it is not done at all, and the keys expire by themselves: `co_await shutdown()` before
/// stopping.
///
/// Memory: a constructor or an operation's initiating function that finds none throws `std::bad_alloc`, has begun
/// nothing, and does not call the handler. What has begun completes, with `std::errc::not_enough_memory` where it cannot
/// go on. Mutual exclusion holds, and the client works on when there is memory again (docs/promise.md, "When memory
/// runs out", which also names what Asio does).
///
/// Fork: a client belongs to the process that made it. In a forked child its leases are lost at once, every operation
/// fails with `errc::forked`, and its descriptors are closed without a byte: at the first use, when it is destroyed, or in
/// `execution_context::notify_fork(fork_child)`, after which operations that were pending at the fork end with
/// `errc::forked`, too. The parent notices nothing. The child makes a client of its own. As Asio demands, it calls
/// `notify_fork` before it runs the parent's context, or runs only a context of its own (docs/howto/threads.md).
///
/// Handlers must not run the context themselves (`run_one`, `poll`): what they start is sent when they have returned.
///
/// A name look-up cannot be interrupted: where getaddrinfo hangs, it keeps `io_context::run()` from returning for as
/// long as it takes, also after the client is gone. Hosts that are given as addresses are not looked up.
class REDLOCK_EXPORT client {
public:
    /// Whatever executor was given.
    using executor_type = boost::asio::any_io_executor;

    /// Checks the configuration and connects nothing.
    /// \throws lock_error `errc::misconfigured`, with a message that names the value: no nodes, more than 63, a bad
    ///         URL, one server twice, a time outside its limits (see `config`), unreadable TLS files, an executor
    ///         that certainly does not serialise (a bare `thread_pool` executor; an `io_context` run by several
    ///         threads is not noticed).
    /// \throws std::bad_alloc
    REDLOCK_NAMED_BY_BUILD client(executor_type executor, config settings);

    /// The same with the context's own executor: `client locks(context, settings)`. An `io_context` run by several
    /// threads needs a strand, as above; a `thread_pool` is refused.
    template <class ExecutionContext>
        requires std::convertible_to<ExecutionContext&, boost::asio::execution_context&>
    client(ExecutionContext& context, config settings)
        : client(executor_type(context.get_executor()), std::move(settings))
    {}

    /// Moves everything on; locks and leases stay with the nodes that they have.
    client(client&&) noexcept;
    /// As if the one assigned to had been destroyed.
    client& operator=(client&&) noexcept;
    ~client();

    /// The executor that it was made with.
    [[nodiscard]] executor_type get_executor() const noexcept;

    /// Ends everything: pending acquisitions complete with `errc::shut_down`, every lease is released (and its
    /// `lost()` says `errc::shut_down`), votes of unfinished attempts are taken back, the connections are closed.
    /// Completes when a majority has answered each release, and every node asked what takes votes back; at the latest after
    /// the per-node timeout, `config::node_timeout` or 500 ms for the latter. A later call joins the first.
    ///
    /// \par Completion signature
    /// `void(boost::system::error_code)`: success, or `errc::no_quorum` when some key could not be released on a
    /// majority of the nodes and lingers there for the rest of its TTL. `std::errc::not_enough_memory`: called on
    /// another thread, and nothing has been ended.
    /// \par Cancellation
    /// terminal, partial, total: stops waiting; the shutting down goes on.
    template <class Token = boost::asio::deferred_t>
    [[nodiscard]] auto shutdown(Token&& token = {});

    /// The state of each node's connection, in the order of `config::nodes`; why it is down; for which lock it is
    /// quarantined, why and for how long; what of it cannot be checked; which right is missing. Any thread.
    [[nodiscard]] std::vector<node_status> nodes() const;

private:
    friend struct detail::engine_access;
    friend struct detail::lock_access;
    explicit client(std::shared_ptr<detail::engine> made) noexcept : engine_(std::move(made)) {}
    struct start_shutdown;
    std::shared_ptr<detail::engine> engine_;
};

struct client::start_shutdown {
    using executor_type = client::executor_type;
    using signature = void(boost::system::error_code);

    executor_type get_executor() const noexcept { return executor(); }
    REDLOCK_EXPORT executor_type const& executor() const noexcept;

    template <class Handler>
    void operator()(Handler&& handler)
    {
        begin(detail::completion_handler<signature>(std::forward<Handler>(handler), executor()));
    }

    REDLOCK_EXPORT void begin(detail::completion_handler<signature>);

    std::shared_ptr<detail::engine> engine;
};

template <class Token>
auto client::shutdown(Token&& token)
{
    return boost::asio::async_initiate<Token, start_shutdown::signature>(start_shutdown{engine_}, token);
}

} // namespace redlock

#pragma once

#include <redlock/completion_handler.hpp>
#include <redlock/config.hpp>
#include <redlock/error.hpp>
#include <redlock/export.hpp>
#include <redlock/node_outcome.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace redlock {

namespace lock {
class engine;
struct lock_access;
} // namespace lock

/// The N nodes, one pipelined connection to each, and all that is held or waited for through them.
///
/// Nothing runs before the first operation: that one connects. Nothing pending keeps `io_context::run()` alive
/// while there is no operation, waiter or lease.
///
/// Thread safety: the executor must serialise (an `io_context` run by one thread, or a strand over a pool); all
/// state lives there. Member functions may be called from any thread; an operation started elsewhere hops onto that
/// executor. Moving, destroying and assigning one object needs the usual outside synchronisation.
///
/// Lifetime: the client must outlive its locks' operations. Destroying it is `shutdown()` without waiting: pending
/// acquisitions complete with `errc::shut_down`, leases are lost to their holders and their keys are released as far
/// as the sockets take the bytes at once.
class REDLOCK_EXPORT client {
public:
    using executor_type = boost::asio::any_io_executor;

    /// Checks the configuration and connects nothing.
    /// \throws lock_error `errc::misconfigured`, with a message that names the value: no nodes, more than 63, a bad
    ///         URL, one server twice, a time that is zero or negative, unreadable TLS files, an executor that does
    ///         not serialise (a bare `thread_pool` executor).
    client(executor_type executor, config settings);

    client(client&&) noexcept;
    client& operator=(client&&) noexcept;
    ~client();

    [[nodiscard]] executor_type get_executor() const noexcept;

    /// Ends everything: pending acquisitions complete with `errc::shut_down`, every lease is released, the
    /// connections are closed. Completes when the releases are answered, at the latest after the per-node timeout.
    ///
    /// \par Completion signature
    /// `void(boost::system::error_code)`: success, or `errc::no_quorum` when some key could not be released on a
    /// majority of the nodes and lingers there for the rest of its TTL.
    /// \par Cancellation
    /// terminal, partial, total: stops waiting; the shutting down goes on.
    template <class Token = boost::asio::deferred_t>
    [[nodiscard]] auto shutdown(Token&& token = {});

    /// The state of each node's connection, in the order of `config::nodes`. Any thread.
    [[nodiscard]] std::vector<node_status> nodes() const;

private:
    friend struct lock::lock_access;
    struct start_shutdown;
    std::shared_ptr<lock::engine> engine_;
};

struct client::start_shutdown {
    using executor_type = client::executor_type;
    using signature = void(boost::system::error_code);

    executor_type get_executor() const noexcept { return executor(); }
    REDLOCK_EXPORT executor_type const& executor() const noexcept;

    template <class Handler>
    void operator()(Handler&& handler)
    {
        begin(lock::completion_handler<signature>(std::forward<Handler>(handler), executor()));
    }

    REDLOCK_EXPORT void begin(lock::completion_handler<signature>);

    std::shared_ptr<lock::engine> engine;
};

template <class Token>
auto client::shutdown(Token&& token)
{
    return boost::asio::async_initiate<Token, start_shutdown::signature>(start_shutdown{engine_}, token);
}

} // namespace redlock
